"""What a store offers: reading and repairing one namespace of a graph; ``graph_writes`` has the writing.

The abstract members are required of every store; ``stores.BaseStore`` has a default of each of the others.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from memgraph_rag.contracts.document_lists import DocumentLists
from memgraph_rag.contracts.graph_writes import GraphWriter
from memgraph_rag.contracts.kept_index import IndexKeeper
from memgraph_rag.contracts.pools import PooledGraph
from memgraph_rag.types import (
    Annotation,
    DocumentGraph,
    DocumentRecord,
    Entity,
    Fingerprint,
    Flaws,
    Hit,
    IndexedName,
    IndexedRelation,
    IndexedSegment,
    Mention,
    Neighbour,
    Node,
    Overview,
    PointLayer,
    Question,
    Relation,
    Section,
    Segment,
    Similar,
    Summarizes,
    Title,
    Vector,
)

__all__ = [
    "BulkStore", "FingerprintIndex", "GraphReader", "GraphStore", "GraphView", "MemoryGraph", "MendedStore",
    "NodeReader", "PurgedStore", "ReembeddedStore", "SearchedGraph",
]  # fmt: skip


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


class SearchedGraph(NodeReader, PooledGraph, IndexKeeper, Protocol):
    """What a search reads: the k best of all segments, and all of them for an index of its own."""

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
        """The relations of the documents that a write later than version ``since`` stored, by id. One statement."""
        ...

    def indexed_names(self, *, since: int) -> list[IndexedName]:
        """The entities that these documents mention and that have an embedding, by id. One statement."""
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


class MemoryGraph(GraphReader, SearchedGraph, Protocol):
    """What a layer of the memory reads: what strategies and searches do."""


class GraphView(GraphReader, Protocol):
    """What a person looks at, beside what strategies read."""

    def document(self, id_or_key: str) -> DocumentRecord | None:
        """The document with that id, or else that key; None where there is none."""
        ...

    def names_with(self, part: str, *, k: int) -> list[Entity]:
        """The k entities of the shortest normalised names that hold these characters; ties by code point."""
        ...

    def mentions(self, document_id: str) -> list[Mention]:
        """All mentions of a document, by place."""
        ...

    def titles(self, document_id: str) -> list[Title]:
        """What a document's title names, by entity."""
        ...

    def mentions_of(self, entity_id: str, *, k: int) -> list[Mention]:
        """The first k mentions of an entity, by document and place."""
        ...

    def titled(self, entity_id: str, *, k: int) -> list[tuple[str, str]]:
        """(document id, surface) of the first k documents whose titles name an entity, by key."""
        ...

    def relations_of(self, document_id: str) -> list[Relation]:
        """All relations that a document states, by id."""
        ...

    def relations_at(self, entity_id: str, *, k: int) -> list[Relation]:
        """The first k relations of an entity, by id."""
        ...

    @abstractmethod
    def similar(self, entity_ids: Sequence[str]) -> list[Similar]:
        """The SIMILAR_TO edges at these entities, by (source, target)."""
        ...

    def entity_counts(self, entity_id: str) -> Mapping[str, int]:
        """How many edges of each kind an entity has, but for SIMILAR_TO; empty where there is none."""
        ...

    @abstractmethod
    def overview_ids(self) -> list[str]:
        """The ids of the overviews of all layers; the lowest level first, then by layer and key."""
        ...

    @abstractmethod
    def questions(self, ids: Sequence[str] | None = None) -> list[Question]:
        """All kept questions, or those of these ids that exist; the newest first, ties by id."""
        ...

    def question_times(self) -> Mapping[str, str]:
        """The ids of all kept questions, each with the time when it was asked. One statement."""
        ...


class FingerprintIndex(Protocol):
    """Finds documents by where they came from and by their whole text."""

    def matching_fingerprints(
        self, *, sources: Sequence[str] = (), text_hashes: Sequence[str] = ()
    ) -> list[Fingerprint]:
        """Those of the documents that were read from one of these files, or have one of these texts; by key.

        One statement. What is empty matches nothing; of texts the first thousand documents.
        """
        ...


class MendedStore(Protocol):
    """A store that finds what is wrong with its graph, and puts right what can be."""

    def flaws(self) -> Flaws:
        """What is wrong, as of one moment; nothing, in a graph that only this library wrote."""
        ...

    def mend(self, vectors: Mapping[str, Vector]) -> Flaws:
        """Put right what can be put right, in one transaction (indexes before it); what was wrong.

        Args:
            vectors: embeddings of what had none, by id. What is not among them stays without.
        """
        ...


class ReembeddedStore(Protocol):
    """A store of which all embeddings, in all namespaces, can be replaced at one moment."""

    def namespaces(self) -> list[str]:
        """All namespaces of the store, sorted: an embedder is the whole store's."""
        ...

    def beside(self, namespace: str) -> GraphStore:
        """The same store, bound to another namespace. It goes with this one, and is not closed by itself."""
        ...

    def reembed(self, *, embedder: str, dimension: int, again: Callable[[DocumentGraph], DocumentGraph]) -> None:
        """Put other embeddings in place of all there are, at one moment; before it, everything goes on with the old.

        Afterwards every store that is open with the old ones, this one too, raises ``SchemaMismatch`` until it is
        opened, or migrated, with the new embedder.

        Args:
            again: a document with the new embeddings. It is asked for each document, for some more than once.

        Raises:
            StoreError: a document is damaged, or documents are written faster than they can be read.
        """
        ...


class BulkStore(Protocol):
    """A store whose database can be replaced as a whole by an import in bulk."""

    def empty_database(self) -> str:
        """Return the name of the database, which holds nothing.

        Raises:
            StoreError: the database holds nodes, or no import in bulk exists for it.
        """
        ...


class PurgedStore(Protocol):
    """A store whose own files can be freed of what was forgotten."""

    def purge(self) -> None:
        """Rewrite the files so that nothing of what was forgotten or replaced, in any namespace, is left in them.

        Raises:
            StoreError: the store is a server, whose files are its own.
        """
        ...


class GraphStore(
    GraphView,
    SearchedGraph,
    GraphWriter,
    FingerprintIndex,
    DocumentLists,
    MendedStore,
    ReembeddedStore,
    PurgedStore,
    BulkStore,
    Protocol,
):
    """A database that holds graphs, bound to one namespace. May be used from several threads.

    A store must implement the abstract members. It inherits the others from ``stores.BaseStore``.
    """

    @abstractmethod
    def graphs_of(self, document_ids: Sequence[str]) -> list[DocumentGraph]:
        """All that these documents contribute to the graph, ready to be written again, by some statements for all.

        In the order given; those that are not there are left out. ``stores.document_reader`` reads many in groups.

        Raises:
            StoreError: something is stored of one of them that cannot be given.
        """
        ...

    def recognizer(self) -> str:
        """The recognizer that found the entities of this namespace; empty where it holds none."""
        ...

    @property
    @abstractmethod
    def read_only(self) -> bool:
        """Whether nothing can be written by this store: every write is a ``StoreReadOnly``."""
        ...

    @property
    @abstractmethod
    def schema(self) -> Mapping[str, Any]:
        """``version``, ``embedder`` and ``dimension`` as stored; empty before ``migrate``."""
        ...

    @abstractmethod
    def close(self) -> None:
        """Let go of the database; a second call does nothing."""
        ...
