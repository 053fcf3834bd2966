"""A method for programs that wait for much at once: the same method, in a thread, without its loop standing still.

It knows no method: signature, behaviour and errors are those of what it is made from. Invariants: an iteration's items
are taken one at a time, each when it is asked for, and never two at once; where it is given up or cancelled, it is
closed behind the item that is being made.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial, wraps
from typing import Any, ParamSpec, TypeVar

__all__ = ["awaited", "iterated"]

P = ParamSpec("P")
T = TypeVar("T")

_END: Any = object()


def awaited(method: Callable[P, T]) -> Callable[P, Coroutine[Any, Any, T]]:
    """The method as a coroutine. Cancelled, what it has begun still comes to its end in its thread."""

    @wraps(method)
    async def call(*args: P.args, **kwargs: P.kwargs) -> T:
        return await asyncio.to_thread(method, *args, **kwargs)

    return call


def iterated(method: Callable[P, Iterator[T]]) -> Callable[P, AsyncIterator[T]]:
    """The method as an asynchronous iterator; it begins, and checks what it is given, with the first item."""

    @wraps(method)
    async def each(*args: P.args, **kwargs: P.kwargs) -> AsyncIterator[T]:
        context = contextvars.copy_context()
        thread = ThreadPoolExecutor(1, thread_name_prefix="memgraph_rag")
        made = thread.submit(context.run, partial(method, *args, **kwargs))
        try:
            items = await asyncio.wrap_future(made)
            while (item := await asyncio.wrap_future(thread.submit(context.run, next, items, _END))) is not _END:
                yield item
        finally:
            thread.submit(context.run, _close, made)  # behind the item that is being made
            thread.shutdown(wait=False)

    return each


def _close(made: Future[Iterator[Any]]) -> None:
    """End the iteration, if it ever began."""
    if not made.cancelled() and made.exception() is None and (close := getattr(made.result(), "close", None)):
        close()
