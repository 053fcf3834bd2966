"""What strategies, searches and layers of the memory read of one namespace of a graph.

The abstract members are required of every store; ``stores.BaseStore`` has a default of each of the others.
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
    IndexedName,
    IndexedRelation,
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

__all__ = ["GraphReader", "MemoryGraph", "NodeReader", "SearchedGraph"]


class NodeReader(Protocol):
    """Reads documents, nodes and entities of one namespace. Equal calls give equal lists, in the same order."""

    @property
    @abstractmethod
    def namespace(self) -> str:
        """The namespace that it is bound to."""
        ...

    @abstractmethod
    def documents(self, ids: Sequence[str] | None = None) -> list[DocumentRecord]:
        """All documents, or those of these ids that exist; by key."""
        ...

    @abstractmethod
    def nodes(self, node_ids: Sequence[str]) -> list[Node]:
        """The nodes of these ids that exist, in the order of ``node_ids``."""
        ...

    @abstractmethod
    def entities(self, entity_ids: Sequence[str]) -> list[Entity]:
        """The entities of these ids that exist, in the order of ``entity_ids``."""
        ...

    @abstractmethod
    def similarities(self, vector: Vector, *, documents: Sequence[str], layer: PointLayer = "points") -> list[Hit]:
        """The exact cosine of every segment of these documents and every point of one layer, best first; ties by id."""
        ...


class GraphReader(NodeReader, Protocol):
    """What strategies read."""

    @abstractmethod
    def segments_of(self, document_id: str) -> list[Segment]:
        """All segments of a document, by index."""
        ...

    @abstractmethod
    def top_nodes(self, document_ids: Sequence[str], *, layer: PointLayer = "points") -> list[Node]:
        """The top of one layer in each document, in the order given, by level (the highest first) and index.

        Of ``points`` the highest level; of ``clusters`` all summaries that no other sums up. Of a document without such
        points its segments.

        Without echoes, as everything below that looks for evidence.
        """
        ...

    @abstractmethod
    def successors(self, node_ids: Sequence[str]) -> list[Summarizes]:
        """The SUMMARIZES edges that leave these points and overviews, by (source, weight falling, target)."""
        ...

    @abstractmethod
    def entities_of(self, segment_ids: Sequence[str]) -> dict[str, list[str]]:
        """For each of these segments that exists, the ids of the entities that it mentions, sorted, each once."""
        ...

    @abstractmethod
    def expand(
        self, entity_ids: Sequence[str], *, vector: Vector | None, k: int, documents: Sequence[str] | None = None
    ) -> list[Neighbour]:
        """The k relations with an end among these entities, or among those SIMILAR_TO one of them, that are nearest.

        Best cosine first, ties by relation id; without a vector by relation id. One transaction, whatever the number
        of entities and relations, and whether there are any; a second one where the k-th and the next tie. Of an
        entity with hundreds of relations a store may compare only those that are among the nearest of all.
        """
        ...

    def segments_naming(
        self, entity_ids: Sequence[str], *, vector: Vector, k: int, documents: Sequence[str] | None = None
    ) -> list[Hit]:
        """The k segments of the largest cosine among those that mention one of these entities; ties by id."""
        ...

    def annotations(self, document_id: str) -> list[Annotation]:
        """What layers of users' own say of a document, by layer and index."""
        ...

    def sections(self, document_id: str) -> list[Section]:
        """The outline of a document, by index; empty where it has none."""
        ...

    def overviews(self, layer: str, *, documents: Sequence[str] | None = None) -> list[Overview]:
        """All overviews of a layer of the memory; the highest level first, then by key.

        Args:
            documents: only overviews that rest on no other documents than these.
        """
        ...


