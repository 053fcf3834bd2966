"""``Ingestion``: adds documents, and adds layers to stored documents: load → plan → build → write.

It holds no algorithm, only the order of the stages: ``sources`` loads, ``planning`` compares with the store and cuts
segments, ``graph_building`` builds layers and embeds, and ``graph_writing`` writes. A ``build_pool`` reads files and
builds layers, in this process or in others. Invariants: all model calls for a document end before the transaction that
writes it. Only this process uses the store. One bad source never stops another.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from memgraph_rag.contracts import GraphStore, Layer, Models
from memgraph_rag.ingestion.build_pool import BuildPool
from memgraph_rag.ingestion.given_answers import GivenAnswers
from memgraph_rag.ingestion.graph_building import BuildOutcome, BuiltDocument
from memgraph_rag.ingestion.graph_writing import write_documents
from memgraph_rag.ingestion.planning import PendingDocument, Plan, Planner
from memgraph_rag.ingestion.redaction import Redact, redact_document
from memgraph_rag.ingestion.segmenting import CutSegments
from memgraph_rag.ingestion.sources import Item, Loaded, Request, group_items
from memgraph_rag.types import Action, DocumentRecord, Failure, Receipt

UNREAD_TIMES = "times not understood"
"""A note of a receipt: the number of messages whose time is ambiguous or unreadable."""


@dataclass(frozen=True, slots=True)
class _Group:
    """A group of documents whose layers are being built.

    Attributes:
        plans: the plans of all its documents, in order.
        result: waits for the outcomes of the documents that are being built, and returns them.
    """

    plans: Sequence[Plan]
    result: Callable[[], list[BuildOutcome]]

    @property
    def keys(self) -> set[str]:
        """The keys of the documents that are being built."""
        return {document.record.key for document in _pending(self.plans)}


class Ingestion:
    """Adds documents to one store, and adds missing layers to stored documents.

    Args:
        layers: the layers to build above the segments, in this order.
        pool: reads the sources and builds the layers, in this process or in workers.
        answers: earlier answers of the memory; text that repeats one is marked as an echo.
        cut: cuts a document into segments.
        redact: what happens to secrets in a document.
    """

    def __init__(
        self,
        store: GraphStore,
        models: Models,
        layers: Sequence[Layer],
        pool: BuildPool,
        answers: GivenAnswers,
        *,
        cut: CutSegments,
        redact: Redact,
    ) -> None:
        self._store = store
        self._redact: Redact = redact
        self._planner = Planner(store, models, layers, answers, cut=cut)
        self._pool = pool

    def add(self, requests: Iterable[Request]) -> Generator[Receipt | Failure, None, None]:
        """Add the document of each request, and yield the outcome of each, in order.

        The models process the documents of a group together. If the iterable of requests raises, the requests before
        that are stored and reported first; then the error is raised.
        """
        final_errors: list[Exception] = []
        loaded: deque[tuple[Loaded | Failure, Mapping[str, int]]] = deque()  # not reported yet, with their notes

        def load_all() -> Iterator[Loaded | Failure]:
            for item in self._pool.load(_take_until_error(requests, final_errors)):
                secrets: Mapping[str, int] = {}
                if isinstance(item, Loaded) and self._redact in ("mask", "refuse"):
                    item, secrets = redact_document(item, self._redact)
                loaded.append((item, secrets))
                yield item

        for outcome in self._ingest(load_all()):
            yield self._add_notes(outcome, *loaded.popleft())
        if final_errors:
            raise final_errors[0]

    def _add_notes(
        self, outcome: Receipt | Failure, item: Loaded | Failure, secrets: Mapping[str, int]
    ) -> Receipt | Failure:
        """Return the receipt with the notes of a request. Secrets are counted of a document that changed alone."""
        if isinstance(outcome, Failure) or isinstance(item, Failure):
            return outcome
        if outcome.action not in (Action.ADDED, Action.REPLACED, Action.DESCRIBED):
            secrets = {}
        elif self._redact == "mark":
            _, secrets = redact_document(item, self._redact)
        unread = {UNREAD_TIMES: item.unread_times} if item.unread_times else {}
        return replace(outcome, notes={**outcome.notes, **unread, **secrets}) if unread or secrets else outcome

    def deepen(self, records: Iterable[DocumentRecord]) -> Generator[Receipt | Failure, None, None]:
        """Build the layers that these stored documents lack; yield each outcome, ``UNCHANGED`` if none was missing."""
        return self._ingest(records)

    def _ingest(self, items: Iterable[Item]) -> Generator[Receipt | Failure, None, None]:
        """Plan, build and write group after group. The pool builds ``pool.ahead`` groups ahead of the written group."""
        pool = self._pool
        with pool:
            groups: deque[_Group] = deque()
            for items_of_group in group_items(items, self._store, pool.group_size, ahead=pool.ahead):
                keys = {item.key for item in items_of_group if not isinstance(item, Failure)}
                while any(group.keys & keys for group in groups):  # the plan must see the stored form of these keys
                    yield from self._write(groups.popleft())
                plans = self._planner.plan(items_of_group)
                groups.append(_Group(plans, pool.start(_pending(plans))))
                while len(groups) > pool.ahead:
                    yield from self._write(groups.popleft())
            while groups:
                yield from self._write(groups.popleft())

    def _write(self, group: _Group) -> Iterator[Receipt | Failure]:
        """Wait until a group is built, write it, and yield the outcome of each document."""
        built = group.result()
        written = list(write_documents(self._store, [item for item in built if isinstance(item, BuiltDocument)]))
        if len(written) == len(built) and not any(isinstance(outcome, Failure) for outcome in written):
            self._pool.settle()
        results, outcomes = iter(built), iter(written)
        for plan in group.plans:
            if not isinstance(plan, PendingDocument):
                yield plan
            elif isinstance(result := next(results), BuiltDocument):
                yield next(outcomes)
            else:
                yield Failure(plan.record.key, result)


def _pending(plans: Sequence[Plan]) -> list[PendingDocument]:
    return [plan for plan in plans if isinstance(plan, PendingDocument)]


def _take_until_error(requests: Iterable[Request], final_errors: list[Exception]) -> Iterator[Request]:
    """Yield the requests. If the iterable raises, append the error to ``final_errors`` and end."""
    try:
        yield from requests
    except Exception as error:  # noqa: BLE001 - the user's own, whatever it is; it is raised when the rest is stored
        final_errors.append(error)
