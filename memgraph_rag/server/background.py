"""The costly layers of what was remembered, built behind the calls that store it.

It knows memories by their public methods, and no protocol. Invariants: one group of documents is built at a time, as a
machine has one language model; a document that cannot be built stops no other one; what waits is told as of each
outcome; ``close`` waits for no model.
"""

from __future__ import annotations

import logging
from collections import Counter, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from threading import Condition, Thread, current_thread
from typing import TYPE_CHECKING

from memgraph_rag.errors import DocumentNotFound, MemgraphRagError

if TYPE_CHECKING:
    from memgraph_rag import Memory, Receipt

__all__ = ["Backlog", "Deepener"]

logger = logging.getLogger(__name__)

_MOST_DOCUMENTS = 8  # of a group: with more a pass of the model is no cheaper (docs/decisions/mcp.md)
_MOST_SEGMENTS = 32  # of a group, but for its first document: so that a note waits for no book that came with it
_PATIENCE_S = 5.0  # of ``close``, for a prompt that a model is reading
_MOST_FAILURES = 20  # that are kept for ``status``


class _Stopped(BaseException):
    """Raised out of a layer's work, so that a server ends at once; what the model has finished is in its journal."""


@dataclass(frozen=True, slots=True)
class Backlog:
    """What is still to be built in one namespace.

    Attributes:
        layers: those that follow.
        waiting: how many documents wait, those in work among them.
        doing: what is being done now, in words; empty where nothing is, or where it is another namespace's turn.
        built: how many documents were built since the server began.
        failures: keys or ids of documents, with why they could not be built.
    """

    layers: tuple[str, ...] = ()
    waiting: int = 0
    doing: str = ""
    built: int = 0
    failures: dict[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True, eq=False)
class _Task:
    """A document whose layers are to be built; outcomes name it by its id or by its key."""

    memory: Memory
    document_id: str
    key: str
    segments: int


