"""The costly layers of what was remembered, built behind the calls that store it.

It knows memories by their public methods, and no protocol. Invariants: one document is built at a time, because a
machine has one language model; a document that cannot be built stops no other one; ``close`` waits for no model.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Condition, Thread, current_thread
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout

from memgraph_rag.errors import DocumentNotFound, MemgraphRagError

if TYPE_CHECKING:
    from memgraph_rag import Memory

__all__ = ["Backlog", "Deepener"]

logger = logging.getLogger(__name__)

_PATIENCE_S = 5.0  # of ``close``, for a prompt that a model is reading
_LOOK_S = 0.5  # for which another process's lock is waited for before it is looked whether the server ends
_MOST_FAILURES = 20  # that are kept for ``status``


class _Stopped(BaseException):
    """Raised out of a layer's work, so that a server ends at once; what the model has finished is in its journal."""


@dataclass(frozen=True, slots=True)
class Backlog:
    """What is still to be built in one namespace.

    Attributes:
        layers: those that follow.
        waiting: how many documents wait, the one in work among them.
        doing: what is being done now, in words; empty where nothing is, or where it is another namespace's turn.
        built: how many documents were built since the server began.
        failures: keys or ids of documents, with why they could not be built.
    """

    layers: tuple[str, ...] = ()
    waiting: int = 0
    doing: str = ""
    built: int = 0
    failures: dict[str, str] = field(default_factory=dict[str, str])


class Deepener:
    """A thread that builds layers for documents, in the order in which they were remembered.

    Args:
        layers: by name; without any, nothing is done.
        lock: a file that all processes of a server name, so that one of them builds at a time; by default it is alone.
    """

    def __init__(self, layers: Sequence[str], *, lock: Path | None = None) -> None:
        self._layers = tuple(layers)
        self._lock = lock
        self._changed = Condition()
        self._waiting: deque[tuple[Memory, str]] = deque()
        self._current: tuple[str, str] | None = None
        self._doing = ""
        self._built: dict[str, int] = {}
        self._failures: dict[str, dict[str, str]] = {}
        self._thread: Thread | None = None
        self._is_closing = False

    def follow(self, memory: Memory, document_ids: Sequence[str]) -> tuple[str, ...]:
        """Build the layers of these documents when it is their turn; the names of the layers."""
        if not self._layers or not document_ids:
            return self._layers
        with self._changed:
            known = {document_id for _, document_id in self._waiting}
            self._waiting.extend((memory, document_id) for document_id in document_ids if document_id not in known)
            if self._thread is None and not self._is_closing:
                self._thread = Thread(target=self._work, name="memgraph_rag deepener", daemon=True)
                self._thread.start()
            self._changed.notify_all()
        return self._layers

    def resume(self, memory: Memory) -> None:
        """Take up what an earlier process of this memory left unbuilt."""
        if self._layers:
            wanted = set(self._layers)
            self.follow(memory, [record.id for record in memory.documents() if not wanted <= set(record.layers)])

    def backlog(self, namespace: str) -> Backlog:
        """What is still to be built in this namespace."""
        with self._changed:
            is_ours = self._current is not None and self._current[0] == namespace
            return Backlog(
                layers=self._layers,
                waiting=sum(memory.namespace == namespace for memory, _ in self._waiting) + is_ours,
                doing=self._doing if is_ours else "",
                built=self._built.get(namespace, 0),
                failures=dict(self._failures.get(namespace, {})),
            )

    def wait(self, timeout_s: float) -> bool:
        """Whether all is built; waits so long for it."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._waiting and self._current is None, timeout_s)

    def progress(self, what: str, done: int, total: int) -> None:
        """For ``Memory(progress=…)``: what is being done, and where a closing server interrupts it."""
        if current_thread() is not self._thread:
            return
        self._doing = f"{what} {done}/{total}" if total else what
        if self._is_closing:
            raise _Stopped

    def close(self) -> bool:
        """Build nothing more; whether the thread has ended, so that its memory may be closed."""
        with self._changed:
            self._is_closing = True
            self._waiting.clear()
            self._changed.notify_all()
        if self._thread is None:
            return True
        self._thread.join(_PATIENCE_S)
        return not self._thread.is_alive()

    def _work(self) -> None:
        while (task := self._next()) is not None:
            memory, document_id = task
            try:
                with self._turn():
                    failure = self._build(memory, document_id)
            except _Stopped:
                return
            finally:
                with self._changed:
                    self._current, self._doing = None, ""
                    self._changed.notify_all()
            with self._changed:
                if failure:
                    failures = self._failures.setdefault(memory.namespace, {})
                    failures[document_id] = failure
                    while len(failures) > _MOST_FAILURES:
                        failures.pop(next(iter(failures)))
                else:
                    self._built[memory.namespace] = self._built.get(memory.namespace, 0) + 1

    def _next(self) -> tuple[Memory, str] | None:
        with self._changed:
            self._changed.wait_for(lambda: bool(self._waiting) or self._is_closing)
            if self._is_closing:
                return None
            memory, document_id = self._waiting.popleft()
            self._current = (memory.namespace, document_id)
            return memory, document_id

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """No other process of the server builds meanwhile; what one has built, the next finds built."""
        if self._lock is None:
            yield
            return
        lock = FileLock(self._lock)
        while not lock.is_locked:
            if self._is_closing:
                raise _Stopped
            with suppress(Timeout):
                lock.acquire(timeout=_LOOK_S)
        try:
            yield
        finally:
            lock.release()

    def _build(self, memory: Memory, document_id: str) -> str:
        """Why the document could not be built; empty where it was, or where it is gone."""
        from memgraph_rag import Failure

        try:
            outcomes = list(memory.deepen([document_id], layers=self._layers))
        except DocumentNotFound:
            return ""
        except MemgraphRagError as error:
            outcomes = [Failure(document_id, error)]
        except Exception as error:  # of a layer or a model; the thread goes on with the next document
            logger.exception("A document could not be deepened.")
            outcomes = [Failure(document_id, error)]
        errors = [outcome.error for outcome in outcomes if isinstance(outcome, Failure)]
        return f"{type(errors[0]).__name__}: {errors[0]}" if errors else ""
