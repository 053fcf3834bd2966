"""``Deepener``: a thread that builds expensive layers of stored documents in the background.

It uses the public methods of ``Memory``, and knows no protocol. Invariants: one group of documents is built at a time,
because a machine runs one language model. A document that cannot be built does not stop the others. The backlog is
correct after each outcome. ``close`` does not wait for a model.
"""

from __future__ import annotations

import logging
from collections import Counter, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from threading import Condition, Thread, current_thread
from typing import TYPE_CHECKING

from memgraph_rag.errors import DocumentNotFound, MemgraphRagError
from memgraph_rag.server.results import BackgroundWork

if TYPE_CHECKING:
    from memgraph_rag import Memory, Receipt

logger = logging.getLogger(__name__)

_MOST_DOCUMENTS = 8  # in a group; a larger group makes a model pass no cheaper (docs/decisions/mcp.md)
_MOST_SEGMENTS = 32  # in a group of several documents, so that a note does not wait for a book
_PATIENCE_S = 5.0  # for which ``close`` waits until the model has read its prompt
_MOST_FAILURES = 20  # kept for the tool status


class _Stopped(BaseException):
    """Interrupts a layer, so that a server ends at once. Finished model replies are in the journal."""


@dataclass(frozen=True, slots=True, eq=False)
class _Task:
    """A document whose layers wait to be built. Outcomes name it by its id or by its key."""

    memory: Memory
    document_id: str
    key: str
    segments: int


class Deepener:
    """A thread that builds layers of documents, in the order in which the documents were stored.

    Waiting documents of one memory are built in small groups, because their prompts share passes of the model.

    Args:
        layers: the names of the layers. Without names the thread never starts.
    """

    def __init__(self, layers: Sequence[str]) -> None:
        self._layers = tuple(layers)
        self._changed = Condition()
        self._waiting: deque[_Task] = deque()
        self._group: list[_Task] = []  # documents that are being built and have no outcome yet
        self._memory: Memory | None = None  # the memory whose documents are being built
        self._doing = ""
        self._built: Counter[str] = Counter()
        self._failures: dict[str, dict[str, str]] = {}
        self._thread: Thread | None = None
        self._is_closing = False

    def follow(self, memory: Memory, receipt: Receipt) -> tuple[str, ...]:
        """Queue a stored document, unless it waits already, and return the names of all background layers.

        The names include layers that the document has already. Without background layers nothing is queued.
        """
        self._add([_Task(memory, receipt.document_id, receipt.key, receipt.counts.get("Segment", 0))])
        return self._layers

    def resume(self, memory: Memory) -> None:
        """Queue all documents of a memory that lack a background layer, oldest first; a former process left some."""
        if self._layers:
            required = set(self._layers)
            incomplete = [record for record in memory.documents() if not required <= set(record.layers)]
            incomplete.sort(key=lambda record: (record.added_at, record.key))
            self._add([_Task(memory, record.id, record.key, record.segments) for record in incomplete])

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

    def backlog(self, namespace: str) -> BackgroundWork:
        """Return the state of the background work in a namespace; zeros for a namespace without work."""
        with self._changed:
            is_ours = self._memory is not None and self._memory.namespace == namespace
            return BackgroundWork(
                layers=list(self._layers),
                waiting=sum(task.memory.namespace == namespace for task in (*self._group, *self._waiting)),
                doing=self._doing if is_ours else "",
                built=self._built[namespace],
                failures=dict(self._failures.get(namespace, {})),
            )

    def uses(self, memory: Memory) -> bool:
        """Return whether documents of this memory wait or are being built."""
        with self._changed:
            return memory is self._memory or any(task.memory is memory for task in self._waiting)

    def wait(self, timeout_s: float) -> bool:
        """Wait until no document waits or is being built, at most ``timeout_s`` seconds; return whether that is so.

        A document that failed no longer waits, and ``close`` drops those that wait.
        """
        with self._changed:
            return self._changed.wait_for(lambda: not self._waiting and self._memory is None, timeout_s)

    def progress(self, what: str, done: int, total: int) -> None:
        """Record the current step; interrupt it if the server is closing. It is passed as ``Memory(progress=…)``.

        A call from another thread than the background thread does nothing.
        """
        if current_thread() is not self._thread:
            return
        self._doing = f"{what} {done}/{total}" if total else what
        if self._is_closing:
            raise _Stopped

    def close(self) -> bool:
        """Stop building, drop waiting documents, wait a limited time, and return whether the thread has ended.

        If it has not, the memory must not be closed yet.
        """
        with self._changed:
            self._is_closing = True
            self._waiting.clear()
            self._changed.notify_all()
        if self._thread is None:
            return True
        self._thread.join(_PATIENCE_S)
        return not self._thread.is_alive()

    def _work(self) -> None:
        while group := self._next_group():
            try:
                self._build(group)
            except _Stopped:
                return
            finally:
                with self._changed:
                    self._memory, self._group, self._doing = None, [], ""
                    self._changed.notify_all()

    def _next_group(self) -> list[_Task]:
        """Wait for a document, and return it with the next ones of its memory; none if the server is closing."""
        with self._changed:
            self._changed.wait_for(lambda: bool(self._waiting) or self._is_closing)
            if self._is_closing:
                return []
            self._memory = self._waiting[0].memory
            self._group = _first_group(task for task in self._waiting if task.memory is self._memory)
            for task in self._group:
                self._waiting.remove(task)
            return list(self._group)

    def _build(self, tasks: Sequence[_Task]) -> None:
        """Build documents together. If that raises, as if one was forgotten, build those without an outcome alone."""
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

        memory, by_name = tasks[0].memory, {name: task for task in tasks for name in (task.document_id, task.key)}
        for outcome in memory.deepen([task.document_id for task in tasks], layers=self._layers):
            error = outcome.error if isinstance(outcome, Failure) else None
            name = outcome.source if isinstance(outcome, Failure) else outcome.document_id
            if task := by_name.get(name):
                self._settle([task], error)
            elif error is not None:  # from a layer of the memory
                self._record_failure(memory.namespace, name, error)
        self._settle(tasks)  # a document that lacked no layer has no outcome

    def _settle(self, tasks: Sequence[_Task], error: Exception | None = None) -> None:
        """Record that documents are built, or failed with an error. A forgotten document counts as neither."""
        with self._changed:
            for task in [task for task in tasks if task in self._group]:
                self._group.remove(task)
                if error is None:
                    self._built[task.memory.namespace] += 1
                elif not isinstance(error, DocumentNotFound):
                    self._record_failure(task.memory.namespace, task.document_id, error)

    def _record_failure(self, namespace: str, name: str, error: Exception) -> None:
        with self._changed:
            failures = self._failures.setdefault(namespace, {})
            failures[name] = f"{type(error).__name__}: {error}"
            while len(failures) > _MOST_FAILURES:
                failures.pop(next(iter(failures)))


def _first_group(tasks: Iterable[_Task]) -> list[_Task]:
    """Return the first tasks that fit into one group; at least one."""
    group: list[_Task] = []
    segments = 0
    for task in tasks:
        segments += task.segments
        if group and (segments > _MOST_SEGMENTS or len(group) == _MOST_DOCUMENTS):
            break
        group.append(task)
    return group
