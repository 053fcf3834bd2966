"""From sources to stored documents: load → plan → build → write; and further layers for what is stored.

It holds no algorithm; it knows the order of the work, a module a stage: ``sources`` loads, ``planning`` compares with
what is stored and cuts segments, ``graph_building`` builds layers and embeds, and ``graph_writing`` writes; files are
read and layers built wherever a ``build_pool`` lets them be. Invariants: all model work of a document is done before
the one transaction that writes it; the store is touched in this process alone; one bad source never stops another.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from memgraph_rag.contracts import GraphStore, Layer, Models, TokenCounter
from memgraph_rag.ingestion.build_pool import BuildPool
from memgraph_rag.ingestion.given_answers import GivenAnswers
from memgraph_rag.ingestion.graph_building import BuildOutcome, BuiltDocument
from memgraph_rag.ingestion.graph_writing import write_documents
from memgraph_rag.ingestion.planning import PendingDocument, Plan, Planner
from memgraph_rag.ingestion.sources import Item, Loaded, Request, grouped
from memgraph_rag.types import DocumentRecord, Failure, Receipt

__all__ = ["Ingestion"]

UNREAD_TIMES = "times not understood"
"""Note of a receipt: how many messages have a time of which it is not certain which day it names."""


@dataclass(frozen=True, slots=True)
class _Group:
    """A group of documents whose layers are being built.

    Attributes:
        plans: of all its documents, in order.
        result: waits for what becomes of those that are being built.
    """

    plans: Sequence[Plan]
    result: Callable[[], list[BuildOutcome]]

    @property
    def keys(self) -> set[str]:
        """Of what is being built."""
        return {document.record.key for document in _pending(self.plans)}


class Ingestion:
    """Adds documents to one store.

    Args:
        layers: what is built beyond segments, in this order.
        pool: builds them.
        answers: what the memory answered.
        count_tokens: of the texts of segments.
        segment_tokens: most tokens of one segment.
    """

    def __init__(
        self,
        store: GraphStore,
        models: Models,
        layers: Sequence[Layer],
        pool: BuildPool,
        answers: GivenAnswers,
        *,
        count_tokens: TokenCounter,
        segment_tokens: int,
    ) -> None:
        self._store = store
        self._planner = Planner(
            store, models, layers, answers, count_tokens=count_tokens, segment_tokens=segment_tokens
        )
        self._pool = pool

    def add(self, requests: Iterable[Request]) -> Generator[Receipt | Failure, None, None]:
        """What became of each request, in order; the model work of a group of documents runs together.

        Where the requests end with an error, what came before it is stored and reported first; then it is raised.
        """
        final_errors: list[Exception] = []
        unread_times: deque[int] = deque()  # of the requests that were loaded and not yet reported

        def load_all() -> Iterator[Loaded | Failure]:
            for item in self._pool.load(_until_error(requests, final_errors)):
                unread_times.append(item.unread_times if isinstance(item, Loaded) else 0)
                yield item

        for outcome in self._ingest(load_all()):
            yield _with_unread_times(outcome, unread_times.popleft())
        if final_errors:
            raise final_errors[0]

    def deepen(self, records: Iterable[DocumentRecord]) -> Generator[Receipt | Failure, None, None]:
        """Build the layers that these documents do not have; what became of each, in order."""
        return self._ingest(records)

    def _ingest(self, items: Iterable[Item]) -> Generator[Receipt | Failure, None, None]:
        """Group after group; as many are being built at a time as the pool builds ahead."""
        with self._pool as pool:
            groups: deque[_Group] = deque()
            for items_of_group in grouped(items, self._store, pool.group_size, ahead=pool.ahead):
                keys = {item.key for item in items_of_group if not isinstance(item, Failure)}
                while any(group.keys & keys for group in groups):  # so that these are compared with what is then stored
                    yield from self._write(groups.popleft())
                plans = self._planner.plan(items_of_group)
                groups.append(_Group(plans, pool.start(_pending(plans))))
                while len(groups) > pool.ahead:
                    yield from self._write(groups.popleft())
            while groups:
                yield from self._write(groups.popleft())

    def _write(self, group: _Group) -> Iterator[Receipt | Failure]:
        """Write a group as soon as it is built; each document is stored whole or not at all."""
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


def _until_error(requests: Iterable[Request], final_errors: list[Exception]) -> Iterator[Request]:
    """The requests up to the error with which they end, if they do; the error is then in ``final_errors``."""
    try:
        yield from requests
    except Exception as error:  # noqa: BLE001 - the user's own, whatever it is; it is raised when the rest is stored
        final_errors.append(error)


def _with_unread_times(outcome: Receipt | Failure, count: int) -> Receipt | Failure:
    """The receipt with a note of how many messages' times were not understood."""
    if not count or isinstance(outcome, Failure):
        return outcome
    return replace(outcome, notes={**outcome.notes, UNREAD_TIMES: count})
