"""``AsyncMemory``: a memory for programs with an event loop.

Each method calls the method of ``Memory`` with the same name in a thread; arguments, results and errors are the same.
Invariants: the event loop never waits for a model or a database. An iteration computes one item for each request. An
iteration that is abandoned or cancelled is closed as soon as the current item is finished.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial, wraps
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

from typing_extensions import Self, Unpack

from memgraph_rag.errors import SettingsError
from memgraph_rag.maintenance.maintenance import Maintenance
from memgraph_rag.memory import Memory
from memgraph_rag.scoped import ScopedMemory
from memgraph_rag.session import Session
from memgraph_rag.types import Receipt, ScopeFields

P = ParamSpec("P")
T = TypeVar("T")
Owner = TypeVar("Owner")

_END: Any = object()


def _wrap_in_coroutine(
    method: Callable[Concatenate[Owner, P], T],
) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]:
    """Return the method as a coroutine function that runs it in a thread.

    When the coroutine is cancelled, the thread still runs the method to its end.
    """

    @wraps(method)
    async def call(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await asyncio.to_thread(method, self.wrapped, *args, **kwargs)

    return call


def _wrap_in_async_iterator(
    method: Callable[Concatenate[Owner, P], Iterator[T]],
) -> Callable[Concatenate[Any, P], AsyncIterator[T]]:
    """Return the method as an asynchronous generator function. Arguments are checked with the first item."""

    @wraps(method)
    async def each(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> AsyncIterator[T]:
        context = contextvars.copy_context()
        thread = ThreadPoolExecutor(1, thread_name_prefix="memgraph_rag")
        opening = thread.submit(context.run, partial(method, self.wrapped, *args, **kwargs))
        try:
            items = await asyncio.wrap_future(opening)
            while (item := await asyncio.wrap_future(thread.submit(context.run, next, items, _END))) is not _END:
                yield item
        finally:
            thread.submit(context.run, _close, opening)  # runs after the current item is finished
            thread.shutdown(wait=False)

    return each


def _close(opening: Future[Iterator[Any]]) -> None:
    """Close the iterator that the future holds. Do nothing if the method raised or never ran."""
    if not opening.cancelled() and opening.exception() is None and (close := getattr(opening.result(), "close", None)):
        close()


class AsyncMemory:
    """A ``Memory`` whose methods are coroutines: ``async with AsyncMemory("notes.lbug") as memory``.

    A call that is cancelled runs to its end in its thread. ``add_many``, ``deepen`` and ``stream`` are asynchronous
    iterators, which begin, and check their arguments, when the first item is requested.

    Args:
        memory: an open ``Memory``, which the caller closes; or the store, the first argument of ``Memory``. In the
            second case ``async with`` opens the memory in a thread and closes it at the end.
        **options: further arguments of ``Memory``.
    """

    def __init__(self, memory: Any = None, **options: Any) -> None:
        self._memory = memory if isinstance(memory, Memory) else None
        self._is_owner = self._memory is None
        self._open = partial(Memory, memory, **options)

    @property
    def wrapped(self) -> Memory:
        """The ``Memory`` that does the work.

        Raises:
            SettingsError: the memory is not open yet.
        """
        if self._memory is None:
            raise SettingsError(
                "Expected an open memory, got a memory that is not open yet. Use 'async with AsyncMemory(…)'."
            )
        return self._memory

    add = _wrap_in_coroutine(Memory.add)
    add_many = _wrap_in_async_iterator(Memory.add_many)
    search = _wrap_in_coroutine(Memory.search)
    brief = _wrap_in_coroutine(Memory.brief)
    ask = _wrap_in_coroutine(Memory.ask)
    stream = _wrap_in_async_iterator(Memory.stream)
    documents = _wrap_in_coroutine(Memory.documents)
    get = _wrap_in_coroutine(Memory.get)
    around = _wrap_in_coroutine(Memory.around)
    map = _wrap_in_coroutine(Memory.map)
    deepen = _wrap_in_async_iterator(Memory.deepen)
    tools = _wrap_in_coroutine(Memory.tools)
    questions = _wrap_in_coroutine(Memory.questions)
    status = _wrap_in_coroutine(Memory.status)
    close = _wrap_in_coroutine(Memory.close)

    async def forget(self, document: Any = None, **named: Any) -> Any:
        """Remove a document, all documents of a user, or a kept question; see ``Memory.forget``."""
        return await asyncio.to_thread(cast("Any", self.wrapped.forget), document, **named)

    def scoped(self, **scope: Unpack[ScopeFields]) -> AsyncScopedMemory:
        """Return a view of this memory that is limited to a scope; see ``Memory.scoped``. It is no coroutine."""
        return AsyncScopedMemory(self.wrapped.scoped(**scope))

    def session(self, *, user: str, session: str = "default") -> AsyncSession:
        """Return a conversation that is stored turn by turn; see ``Memory.session``. It is no coroutine."""
        return AsyncSession(self.wrapped.session(user=user, session=session))

    @property
    def maintenance(self) -> AsyncMaintenance:
        """The maintenance tasks of this memory as coroutines; see ``Maintenance``."""
        return AsyncMaintenance(self.wrapped.maintenance)

    async def __aenter__(self) -> Self:
        if self._memory is None:
            self._memory = await asyncio.to_thread(self._open)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._is_owner:
            await self.close()


class AsyncScopedMemory:
    """A ``ScopedMemory`` whose methods are coroutines; ``stream`` is an asynchronous iterator."""

    def __init__(self, view: ScopedMemory) -> None:
        self.wrapped = view

    add = _wrap_in_coroutine(ScopedMemory.add)
    search = _wrap_in_coroutine(ScopedMemory.search)
    brief = _wrap_in_coroutine(ScopedMemory.brief)
    wishes = _wrap_in_coroutine(ScopedMemory.wishes)
    statements = _wrap_in_coroutine(ScopedMemory.statements)
    ask = _wrap_in_coroutine(ScopedMemory.ask)
    stream = _wrap_in_async_iterator(ScopedMemory.stream)
    tools = _wrap_in_coroutine(ScopedMemory.tools)
    documents = _wrap_in_coroutine(ScopedMemory.documents)
    export_to = _wrap_in_coroutine(ScopedMemory.export_to)

    async def forget(self, document: Any = None) -> Receipt | list[Receipt]:
        """Remove a document of the scope, or all documents of its user; see ``ScopedMemory.forget``."""
        return await asyncio.to_thread(cast("Any", self.wrapped.forget), document)

    def session(self, session: str | None = None) -> AsyncSession:
        """Return a conversation of the view's user; see ``ScopedMemory.session``. It is no coroutine."""
        return AsyncSession(self.wrapped.session(session))


