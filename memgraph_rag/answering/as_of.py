"""A graph and a search that are limited to an extent: strategies read through them.

They know graph and search by their contracts. Invariant: no strategy can read a word from outside of the period, so
strategies need not know about periods.
"""

from __future__ import annotations

from collections.abc import Sequence

from memgraph_rag.contracts import GraphReader, SearchMode
from memgraph_rag.search.periods import AsOf, find_best
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


class GraphAsOf:
    """A ``GraphReader`` that is limited to a period.

    A segment is in the period if its own time is, and a relation if its segment is. Points, sections, annotations and
    overviews are in the period if all segments of their documents are. A document without a segment in the period is
    left out.
    """

    def __init__(self, graph: GraphReader, as_of: AsOf) -> None:
        self._graph = graph
        self._as_of = as_of

    @property
    def namespace(self) -> str:
        """The namespace of the graph. ``GraphReader`` describes all methods of this class."""
        return self._graph.namespace

    def documents(self, ids: Sequence[str] | None = None) -> list[DocumentRecord]:
        """Return all documents, or the documents with these ids, that have a segment in the period, by key."""
        return [record for record in self._graph.documents(ids) if record.id in self._as_of.documents]

    def nodes(self, node_ids: Sequence[str]) -> list[Node]:
        """Return these nodes, in this order, without the nodes that hold words from outside of the period."""
        return [node for node in self._graph.nodes(node_ids) if self._as_of.may_read(node)]

    def entities(self, entity_ids: Sequence[str]) -> list[Entity]:
        """Return all these entities: their ids come from segments and relations in the period, or from the question."""
        return self._graph.entities(entity_ids)

    def similarities(self, vector: Vector, *, documents: Sequence[str], layer: PointLayer = "points") -> list[Hit]:
        """Return the cosine similarities of the segments and points in the period, highest first.

        A document that is in the period only in part gives its segments, and no points.
        """
        whole = [document_id for document_id in documents if document_id in self._as_of.whole]
        partial = [document_id for document_id in documents if self._as_of.is_partial(document_id)]
        hits = self._graph.similarities(vector, documents=whole, layer=layer) if whole else []
        if partial:
            others = self._graph.similarities(vector, documents=partial, layer=layer)
            hits = [*hits, *filter(self._counts, others)]
        return sorted(hits, key=lambda hit: (-hit.score, hit.node_id))

    def list_segments(self, document_id: str) -> list[Segment]:
        """Return the segments of a document that are in the period, by index; an empty list if none is."""
        return [segment for segment in self._graph.list_segments(document_id) if self._as_of.may_read(segment)]

    def top_nodes(self, document_ids: Sequence[str], *, layer: PointLayer = "points") -> list[Node]:
        """Return the top nodes of a layer for each document, in the order of ``document_ids``.

        A document that is partly in the period gives its segments in the period. A document outside gives nothing.
        """
        whole = [document_id for document_id in document_ids if document_id in self._as_of.whole]
        by_document: dict[str, list[Node]] = {}
        for node in self._graph.top_nodes(whole, layer=layer) if whole else ():
            by_document.setdefault(node.document_id, []).append(node)
        for document_id in document_ids:
            if self._as_of.is_partial(document_id):
                by_document[document_id] = [*self.list_segments(document_id)]
        return [node for document_id in document_ids for node in by_document.get(document_id, ())]

    def successors(self, node_ids: Sequence[str]) -> list[Summarizes]:
        """Return the edges to lower nodes. The edges of a node in the period lead to nodes in the period."""
        return self._graph.successors(node_ids)

    def list_mentioned_entities(self, segment_ids: Sequence[str]) -> dict[str, list[str]]:
        """Return the ids of the entities that segments in the period mention, by segment id; others are left out."""
        return self._graph.list_mentioned_entities([each for each in segment_ids if each in self._as_of.segments])

    def expand(
        self, entity_ids: Sequence[str], *, vector: Vector | None, k: int, documents: Sequence[str] | None = None
    ) -> list[Neighbour]:
        """Return at most k relations that a segment in the period states, the nearest first."""
        return find_best(
            lambda count: self._graph.expand(entity_ids, vector=vector, k=count, documents=documents),
            k,
            lambda near: [each for each in near if each.relation.segment_id in self._as_of.segments],
        )

    def segments_naming(
        self, entity_ids: Sequence[str], *, vector: Vector, k: int, documents: Sequence[str] | None = None
    ) -> list[Hit]:
        """Return at most k segments in the period that mention one of these entities, the nearest first."""
        return find_best(
            lambda count: self._graph.segments_naming(entity_ids, vector=vector, k=count, documents=documents),
            k,
            lambda hits: list(filter(self._counts, hits)),
        )

    def annotations(self, document_id: str) -> list[Annotation]:
        """Return the annotations of a document that is in the period as a whole; otherwise an empty list."""
        return self._graph.annotations(document_id) if document_id in self._as_of.whole else []

    def sections(self, document_id: str) -> list[Section]:
        """Return the sections of a document that is in the period as a whole; otherwise an empty list."""
        return self._graph.sections(document_id) if document_id in self._as_of.whole else []

    def overviews(self, layer: str, *, documents: Sequence[str] | None = None) -> list[Overview]:
        """Return the overviews of a layer whose documents are all in the period as a whole."""
        return [item for item in self._graph.overviews(layer, documents=documents) if self._as_of.may_read(item)]

    def _counts(self, hit: Hit) -> bool:
        return hit.node_id in self._as_of.segments


class SearchWithin:
    """A ``Search`` for one question that is limited to an extent: it returns nothing from outside of it.

    A repeated graph search for fewer results is answered from the last one: its first results are the same for each
    ``k``, except that more results can hold a passage with the words of the query, which goes first.
    """

    def __init__(self, search: SegmentSearch, extent: Extent) -> None:
        self._search, self._extent = search, extent
        self._last: tuple[str, Extent, int, list[Evidence]] | None = None  # of the last graph search

    def find(
        self, query: str, *, k: int, mode: str | SearchMode = "graph", documents: Sequence[str] | None = None
    ) -> list[Evidence]:
        """Return at most k most relevant segments of the extent, best first. ``Search`` describes all methods."""
        extent = self._extent.narrow(documents)
        if mode != "graph":
            return self._search.find(query, k=k, mode=mode, extent=extent)
        if self._last is None or self._last[:2] != (query, extent) or self._last[2] < k:
            self._last = query, extent, k, self._search.find(query, k=k, mode=mode, extent=extent)
        return self._last[3][:k]

    def find_named_entities(self, question: str) -> list[str]:
        """Return the ids of the stored entities that the question names, in its order, inside the extent or not."""
        return self._search.find_named_entities(question)

    def find_speaker_mismatch(self, question: str) -> tuple[str, str] | None:
        """Return the speaker whom the question names, and the other speaker who says what the question asks about.

        Return None if there is no such other speaker, or if a document of the extent is not a conversation.
        """
        return self._search.find_speaker_mismatch(question, self._extent)

    def check_names(self, question: str, texts: Sequence[str]) -> dict[str, bool]:
        """Return each name of a question, and whether a text contains it; empty if the question is not English."""
        return self._search.check_names(question, texts)

    def find_similar_names(self, names: Sequence[str], texts: Sequence[str]) -> list[str]:
        """Return the names in the texts that are spelt almost, but not exactly, like one of ``names``, each once."""
        return self._search.find_similar_names(names, texts)
