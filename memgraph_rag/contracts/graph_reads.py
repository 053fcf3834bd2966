"""The reads of one namespace of a graph, for strategies, searches and layers of the memory.

Every store must implement the abstract members. ``stores.BaseStore`` has a default for each other member.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from memgraph_rag.types import (
    Annotation,
    DocumentRecord,
    Entity,
    Hit,
    IndexedSegment,
    Neighbour,
    Node,
    Overview,
    PointLayer,
    Section,
    Segment,
    Summarizes,
    Vector,
)


class NodeReader(Protocol):
    """Reads documents, nodes and entities of one namespace. Equal calls return equal lists, in the same order."""

    @property
    @abstractmethod
    def namespace(self) -> str:
        """The namespace that the reader is bound to."""
        ...

    @abstractmethod
    def documents(self, ids: Sequence[str] | None = None) -> list[DocumentRecord]:
        """Return all documents, or the documents with these ids, each once, sorted by key. Unknown ids are left out."""
        ...

    @abstractmethod
    def nodes(self, node_ids: Sequence[str]) -> list[Node]:
        """Return the segments, points and overviews with these ids, in the order of ``node_ids``.

        Unknown ids are left out, also ids of documents and entities. An id that is given twice returns its node twice.
        """
        ...

    @abstractmethod
    def entities(self, entity_ids: Sequence[str]) -> list[Entity]:
        """Return the entities with these ids, in the order of ``entity_ids``; unknown ids are left out."""
        ...

    @abstractmethod
    def similarities(self, vector: Vector, *, documents: Sequence[str], layer: PointLayer = "points") -> list[Hit]:
        """Score each segment, and each point of a layer, of these documents by its cosine to a vector; best first.

        Echoes, nodes without an embedding, and the points of the other layer are left out. Unknown documents are
        ignored.
        """
        ...


class GraphReader(NodeReader, Protocol):
    """The reads that strategies use, in addition to ``NodeReader``."""

    @abstractmethod
    def list_segments(self, document_id: str) -> list[Segment]:
        """Return all segments of a document, echoes included, by index; an empty list for an unknown id."""
        ...

    @abstractmethod
    def top_nodes(self, document_ids: Sequence[str], *, layer: PointLayer = "points") -> list[Node]:
        """Return the top-level nodes of one layer for each document.

        The top of ``points`` is its highest level; the top of ``clusters`` are the summaries without a parent. A
        document without such points gives its segments. Documents come in the order given, nodes by level (the highest
        first) and index.

        Echoes are left out here, and in every search for evidence below.
        """
        ...

    @abstractmethod
    def successors(self, node_ids: Sequence[str]) -> list[Summarizes]:
        """Return the SUMMARIZES edges that leave these points and overviews, by (source, descending weight, target).

        Segments and unknown ids have no such edges.
        """
        ...

    @abstractmethod
    def list_mentioned_entities(self, segment_ids: Sequence[str]) -> dict[str, list[str]]:
        """Return the ids of the entities that each of these segments mentions, sorted, each once.

        An unknown segment has no key. A segment without mentions has an empty list. Entities in the title of the
        document are not included.
        """
        ...

    @abstractmethod
    def expand(
        self, entity_ids: Sequence[str], *, vector: Vector | None, k: int, documents: Sequence[str] | None = None
    ) -> list[Neighbour]:
        """Return the k nearest relations of these entities, and of the entities that are SIMILAR_TO them.

        Each relation is returned once. With a vector, relations without an embedding are left out. Without entities,
        with ``k`` below 1, or with an empty ``documents``, the list is empty.

        The order is by descending cosine to ``vector``, ties by relation id; without a vector, by relation id. A store
        reads in one transaction, whatever the number of entities and relations, and in a second one when the k-th and
        the next relation tie. For an entity with hundreds of relations, a store may compare only relations among the
        nearest of the whole namespace.
        """
        ...

    def segments_naming(
        self, entity_ids: Sequence[str], *, vector: Vector, k: int, documents: Sequence[str] | None = None
    ) -> list[Hit]:
        """Return the k segments nearest to ``vector`` that mention one of these entities; ties by id.

        Echoes and segments without an embedding are left out. A title that names an entity is no mention. The score is
        the cosine.
        """
        ...

    def annotations(self, document_id: str) -> list[Annotation]:
        """Return all annotations of a document, of all layers, by layer and index; an empty list for an unknown id."""
        ...

    def sections(self, document_id: str) -> list[Section]:
        """Return the sections of a document (its outline), in order; an empty list without an outline."""
        ...

    def overviews(self, layer: str, *, documents: Sequence[str] | None = None) -> list[Overview]:
        """Return the overviews (summaries of several documents) of a layer: the highest level first, then by key.

        Args:
            documents: ids; an overview that rests on any other document is left out. None allows all documents.
        """
        ...


class SearchedGraph(NodeReader, Protocol):
    """The reads that a search uses: the k best segments, or all segments for an index of its own.

    The search may keep its index in a file. A search that does not hold the namespace in memory reads a pool for each
    question: the segments among which it looks for the answer.
    """

    @abstractmethod
    def find_nearest(self, vector: Vector, *, k: int, documents: Sequence[str] | None = None) -> list[Hit]:
        """Return the k segments with the largest cosine, or all when there are fewer; best first, ties by id.

        The score is the cosine. Echoes and segments without an embedding are left out. An empty ``documents`` gives an
        empty list.

        Raises:
            StoreError: the vector is zero or not finite.
        """
        ...

    @abstractmethod
    def find_matching(self, keywords: str, *, k: int, documents: Sequence[str] | None = None) -> list[Hit]:
        """Return the k segments that match the keywords best (BM25), with at least one word each; ties by id.

        A word in the title counts twice. ``keywords`` is plain text, not a query language. Stop words do not count. A
        day matches its other written forms too. A word matches other forms of its stem in the language of the document:
        "marriages" matches "marriage". Echoes are left out. The score is that of the engine. Without a word to search
        for, the list is empty.
        """
        ...

    def list_indexed_segments(self, *, since: int) -> list[IndexedSegment]:
        """Return all segments of the documents that were written after version ``since``; -1 returns all.

        The order is by (document id, index). Echoes (repeated answers of the memory) are included; a missing embedding
        is a zero vector. A store converts embeddings row by row, and never holds all of them as Python numbers.
        """
        ...

    def layer_annotations(self, layer: str, *, since: int = -1) -> list[Annotation]:
        """Return the annotations of a layer, of the documents that were written after version ``since``; -1 allows all.

        The order is by (document id, index). Only annotations of a whole document are left out: they name no segment.
        """
        ...

    @abstractmethod
    def list_written_documents(self, *, since: int = -1) -> list[DocumentRecord]:
        """Return the documents that were written after version ``since``, by key; -1 returns all.

        A change of the layers, the embeddings or the metadata counts as writing. Forgotten documents are not reported.
        """
        ...

    @abstractmethod
    def version(self) -> int:
        """Return the number of writes to the namespace, by any process; 0 before the first write.

        Each transaction of ``GraphWriter`` adds one, even if it changes no row: also for metadata, kept questions and
        overviews. ``migrate``, a call without documents, and a call that raises add nothing. ``mend`` and ``reembed``
        count as writes too.
        """
        ...

    def document_ids(self) -> list[str]:
        """Return the ids of all documents, sorted."""
        ...

    def count_documents(self) -> int:
        """Return the number of documents."""
        ...

    def statistics(self) -> Mapping[str, int]:
        """Return the number of nodes by label and of edges by relationship type, in this namespace.

        A label or type without rows has 0. A node of the layer ``clusters`` counts as ``ClusterSummary``, a node of
        ``points`` as ``InformationPoint``. The nodes of the namespace and of the schema are not counted.
        """
        ...

    # ── a kept index ─────────────────────────────────────────────────────────────────────────────────────

    def find_kept_index(self) -> Path | None:
        """Return the path of a kept index file of the namespace; None if there is none.

        The file was made from the current state of the namespace, or from an earlier one since which nothing was
        deleted. A store without kept files always returns None.
        """
        ...

    def keep_index(self, write: Callable[[Path], None], *, version: int, nbytes: int) -> None:
        """Create an index file, and keep it until something is deleted, or until another index is kept.

        No file is kept, and no error is raised, when the namespace has another version by then, when the file cannot be
        written, or when the store has no place for it. ``write`` may then not be called.

        Args:
            write: fills the file at a path. The file exists already, and only its owner may read it.
            version: the version of the namespace when the index was read.
            nbytes: approximate size of the file in bytes.
        """
        ...

    # ── a pool ───────────────────────────────────────────────────────────────────────────────────────────

    def segments_around(self, segment_ids: Sequence[str]) -> list[IndexedSegment]:
        """Return these segments, and the segment before and after each, by (document id, index).

        Echoes are included, unknown ids are left out. ``siblings`` is set on each segment.
        """
        ...

    def find_linked_segments(
        self,
        masses: Mapping[str, float],
        *,
        entity_ids: Sequence[str] = (),
        title_ids: Sequence[str] = (),
        entity_mass: float = 0.0,
        k: int,
        documents: Sequence[str] | None = None,
    ) -> list[Hit]:
        """Return the k segments that receive the most mass in one step of a walk over shared entities; ties by id.

        Mass moves from each segment to the entities that the segment mentions (edge weight 1) or that its document's
        title names (edge weight 4), and from these entities back to segments. Segments of conversations take no part.
        The mass of an entity with more than a thousand segments is lost. No mass moves back to echoes, nor to
        segments outside ``documents``. The score is the mass. Segments that receive nothing may follow, with score 0.

        Args:
            masses: the mass of each segment before the step, by id; unknown ids are ignored.
            entity_ids: entities that a question names. All of them together share ``entity_mass``; an entity that few
                segments mention gets more of it.
            title_ids: as ``entity_ids``, but only the entities that the title of some document names.
        """
        ...

    def count_naming_segments(self, entity_ids: Sequence[str]) -> list[int]:
        """Return how many segments mention each of these entities, in the order given; 0 for an unknown id.

        For an entity with many mentions, a store may return the number of mentions instead.
        """
        ...

    def list_segment_times(self, segment_ids: Sequence[str]) -> dict[str, str]:
        """Return the time of each of these segments, by id; for a segment without time, when its document was added.

        Unknown ids are left out. A time is ISO 8601.
        """
        ...

    def first_segment_ids(self, *, k: int) -> list[str]:
        """Return the k smallest ids of segments, without echoes, sorted; all ids when there are fewer.

        Ids are hashes, so this is a sample that rarely changes.
        """
        ...


class MemoryGraph(GraphReader, SearchedGraph, Protocol):
    """The reads that a layer of the memory uses: all reads of strategies and searches."""