class AsyncSession:
    """The ``Session`` of an asynchronous memory: its methods are coroutines."""

    def __init__(self, session: Session) -> None:
        self.wrapped = session

    add = _wrap_in_coroutine(Session.add)
    recall = _wrap_in_coroutine(Session.recall)
    ask = _wrap_in_coroutine(Session.ask)
    end = _wrap_in_coroutine(Session.end)


class AsyncMaintenance:
    """A ``Maintenance`` whose methods are coroutines; ``remove_layer`` and ``import_from`` iterate asynchronously."""

    def __init__(self, maintenance: Maintenance) -> None:
        self.wrapped = maintenance

    purge = _wrap_in_coroutine(Maintenance.purge)
    reembed = _wrap_in_coroutine(Maintenance.reembed)
    remove_layer = _wrap_in_async_iterator(Maintenance.remove_layer)
    examine = _wrap_in_coroutine(Maintenance.examine)
    repair = _wrap_in_coroutine(Maintenance.repair)
    export_to = _wrap_in_coroutine(Maintenance.export_to)
    export_files = _wrap_in_coroutine(Maintenance.export_files)
    import_from = _wrap_in_async_iterator(Maintenance.import_from)
    write_bulk_files = _wrap_in_coroutine(Maintenance.write_bulk_files)
