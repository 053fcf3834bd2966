"""``Memories``: the open memories of a server, one for each namespace.

It knows no protocol. Invariants: a namespace is open at most once, and opening it does not wait for another namespace.
If opening fails, waiting calls fail with the same error and the next call tries again, so a server survives a store
that is locked or unreachable. A memory is never closed for idleness inside ``keep_open``, or while one of its documents
waits for a layer. Once closed, ``Memories`` opens nothing again.
"""

from __future__ import annotations

import logging
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Condition, Lock, Thread
from typing import TYPE_CHECKING, NamedTuple, Protocol

from memgraph_rag.errors import MemgraphRagError, StoreUnavailable
from memgraph_rag.server.background import Deepener
from memgraph_rag.server.results import BackgroundWork

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memgraph_rag import Memory, Receipt

_log = logging.getLogger(__name__)

IDLE_S = 600.0
"""Seconds without a call after which an HTTP server closes a namespace.

An open namespace holds its search index in memory, at least 1.5 kB per segment; opening it again takes seconds. An
agent in a conversation calls more often than every ten minutes.
"""


class OpenNamespace(Protocol):
    """Opens the memory of a namespace."""

    def __call__(self, namespace: str, *, progress: Callable[[str, int, int], None]) -> Memory:
        """Open the memory with ``Memory(…, progress=progress)``, and return it. Errors are those of ``Memory``."""
        ...


class _Failure(NamedTuple):
    at: float
    error: MemgraphRagError


class Memories:
    """Open memories by namespace, and the thread that builds their expensive layers.

    Args:
        open_namespace: opens the memory of a namespace.
        later: the names of the layers that are built in the background after ``remember``.
        idle_s: the seconds without a call after which a memory is closed; None means never.
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
        self._turns: defaultdict[str, Lock] = defaultdict(Lock)  # for opening and closing; acquired before ``_changed``
        self._changed = Condition()  # held only briefly, because the event loop waits for it
        self._failures: dict[str, _Failure] = {}  # the last failure of each namespace
        self._open: dict[str, Memory] = {}
        self._uses: Counter[str] = Counter()  # running calls
        self._used_at: dict[str, float] = {}
        self._is_closed = False
        self._closer: Thread | None = None

    def get(self, namespace: str) -> Memory:
        """Return the memory of a namespace; open it if necessary. Only inside ``keep_open`` it is sure to stay open.

        Raises:
            MemgraphRagError: the memory cannot be opened. The next call tries again.
            StoreUnavailable: the server is ending.
        """
        memory = self._open.get(namespace)
        if memory is not None:
            return memory
        asked_at = time.monotonic()
        with self._turn(namespace):
            if namespace not in self._open:
                if self._is_closed:
                    raise StoreUnavailable("Expected a running server, got one that is ending. Start it again.")
                failure = self._failures.get(namespace)
                if failure is not None and failure.at > asked_at:  # this call waited for the attempt that failed
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
    def keep_open(self, namespace: str) -> Iterator[None]:
        """Keep the memory of a namespace from being closed for idleness during the block.

        The block does not open the memory; ``close`` closes the memory even in the block.
        """
        self._count(namespace, 1)
        try:
            yield
        finally:
            self._count(namespace, -1)

    def list_open(self) -> tuple[str, ...]:
        """Return the sorted names of the open namespaces."""
        return tuple(sorted(self._open))

    def follow(self, memory: Memory, receipt: Receipt) -> tuple[str, ...]:
        """Queue a stored document for the background thread; return all background layers (``Deepener.follow``)."""
        return self._deepener.follow(memory, receipt)

    def backlog(self, namespace: str) -> BackgroundWork:
        """Return the state of the background work in a namespace, which need not be open."""
        return self._deepener.backlog(namespace)

    def wait(self, timeout_s: float) -> bool:
        """Wait until no document waits for a layer, at most ``timeout_s`` seconds; return whether none does."""
        return self._deepener.wait(timeout_s)

    def close(self) -> None:
        """Drop waiting documents, and close all memories. While a model runs, they stay open until the process ends."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        if self._deepener.close():
            for namespace in list(self._turns):
                with self._turn(namespace):
                    _close(self._open.pop(namespace, None))

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
        """Close memories without a call for ``idle_s`` seconds, again and again until ``close`` is called."""
        while not self._is_closed:
            for namespace in self.list_open():
                with self._turn(namespace):  # a concurrent call waits, and opens it again
                    _close(self._take_idle(namespace, time.monotonic() - idle_s))
            with self._changed:
                self._changed.wait_for(lambda: self._is_closed, idle_s / 4)

    def _take_idle(self, namespace: str, before: float) -> Memory | None:
        """Remove a memory that was not used since ``before``, and return it; return None if it was used."""
        with self._changed:
            is_idle = namespace in self._open and not self._uses[namespace] and self._used_at[namespace] < before
            if not is_idle or self._deepener.uses(self._open[namespace]):
                return None
            del self._uses[namespace], self._used_at[namespace]
            return self._open.pop(namespace)


def _close(memory: Memory | None) -> None:
    """Close a memory, if there is one. An error, as of a full disk, is logged, so that others are closed too."""
    if memory is not None:
        try:
            memory.close()
        except MemgraphRagError:
            _log.exception("a memory could not be closed")
