"""Search within an extent, and the graph as far as it was said within a time: what a question reads through.

They know graph and search by their contracts. Invariant: no word that was said earlier or later comes through, in
whatever way a strategy reads; so a strategy need not know that there is a time.
"""

from __future__ import annotations

from collections.abc import Sequence

from memgraph_rag.contracts import GraphReader, SearchMode
from memgraph_rag.search.as_of import AsOf, best_within
from memgraph_rag.search.segments import SegmentSearch
from memgraph_rag.types import (
    Annotation,
    DocumentRecord,
    Entity,
    Evidence,
    Extent,
    Hit,
    Neighbour,
    Node,
    Overview,
    PointLayer,
    Section,
    Segment,
    Summarizes,
    Vector,
)

__all__ = ["GraphAsOf", "SearchWithin"]


class GraphAsOf:
    """A ``GraphReader`` of what was said within a time.

    A segment counts by its own time, and so does a relation by its segment's. Points, sections, annotations and
    overviews count where all segments of their documents do. Documents that have no such segment are not there.
    """

    def __init__(self, graph: GraphReader, as_of: AsOf) -> None:
        self._graph = graph
        self._as_of = as_of

    @property
    def namespace(self) -> str:
        """See ``GraphReader``, as of all below."""
        return self._graph.namespace

    def documents(self, ids: Sequence[str] | None = None) -> list[DocumentRecord]:
        """Documents that were said within the time, at least in part."""
        return [record for record in self._graph.documents(ids) if record.id in self._as_of.documents]

    def nodes(self, node_ids: Sequence[str]) -> list[Node]:
        """Nodes without words from another time."""
        return [node for node in self._graph.nodes(node_ids) if self._as_of.may_read(node)]

    def entities(self, entity_ids: Sequence[str]) -> list[Entity]:
        """All of these: their ids come from segments and relations that count, or from the question's own words."""
        return self._graph.entities(entity_ids)

    def similarities(self, vector: Vector, *, documents: Sequence[str], layer: PointLayer = "points") -> list[Hit]:
        """Cosines of the segments and points that count."""
        whole = [document_id for document_id in documents if document_id in self._as_of.whole]
        partial = [document_id for document_id in documents if self._as_of.goes_on(document_id)]
        hits = self._graph.similarities(vector, documents=whole, layer=layer) if whole else []
        if partial:
            others = self._graph.similarities(vector, documents=partial, layer=layer)
            hits = [*hits, *filter(self._counts, others)]
        return sorted(hits, key=lambda hit: (-hit.score, hit.node_id))

    def segments_of(self, document_id: str) -> list[Segment]:
        """The segments of a document that count."""
        return [segment for segment in self._graph.segments_of(document_id) if self._as_of.may_read(segment)]

    def top_nodes(self, document_ids: Sequence[str], *, layer: PointLayer = "points") -> list[Node]:
        """The top of a layer; of a document that was said in part within the time the segments that count."""
        whole = [document_id for document_id in document_ids if document_id in self._as_of.whole]
        by_document: dict[str, list[Node]] = {}
        for node in self._graph.top_nodes(whole, layer=layer) if whole else ():
            by_document.setdefault(node.document_id, []).append(node)
        for document_id in document_ids:
            if self._as_of.goes_on(document_id):
                by_document[document_id] = [*self.segments_of(document_id)]
        return [node for document_id in document_ids for node in by_document.get(document_id, ())]

    def successors(self, node_ids: Sequence[str]) -> list[Summarizes]:
        """The edges down; from a node that counts they lead to such nodes only."""
        return self._graph.successors(node_ids)

    def entities_of(self, segment_ids: Sequence[str]) -> dict[str, list[str]]:
        """What the segments that count mention."""
        return self._graph.entities_of([each for each in segment_ids if each in self._as_of.segments])

    def expand(
        self, entity_ids: Sequence[str], *, vector: Vector | None, k: int, documents: Sequence[str] | None = None
    ) -> list[Neighbour]:
        """The k nearest of the relations that had been stated."""
        return best_within(
            lambda count: self._graph.expand(entity_ids, vector=vector, k=count, documents=documents),
            k,
            lambda neighbour: neighbour.relation.segment_id in self._as_of.segments,
        )

    def segments_naming(
        self, entity_ids: Sequence[str], *, vector: Vector, k: int, documents: Sequence[str] | None = None
    ) -> list[Hit]:
        """The k nearest segments that count and mention one of these entities."""
        return best_within(
            lambda count: self._graph.segments_naming(entity_ids, vector=vector, k=count, documents=documents),
            k,
            self._counts,
        )

    def annotations(self, document_id: str) -> list[Annotation]:
        """What layers say of a document that counts as a whole."""
        return self._graph.annotations(document_id) if document_id in self._as_of.whole else []

    def sections(self, document_id: str) -> list[Section]:
        """The outline of a document that counts as a whole."""
        return self._graph.sections(document_id) if document_id in self._as_of.whole else []

    def overviews(self, layer: str, *, documents: Sequence[str] | None = None) -> list[Overview]:
        """Overviews of documents that count as a whole."""
        return [item for item in self._graph.overviews(layer, documents=documents) if self._as_of.may_read(item)]

    def _counts(self, hit: Hit) -> bool:
        return hit.node_id in self._as_of.segments


class SearchWithin:
    """A ``Search`` among what an extent holds: whatever a strategy asks for, it finds nothing from outside."""

    def __init__(self, search: SegmentSearch, extent: Extent) -> None:
        self._search, self._extent = search, extent

    def find(
        self, query: str, *, k: int, mode: str | SearchMode = "graph", documents: Sequence[str] | None = None
    ) -> list[Evidence]:
        """See ``Search``, as of all below."""
        return self._search.find(query, k=k, mode=mode, extent=self._extent.within(documents))

    def named_in(self, question: str) -> list[str]:
        """What the question names, by its own words."""
        return self._search.named_in(question)

    def said_by_another(self, question: str) -> tuple[str, str] | None:
        """Who said instead what the question asks about."""
        return self._search.said_by_another(question, self._extent)

    def names_held(self, question: str, texts: Sequence[str]) -> dict[str, bool]:
        """Which of the question's names these texts hold."""
        return self._search.names_held(question, texts)

    def names_meant(self, names: Sequence[str], texts: Sequence[str]) -> list[str]:
        """Names in these texts that are spelt nearly as these."""
        return self._search.names_meant(names, texts)
