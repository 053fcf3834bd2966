"""What a store must offer: reading, writing and repairing one namespace of a graph."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Protocol

from memgraph_rag.contracts.document_lists import DocumentLists
from memgraph_rag.contracts.kept_index import IndexKeeper
from memgraph_rag.contracts.pools import PooledGraph
from memgraph_rag.types import (
    Action,
    Annotation,
    Answered,
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
    OverviewRows,
    PointLayer,
    Question,
    Receipt,
    Relation,
    Section,
    Segment,
    Similar,
    Summarizes,
    Title,
    Vector,
)

__all__ = [
    "EchoLog", "FingerprintIndex", "GraphReader", "GraphStore", "GraphView", "GraphWriter", "MemoryGraph",
    "MendedStore", "NodeReader", "PurgedStore", "ReembeddedStore", "SearchedGraph",
]  # fmt: skip


class NodeReader(Protocol):
    """Reads documents, nodes and entities of one namespace. Equal calls give equal lists, in the same order."""

    @property
    def namespace(self) -> str:
        """The namespace that it is bound to."""
        ...

    def documents(self, ids: Sequence[str] | None = None) -> list[DocumentRecord]:
        """All documents, or those of these ids that exist; by key."""
        ...

    def nodes(self, node_ids: Sequence[str]) -> list[Node]:
        """The nodes of these ids that exist, in the order of ``node_ids``."""
        ...

    def entities(self, entity_ids: Sequence[str]) -> list[Entity]:
        """The entities of these ids that exist, in the order of ``entity_ids``."""
        ...

    def similarities(self, vector: Vector, *, documents: Sequence[str], layer: PointLayer = "points") -> list[Hit]:
        """The exact cosine of every segment of these documents and every point of one layer, best first; ties by id."""
        ...


class GraphReader(NodeReader, Protocol):
    """What strategies read."""

    def segments_of(self, document_id: str) -> list[Segment]:
        """All segments of a document, by index."""
        ...

    def top_nodes(self, document_ids: Sequence[str], *, layer: PointLayer = "points") -> list[Node]:
        """The top of one layer in each document, in the order given, by level (the highest first) and index.

        Of ``points`` the highest level; of ``clusters`` all summaries that no other sums up. Of a document without such
        points its segments.

        Without echoes, as everything below that looks for evidence.
        """
        ...

    def successors(self, node_ids: Sequence[str]) -> list[Summarizes]:
        """The SUMMARIZES edges that leave these points and overviews, by (source, weight falling, target)."""
        ...

    def entities_of(self, segment_ids: Sequence[str]) -> dict[str, list[str]]:
        """For each of these segments that exists, the ids of the entities that it mentions, sorted, each once."""
        ...

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

    def nearest(self, vector: Vector, *, k: int, documents: Sequence[str] | None = None) -> list[Hit]:
        """The k segments of the largest cosine, or all where there are fewer; ties by id. Score: the cosine."""
        ...

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

    def written_documents(self, *, since: int = -1) -> list[DocumentRecord]:
        """All documents that a write later than version ``since`` stored, by key."""
        ...

    def version(self) -> int:
        """How many writes the namespace has seen; it grows with each, by whatever process. 0 before the first."""
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

    def similar(self, entity_ids: Sequence[str]) -> list[Similar]:
        """The SIMILAR_TO edges at these entities, by (source, target)."""
        ...

    def entity_counts(self, entity_id: str) -> Mapping[str, int]:
        """How many edges of each kind an entity has, but for SIMILAR_TO; empty where there is none."""
        ...

    def overview_ids(self) -> list[str]:
        """The ids of the overviews of all layers; the lowest level first, then by layer and key."""
        ...

    def questions(self, ids: Sequence[str] | None = None) -> list[Question]:
        """All kept questions, or those of these ids that exist; the newest first, ties by id."""
        ...


class GraphWriter(Protocol):
    """Writes one namespace of a graph. Each call is one transaction: all of it, or nothing."""

    def migrate(self, *, embedder: str, dimension: int) -> None:
        """Bring the schema up to date; on a new store, create it for this embedder. Repeatable.

        Raises:
            SchemaMismatch: the store was built with another embedder, or by a newer version of this library.
        """
        ...

    def write(self, graph: DocumentGraph) -> Receipt:
        """Store a document, in place of what was stored under its id; kept questions that rest on that are stale then.

        Of each the receipt counts, as of each write, how many it made stale (``Question.changes``).
        """
        ...

    def write_many(self, graphs: Sequence[DocumentGraph]) -> list[Receipt]:
        """Store documents as ``write`` does, all or none of them: one transaction, one step of the version.

        Some dozens at once cost a fraction of what they cost one by one. Each document may be among them once.
        """
        ...

    def revise(self, graph: DocumentGraph, *, before: str, kept: int = 0) -> Action:
        """Store a document in place of the content that has the hash ``before``; empty where there is to be none yet.

        As ``write`` does, but only where nobody else changed it meanwhile.

        Args:
            kept: how many first segments, with all that rests on them, are stored as they are: then only what follows
                is written, and the embeddings of the last kept ones. Its layers are those that are stored, and its rows
                beside segments are annotations of single segments. 0 writes all of it.

        Raises:
            DocumentChanged: another content is stored, or none.
            StoreError: with ``kept``, it has other rows.
        """
        ...

    def extend(self, graph: DocumentGraph, *, layers: Collection[str]) -> Receipt:
        """Store layers of a document that is there, each in place of itself, beside the others that it has.

        ``graph.segments`` are those stored already; their embeddings, where there are any, take the place of the stored
        ones. ``graph.document.layers`` names all layers that the document then has.

        Args:
            layers: those that were built; one of which the graph has no row was built and found nothing, or is taken
                away, where the document then does not have it. Kept questions are stale then for which a point was
                read that is replaced.

        Raises:
            DocumentNotFound: it was replaced or forgotten since its segments were read.
            StoreError: the graph has rows of other layers, or rests on other segments.
        """
        ...

    def describe(self, records: Sequence[DocumentRecord], *, before: Sequence[str]) -> list[str]:
        """Give documents these records' metadata and ``sha256``; nothing else of them changes.

        Args:
            before: for each the ``sha256`` that it is to have until then.

        Returns:
            The ids of those that were there with that content, sorted. Of the others nothing is changed.
        """
        ...

    def learn(self, graph: DocumentGraph) -> None:
        """Store mentions and relations beside all that a stored document has; what is there already stays as it is.

        ``graph`` is as for ``extend``, but may have some of the document's segments only; only its mentions, relations
        and their embeddings are taken, and the layers of the document stay what they were.

        Raises:
            DocumentNotFound: there is no document of that id with that content (``sha256``).
        """
        ...

    def forget(self, document_id: str) -> Receipt:
        """Remove a document and all that only it supports, and kept questions that rest on it.

        Raises:
            DocumentNotFound: there is none.
        """
        ...

    def write_overviews(self, rows: OverviewRows, *, as_of: int) -> list[str]:
        """Store overviews, and remove others with all that lies over them; one that is there stays as it is.

        Returns the ids of those of these overviews that are there then.

        Left out is what rests on a document that is not there any more or was written after version ``as_of``, and what
        lies over an overview that is not there. Each further write of one of its documents removes an overview.

        Raises:
            StoreError: an overview has another id than its layer and key make, says nothing, or rests on nothing; an
                edge leads from elsewhere, or the weights of an overview do not sum to 1.
        """
        ...

    def keep(self, question: Question) -> None:
        """Store a question with its answer and its walk, in place of what was kept of it.

        Raises:
            DocumentNotFound: something that was read or cited is not stored any more, or says something else.
            StoreError: it is stale.
        """
        ...

    def forget_question(self, question_id: str) -> None:
        """Remove a kept question.

        Raises:
            QuestionNotFound: there is none.
        """
        ...


class EchoLog(Protocol):
    """Remembers which sentences were answered, by their hashes."""

    def has_answers(self) -> bool:
        """Whether any is remembered."""
        ...

    def answered(self, answer_ids: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
        """Of these sentences those that were answered, with their origins."""
        ...

    def remember(self, answers: Sequence[Answered]) -> None:
        """Remember sentences; of one that is known the origins are joined. Beyond some thousands the oldest go.

        All go with the namespace's last document. No write that ``version`` counts.
        """
        ...


class FingerprintIndex(Protocol):
    """Finds documents by where they came from and by their whole text."""

    def fingerprints(self, ids: Sequence[str]) -> list[Fingerprint]:
        """The fingerprints of the documents of these ids that exist, by key."""
        ...

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
    EchoLog,
    FingerprintIndex,
    DocumentLists,
    MendedStore,
    ReembeddedStore,
    PurgedStore,
    Protocol,
):
    """A database that holds graphs, bound to one namespace. May be used from several threads."""

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
    def read_only(self) -> bool:
        """Whether nothing can be written by this store: every write is a ``StoreReadOnly``."""
        ...

    @property
    def schema(self) -> Mapping[str, Any]:
        """``version``, ``embedder`` and ``dimension`` as stored; empty before ``migrate``."""
        ...

    def close(self) -> None:
        """Let go of the database; a second call does nothing."""
        ...
