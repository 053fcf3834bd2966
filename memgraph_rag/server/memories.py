"""The memories that a server has open, a namespace each.

It knows no protocol. Invariants: a namespace is open at most once, and waits for no other; where opening fails the next
call tries again, so that a server outlives a store that is locked or away, and calls that waited for it fail with it; a
memory is never closed within ``in_use``, nor while one of its documents waits for a layer.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Condition, Lock, Thread
from typing import TYPE_CHECKING, NamedTuple, Protocol

from memgraph_rag.errors import MemgraphRagError
from memgraph_rag.server.background import Backlog, Deepener

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memgraph_rag import Memory, Receipt

__all__ = ["IDLE_S", "Memories", "OpenNamespace"]

IDLE_S = 600.0
"""After how long without a call a namespace is closed over HTTP.

An open one holds its search index in memory, 1.5 kB a segment and more; to open it again takes seconds. An agent in a
conversation calls more often than every ten minutes.
"""


class OpenNamespace(Protocol):
    """Opens the memory of a namespace."""

    def __call__(self, namespace: str, *, progress: Callable[[str, int, int], None]) -> Memory:
        """The memory; ``progress`` goes to its constructor. Raises what ``Memory`` raises."""
        ...


class _Failure(NamedTuple):
    at: float
    error: MemgraphRagError


class Memories:
    """Memories by namespace, with the thread that builds their costly layers.

    Args:
        open_namespace: called once a namespace.
        later: names of layers that are built behind ``remember``.
        idle_s: after how many seconds without a call a memory is closed; None is never.
    """

    def __init__(
        self,
        open_namespace: OpenNamespace,
        *,
        later: Sequence[str] = (),
        idle_s: float | None = None,
    ) -> None:
        self._open_namespace = open_namespace
        self._deepener = Deepener(later)
        self._idle_s = idle_s
        self._turns: defaultdict[str, Lock] = defaultdict(Lock)  # to open or close one; taken before ``_changed``
        self._changed = Condition()  # for a moment only: calls count themselves in the event loop
        self._failures: dict[str, _Failure] = {}  # the last one of each namespace
        self._open: dict[str, Memory] = {}
        self._uses: Counter[str] = Counter()  # calls under way
        self._used_at: dict[str, float] = {}
        self._is_closed = False
        self._closer: Thread | None = None

    def get(self, namespace: str) -> Memory:
        """The memory of this namespace; within ``in_use`` it stays open.

        Raises:
            MemgraphRagError: it cannot be opened; the next call tries again.
        """
        memory = self._open.get(namespace)
        if memory is not None:
            return memory
        asked_at = time.monotonic()
        with self._turn(namespace):
            if namespace not in self._open:
                failure = self._failures.get(namespace)
                if failure is not None and failure.at > asked_at:  # of the try that this call waited for
                    raise failure.error
                self._open_anew(namespace)
            return self._open[namespace]

    def _turn(self, namespace: str) -> Lock:
        with self._changed:
            return self._turns[namespace]

    def _open_anew(self, namespace: str) -> None:
        try:
            opened = self._open_namespace(namespace, progress=self._deepener.progress)
        except MemgraphRagError as error:
            self._failures[namespace] = _Failure(time.monotonic(), error)
            raise
        if not opened.settings.read_only:
            self._deepener.resume(opened)
        with self._changed:
            self._open[namespace] = opened
            self._used_at[namespace] = time.monotonic()
            self._failures.pop(namespace, None)
            self._watch()

    @contextmanager
    def in_use(self, namespace: str) -> Iterator[None]:
        """A call of this namespace is under way."""
        self._count(namespace, 1)
        try:
            yield
        finally:
            self._count(namespace, -1)

    def opened(self) -> tuple[str, ...]:
        """The namespaces that are open, sorted."""
        return tuple(sorted(self._open))

    def follow(self, memory: Memory, receipt: Receipt) -> tuple[str, ...]:
        """Let the costly layers of a document that was stored be built; their names."""
        return self._deepener.follow(memory, receipt)

    def backlog(self, namespace: str) -> Backlog:
        """What is still to be built in a namespace."""
        return self._deepener.backlog(namespace)

    def wait(self, timeout_s: float) -> bool:
        """Whether all layers are built; waits so long for them."""
        return self._deepener.wait(timeout_s)

    def close(self) -> None:
        """Close all memories. Where a model is still at work, they are left to the end of the process."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        if self._deepener.close():
            for namespace in list(self._turns):
                with self._turn(namespace):
                    memory = self._open.pop(namespace, None)
                    if memory is not None:
                        memory.close()

    def _count(self, namespace: str, change: int) -> None:
        with self._changed:
            self._uses[namespace] += change
            self._used_at[namespace] = time.monotonic()

    def _watch(self) -> None:
        if self._idle_s is not None and self._closer is None:
            self._closer = Thread(
                target=self._close_idle, args=(self._idle_s,), name="memgraph_rag closer", daemon=True
            )
            self._closer.start()

    def _close_idle(self, idle_s: float) -> None:
        """Until all are closed: close each that has had no call for so many seconds."""
        while not self._is_closed:
            for namespace in self.opened():
                with self._turn(namespace):  # who asks for it meanwhile waits, and opens it again
                    memory = self._idle(namespace, time.monotonic() - idle_s)
                    if memory is not None:
                        memory.close()
            with self._changed:
                self._changed.wait_for(lambda: self._is_closed, idle_s / 4)

    def _idle(self, namespace: str, before: float) -> Memory | None:
        """Take a memory out that nothing has used since a moment; None where something has."""
        with self._changed:
            is_idle = namespace in self._open and not self._uses[namespace] and self._used_at[namespace] < before
            if not is_idle or self._deepener.uses(self._open[namespace]):
                return None
            del self._uses[namespace], self._used_at[namespace]
            return self._open.pop(namespace)
