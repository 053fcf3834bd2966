"""From sources to stored documents: load → plan → build → write; and further layers for what is stored.

It holds no algorithm; it knows the order of the work, a module a stage: ``sources`` loads, ``planning`` compares with
what is stored and cuts segments, ``graph_building`` builds layers and embeds, ``graph_writing`` writes. Invariants: all
model work of a document is done before the one transaction that writes it; one bad source never stops another.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from memgraph_rag.contracts import GraphStore, Layer, Models, Progress, TokenCounter
from memgraph_rag.errors import DocumentError, MemgraphRagError, ModelNotFound, TokenLimitReached
from memgraph_rag.operations.graph_building import BuiltDocument, GraphBuilder
from memgraph_rag.operations.graph_writing import write_documents
from memgraph_rag.operations.planning import PendingDocument, Plan, Planner
from memgraph_rag.operations.sources import Item, Loaded, Request, grouped, load_request
from memgraph_rag.operations.token_limit import LimitedModels
from memgraph_rag.stores import open_place
from memgraph_rag.types import DocumentRecord, Failure, Receipt

__all__ = ["Ingestion"]

UNREAD_TIMES = "times not understood"
"""Note of a receipt: how many messages have a time of which it is not certain which day it names."""


@dataclass(frozen=True, slots=True)
class _Group:
    """A group of documents whose layers are being built.

    Attributes:
        plans: of all its documents, in order.
        result: waits for those that are built.
    """

    plans: Sequence[Plan]
    result: Callable[[], list[BuiltDocument]]

    @property
    def pending(self) -> list[PendingDocument]:
        """Those that are being built."""
        return _pending(self.plans)

    @property
    def keys(self) -> set[str]:
        return {document.record.key for document in self.pending}


class Ingestion:
    """Adds documents to one store.

    Args:
        layers: what is built beyond segments, in this order.
        count_tokens: of the texts of segments.
        segment_tokens: most tokens of one segment.
    """

    def __init__(
        self,
        store: GraphStore,
        models: Models,
        layers: Sequence[Layer],
        *,
        count_tokens: TokenCounter,
        segment_tokens: int,
        progress: Progress | None = None,
    ) -> None:
        self._store = store
        self._models = models
        self._planner = Planner(store, models, layers, count_tokens=count_tokens, segment_tokens=segment_tokens)
        self._builder = GraphBuilder(store, models, layers, progress=progress)

    def add(self, requests: Iterable[Request]) -> Generator[Receipt | Failure, None, None]:
        """What became of each request, in order; the model work of a group of documents runs together.

        Where the requests end with an error, what came before it is stored and reported first; then it is raised.
        """
        final_errors: list[Exception] = []
        unread_times: deque[int] = deque()  # of the requests that were loaded and not yet reported

        def load_all() -> Iterator[Loaded | Failure]:
            for request in _until_error(requests, final_errors):
                item = _load(request)
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
        """Group after group. Where no language model works, a group is built while the one before is written."""
        with ThreadPoolExecutor(1) as beside:
            building: _Group | None = None
            for items_of_group in grouped(items, self._store):
                keys = {item.key for item in items_of_group if not isinstance(item, Failure)}
                if building is not None and building.keys & keys:
                    yield from self._write(building)  # so that these are compared with what is then stored
                    building = None
                plans = self._planner.plan(items_of_group)
                previous, building = building, self._start_building(plans, beside)
                if previous is not None:
                    yield from self._write(previous)
            if building is not None:
                yield from self._write(building)

    def _start_building(self, plans: Sequence[Plan], beside: ThreadPoolExecutor) -> _Group:
        """Begin to build the layers of all pending documents of a group together.

        A language model works in the caller's own thread, later: there it can be interrupted.
        """
        pending = _pending(plans)
        if any(document.needs_language for document in pending):
            return _Group(plans, partial(self._builder.build, pending))
        return _Group(plans, beside.submit(self._builder.build, pending).result)

    def _write(self, group: _Group) -> Iterator[Receipt | Failure]:
        """Write a group as soon as it is built; where the limit of tokens is reached, what needs no more of them."""
        yield from self._write_built(self._within_limit(group))

    def _within_limit(self, group: _Group) -> _Group:
        """The group without the documents for which there are no tokens left: these have failed."""
        if not isinstance(self._models, LimitedModels) or not any(plan.needs_language for plan in group.pending):
            return group
        try:
            self._models.limited.require_room()
        except ModelNotFound:  # what needs a model was refused before this; the rest is built without
            return group
        except TokenLimitReached as error:
            plans = [
                Failure(plan.record.key, error) if isinstance(plan, PendingDocument) and plan.needs_language else plan
                for plan in group.plans
            ]
            return _Group(plans, partial(self._builder.build, _pending(plans)))
        return group

    def _write_built(self, group: _Group) -> Iterator[Receipt | Failure]:
        """Write a group; each document is stored whole or not at all.

        Where building fails, each document is built alone: one of them may be to blame, the others are not.
        """
        try:
            built = group.result()
        except MemgraphRagError as error:
            for plan in group.plans:
                if not isinstance(plan, PendingDocument):
                    yield plan
                elif len(group.pending) == 1:
                    yield Failure(plan.record.key, error)
                else:
                    yield from self._write_built(_Group([plan], partial(self._builder.build, [plan])))
            return
        outcomes = list(write_documents(self._store, built))
        if not any(isinstance(outcome, Failure) for outcome in outcomes):
            self._models.settle()
        waiting = iter(outcomes)
        for plan in group.plans:
            yield next(waiting) if isinstance(plan, PendingDocument) else plan


def _pending(plans: Sequence[Plan]) -> list[PendingDocument]:
    return [plan for plan in plans if isinstance(plan, PendingDocument)]


def _until_error(requests: Iterable[Request], final_errors: list[Exception]) -> Iterator[Request]:
    """The requests up to the error with which they end, if they do; the error is then in ``final_errors``."""
    try:
        yield from requests
    except Exception as error:  # noqa: BLE001 - the user's own, whatever it is; it is raised when the rest is stored
        final_errors.append(error)


def _load(request: Request) -> Loaded | Failure:
    """The document of a request; a file of an open store is refused before it is read."""
    source = request.source
    if isinstance(source, Path) and (place := open_place(source)) is not None:
        error = DocumentError(
            f"Expected a file to add, got {source}, which belongs to the open store {place}. Name another file.",
            path=source,
        )
        return Failure(str(source), error)
    return load_request(request)


def _with_unread_times(outcome: Receipt | Failure, count: int) -> Receipt | Failure:
    """The receipt with a note of how many messages' times were not understood."""
    if not count or isinstance(outcome, Failure):
        return outcome
    return replace(outcome, notes={**outcome.notes, UNREAD_TIMES: count})