class SearchedGraph(NodeReader, Protocol):
    """What a search reads: the k best of all segments, and all of them for an index of its own.

    The index may be kept in a file. A search that does not hold the namespace in memory makes a pool for each question:
    the segments among which the question is answered.
    """

    @abstractmethod
    def nearest(self, vector: Vector, *, k: int, documents: Sequence[str] | None = None) -> list[Hit]:
        """The k segments of the largest cosine, or all where there are fewer; ties by id. Score: the cosine."""
        ...

    @abstractmethod
    def matching(
        self, keywords: str, *, k: int, documents: Sequence[str] | None = None, stemming: bool = False
    ) -> list[Hit]:
        """The k segments that match the words best (BM25), at least one word each; ties by id.

        A word of the title counts twice. ``keywords`` is plain text, never a query language. With ``stemming``,
        "marriages" matches "marriage".
        """
        ...

    def indexed_segments(self, *, since: int) -> list[IndexedSegment]:
        """All segments of the documents that a write later than version ``since`` stored; -1 is from the beginning.

        By (document id, index), with echoes. An embedding is never a list of Python numbers for longer than its row
        takes.
        """
        ...

    def indexed_relations(self, *, since: int) -> list[IndexedRelation]:
        """The relations of the documents that a write later than version ``since`` stored, by id."""
        ...

    def indexed_names(self, *, since: int) -> list[IndexedName]:
        """The entities that these documents mention and that have an embedding, by id."""
        ...

    def layer_annotations(self, layer: str, *, since: int = -1) -> list[Annotation]:
        """What a layer says of segments, of all documents that a write later than version ``since`` stored.

        By (document id, index). Annotations of no segment are left out.
        """
        ...

    @abstractmethod
    def written_documents(self, *, since: int = -1) -> list[DocumentRecord]:
        """All documents that a write later than version ``since`` stored, by key."""
        ...

    @abstractmethod
    def version(self) -> int:
        """How many writes the namespace has seen, by whatever process; 0 before the first.

        It grows with each call of ``GraphWriter`` that changes anything, metadata included.
        """
        ...

    def document_ids(self) -> list[str]:
        """The ids of all documents, sorted."""
        ...

    def count_documents(self) -> int:
        """How many documents there are."""
        ...

    def statistics(self) -> Mapping[str, int]:
        """Counts of this namespace by label and by relationship type."""
        ...

    # ── a kept index ─────────────────────────────────────────────────────────────────────────────────────

    def kept_index(self) -> Path | None:
        """The file that was made of just what the namespace holds now; None where there is none."""
        ...

    def keep_index(self, write: Callable[[Path], None], *, version: int, nbytes: int) -> None:
        """Have a file made and kept until the namespace is next written to, and no longer.

        Nothing is kept where the namespace is of another version by then, or where the file cannot be written.

        Args:
            write: fills the file at a path, which is there, and which nobody else may read.
            version: of the namespace when it was read.
            nbytes: about how large the file will be.
        """
        ...

    # ── a pool ───────────────────────────────────────────────────────────────────────────────────────────

    def segments_around(self, segment_ids: Sequence[str]) -> list[IndexedSegment]:
        """These segments and the one before and behind each in its document, by (document id, index); with echoes.

        ``siblings`` is set on each. One that does not exist is left out.
        """
        ...

    def linked_segments(
        self,
        masses: Mapping[str, float],
        *,
        entity_ids: Sequence[str] = (),
        title_ids: Sequence[str] = (),
        entity_mass: float = 0.0,
        k: int,
        documents: Sequence[str] | None = None,
    ) -> list[Hit]:
        """The k segments to which one step of a walk over shared entities brings the most; ties by id.

        From each segment to the entities that it names (an edge of weight 1) or its title does (4), and from them back.
        What is said in a conversation takes no part, nor does an entity that a thousand segments name. The score is the
        mass.

        Args:
            masses: what is on each segment before, by id.
            entity_ids: entities that a question names: ``entity_mass`` is on them, on each the more the fewer segments
                name it.
            title_ids: likewise, only those of these that the title of some document names.
        """
        ...

    def named_by(self, entity_ids: Sequence[str]) -> list[int]:
        """How many segments mention each of these entities; 0 where there is none.

        Of one that many mention it may be how often they do.
        """
        ...

    def times_of(self, segment_ids: Sequence[str]) -> dict[str, str]:
        """For each of these segments that exists its own time, else when its document was added."""
        ...

    def first_segment_ids(self, *, k: int) -> list[str]:
        """The k smallest ids of segments. Ids are hashes, so it is a sample that stays while others come and go."""
        ...


class MemoryGraph(GraphReader, SearchedGraph, Protocol):
    """What a layer of the memory reads: what strategies and searches do."""
