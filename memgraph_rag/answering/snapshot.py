"""``GraphSnapshot``: a cache of the graph for one question.

It keeps the version and the counts from the start of the question, and reads each record and node once. Invariant: its
version is not newer than any data that is read through it, so an index of that version misses no earlier write.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar, cast

from memgraph_rag.contracts import MemoryGraph
from memgraph_rag.types import DocumentRecord, Entity, Neighbour, Node, Overview


class _HasId(Protocol):
    @property
    def id(self) -> str: ...


T = TypeVar("T", bound=_HasId)


class GraphSnapshot:
    """A ``MemoryGraph`` for one question, in one thread. Methods that it does not define go to the graph directly."""

    def __init__(self, graph: MemoryGraph) -> None:
        self._graph = graph
        self._version = graph.version()  # read before the counts: the next question reads later writes again
        self._counts = graph.statistics()
        self._entities: dict[str, Entity | None] = {}
        self.renew()

    @property
    def graph(self) -> MemoryGraph:
        """The snapshot itself, typed as a ``MemoryGraph``."""
        return cast("MemoryGraph", self)

    def renew(self) -> None:
        """Empty the cache of documents and nodes, so that forgotten ones are not returned; entities and counts stay."""
        self._documents: dict[str, DocumentRecord | None] = {}
        self._nodes: dict[str, Node | None] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._graph, name)

    def version(self) -> int:
        """Return the version of the namespace at the start of the question; see ``SearchedGraph``."""
        return self._version

    def statistics(self) -> Mapping[str, int]:
        """Return the counts by label and by relationship type at the start of the question."""
        return self._counts

    def count_documents(self) -> int:
        """Return the number of documents at the start of the question."""
        return self._counts.get("Document", 0)

    def documents(self, ids: Sequence[str] | None = None) -> list[DocumentRecord]:
        """Return all documents, or those with these ids, by key; unknown ids are left out. Each id is read once."""
        if ids is None:
            return self._graph.documents()
        return sorted(_read_once(self._documents, ids, self._graph.documents), key=lambda record: record.key)

    def nodes(self, node_ids: Sequence[str]) -> list[Node]:
        """Return the nodes with these ids, in this order; unknown ids are left out. Each id is read once."""
        return _read_once(self._nodes, node_ids, self._graph.nodes)

    def entities(self, entity_ids: Sequence[str]) -> list[Entity]:
        """Return the entities with these ids, in this order; unknown ids are left out. Each id is read once."""
        return _read_once(self._entities, entity_ids, self._graph.entities)

    def overviews(self, layer: str, *, documents: Sequence[str] | None = None) -> list[Overview]:
        """Return the overviews of a layer. The list is empty without a query if the graph had no overviews."""
        return self._graph.overviews(layer, documents=documents) if self._counts.get("Overview") else []

    def expand(self, entity_ids: Sequence[str], **options: Any) -> list[Neighbour]:
        """Return the k nearest relations of the entities; if the graph had none, ask no store and return [].

        Args:
            options: ``vector``, ``k`` and ``documents``; see ``SearchedGraph.expand``.
        """
        return self._graph.expand(entity_ids, **options) if self._counts.get("RELATES_TO") else []


def _read_once(known: dict[str, T | None], ids: Sequence[str], read: Callable[[Sequence[str]], list[T]]) -> list[T]:
    """Return the items with these ids, in this order. Read only the ids that ``known`` lacks, and add them to it."""
    new = [item_id for item_id in dict.fromkeys(ids) if item_id not in known]
    if new:
        known.update(dict.fromkeys(new))
        known.update((item.id, item) for item in read(new))
    return [item for item_id in ids if (item := known[item_id]) is not None]