class Deepener:
    """A thread that builds layers for documents, in the order in which they were remembered.

    Documents of one memory that wait are built together, some at a time: their prompts share passes of the model.

    Args:
        layers: by name; without any, nothing is done.
    """

    def __init__(self, layers: Sequence[str]) -> None:
        self._layers = tuple(layers)
        self._changed = Condition()
        self._waiting: deque[_Task] = deque()
        self._group: list[_Task] = []  # in work, without those that have their outcome
        self._memory: Memory | None = None  # in work
        self._doing = ""
        self._built: Counter[str] = Counter()
        self._failures: dict[str, dict[str, str]] = {}
        self._thread: Thread | None = None
        self._is_closing = False

    def follow(self, memory: Memory, receipt: Receipt) -> tuple[str, ...]:
        """Build the layers of a document that was stored when it is its turn; the names of the layers."""
        self._add([_Task(memory, receipt.document_id, receipt.key, receipt.counts.get("Segment", 0))])
        return self._layers

    def resume(self, memory: Memory) -> None:
        """Take up what an earlier process of this memory left unbuilt, the oldest documents first."""
        if self._layers:
            wanted = set(self._layers)
            left = [record for record in memory.documents() if not wanted <= set(record.layers)]
            left.sort(key=lambda record: (record.added_at, record.key))
            self._add([_Task(memory, record.id, record.key, record.segments) for record in left])

    def _add(self, tasks: Sequence[_Task]) -> None:
        if not self._layers or not tasks:
            return
        with self._changed:
            known = {task.document_id for task in self._waiting}
            self._waiting.extend(task for task in tasks if task.document_id not in known)
            if self._thread is None and not self._is_closing:
                self._thread = Thread(target=self._work, name="memgraph_rag deepener", daemon=True)
                self._thread.start()
            self._changed.notify_all()

    def backlog(self, namespace: str) -> Backlog:
        """What is still to be built in this namespace."""
        with self._changed:
            is_ours = self._memory is not None and self._memory.namespace == namespace
            return Backlog(
                layers=self._layers,
                waiting=sum(task.memory.namespace == namespace for task in (*self._group, *self._waiting)),
                doing=self._doing if is_ours else "",
                built=self._built[namespace],
                failures=dict(self._failures.get(namespace, {})),
            )

    def uses(self, memory: Memory) -> bool:
        """Whether documents of this memory wait, or are in work."""
        with self._changed:
            return memory is self._memory or any(task.memory is memory for task in self._waiting)

    def wait(self, timeout_s: float) -> bool:
        """Whether all is built; waits so long for it."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._waiting and self._memory is None, timeout_s)

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
        while self._has_work():
            try:
                self._build(self._next_group())
            except _Stopped:
                return
            finally:
                with self._changed:
                    self._memory, self._group, self._doing = None, [], ""
                    self._changed.notify_all()

    def _has_work(self) -> bool:
        """Whether something waits, once it does; False where the server ends."""
        with self._changed:
            self._changed.wait_for(lambda: bool(self._waiting) or self._is_closing)
            return not self._is_closing

    def _next_group(self) -> list[_Task]:
        """Documents of the memory that has waited longest, in their order; none where the server ends."""
        with self._changed:
            if self._waiting:
                self._memory = self._waiting[0].memory
                self._group = _bounded(task for task in self._waiting if task.memory is self._memory)
                for task in self._group:
                    self._waiting.remove(task)
            return list(self._group)

    def _build(self, tasks: Sequence[_Task]) -> None:
        """Build documents together; where that fails as a whole, each that has no outcome yet alone."""
        try:
            self._deepen(tasks)
        except Exception as error:  # of a layer or a model, too; the thread goes on with the next document
            if len(tasks) > 1:
                for task in [task for task in tasks if task in self._group]:
                    self._build([task])
                return
            if not isinstance(error, MemgraphRagError):
                logger.exception("A document could not be deepened.")
            self._settle(tasks, error)

    def _deepen(self, tasks: Sequence[_Task]) -> None:
        from memgraph_rag import Failure

        for task in tasks:
            try:
                task.memory.documents(documents=[task.document_id])
            except DocumentNotFound as error:  # forgotten while it waited: without it the others are built together
                self._settle([task], error)
        there = [task for task in tasks if task in self._group]
        if not there:
            return
        memory, by_name = there[0].memory, {name: task for task in there for name in (task.document_id, task.key)}
        for outcome in memory.deepen([task.document_id for task in there], layers=self._layers):
            error = outcome.error if isinstance(outcome, Failure) else None
            name = outcome.source if isinstance(outcome, Failure) else outcome.document_id
            if task := by_name.get(name):
                self._settle([task], error)
            elif error is not None:  # of a layer of the whole memory
                self._tell(memory.namespace, name, error)
        self._settle(there)  # of that for which there was nothing to build no outcome comes

    def _settle(self, tasks: Sequence[_Task], error: Exception | None = None) -> None:
        """Count documents that are built, or could not be for this reason; one that is gone is neither."""
        with self._changed:
            for task in [task for task in tasks if task in self._group]:
                self._group.remove(task)
                if error is None:
                    self._built[task.memory.namespace] += 1
                elif not isinstance(error, DocumentNotFound):
                    self._tell(task.memory.namespace, task.document_id, error)

    def _tell(self, namespace: str, name: str, error: Exception) -> None:
        with self._changed:
            failures = self._failures.setdefault(namespace, {})
            failures[name] = f"{type(error).__name__}: {error}"
            while len(failures) > _MOST_FAILURES:
                failures.pop(next(iter(failures)))


def _bounded(tasks: Iterable[_Task]) -> list[_Task]:
    """The first of these that are a group, at least one."""
    group: list[_Task] = []
    segments = 0
    for task in tasks:
        segments += task.segments
        if group and (segments > _MOST_SEGMENTS or len(group) == _MOST_DOCUMENTS):
            break
        group.append(task)
    return group
