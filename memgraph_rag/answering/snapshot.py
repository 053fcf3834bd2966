"""What one question reads of a graph: version and counts as of its start, and each record and node once.

It knows the graph by its contract. Invariant: a version that it gives is not newer than anything that is read through
it, so an index that is brought up to it misses no write from before the question.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar, cast

from memgraph_rag.contracts import MemoryGraph
from memgraph_rag.types import DocumentRecord, Entity, Neighbour, Node, Overview

__all__ = ["GraphSnapshot"]


class _HasId(Protocol):
    @property
    def id(self) -> str: ...


T = TypeVar("T", bound=_HasId)


class GraphSnapshot:
    """A ``MemoryGraph`` for one question, in one thread. What it does not keep, it asks the graph for each time."""

    def __init__(self, graph: MemoryGraph) -> None:
        self._graph = graph
        self._version = graph.version()  # before the counts: what is written meanwhile is read again next time
        self._counts = graph.statistics()
        self._entities: dict[str, Entity | None] = {}
        self.renew()

    @property
    def graph(self) -> MemoryGraph:
        """This, as the graph that it stands for."""
        return cast("MemoryGraph", self)

    def renew(self) -> None:
        """Drop documents and nodes, so that one that was forgotten meanwhile is not given any more."""
        self._documents: dict[str, DocumentRecord | None] = {}
        self._nodes: dict[str, Node | None] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._graph, name)

    def version(self) -> int:
        """See ``SearchedGraph``, as of all below. As of the start, so are ``statistics`` and ``count_documents``."""
        return self._version

    def statistics(self) -> Mapping[str, int]:
        """Counts by label and by relationship type."""
        return self._counts

    def count_documents(self) -> int:
        """How many documents there were."""
        return self._counts.get("Document", 0)

    def documents(self, ids: Sequence[str] | None = None) -> list[DocumentRecord]:
        """All documents, or those of these ids, by key; each of these is read once."""
        if ids is None:
            return self._graph.documents()
        return sorted(_read_once(self._documents, ids, self._graph.documents), key=lambda record: record.key)

    def nodes(self, node_ids: Sequence[str]) -> list[Node]:
        """The nodes of these ids; each is read once."""
        return _read_once(self._nodes, node_ids, self._graph.nodes)

    def entities(self, entity_ids: Sequence[str]) -> list[Entity]:
        """The entities of these ids; each is read once."""
        return _read_once(self._entities, entity_ids, self._graph.entities)

    def overviews(self, layer: str, *, documents: Sequence[str] | None = None) -> list[Overview]:
        """The overviews of a layer; none where there were none at all."""
        return self._graph.overviews(layer, documents=documents) if self._counts.get("Overview") else []

    def expand(self, entity_ids: Sequence[str], **options: Any) -> list[Neighbour]:
        """The nearest relations; none where there were none at all."""
        return self._graph.expand(entity_ids, **options) if self._counts.get("RELATES_TO") else []


def _read_once(known: dict[str, T | None], ids: Sequence[str], read: Callable[[Sequence[str]], list[T]]) -> list[T]:
    """The items of these ids, in this order; only those are read that are not known."""
    new = [item_id for item_id in dict.fromkeys(ids) if item_id not in known]
    if new:
        known.update(dict.fromkeys(new))
        known.update((item.id, item) for item in read(new))
    return [item for item_id in ids if (item := known[item_id]) is not None]
