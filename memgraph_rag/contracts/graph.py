"""The contract of a graph store, bound to one namespace; ``graph_reads`` and ``graph_writes`` hold its largest parts.

Every store must implement the abstract members. ``stores.BaseStore`` has a default for each other member.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from memgraph_rag.contracts.graph_reads import GraphReader, SearchedGraph
from memgraph_rag.contracts.graph_writes import GraphWriter
from memgraph_rag.types import (
    CosineScale,
    DocumentGraph,
    DocumentRecord,
    Entity,
    Fingerprint,
    Flaws,
    Mention,
    Naming,
    Question,
    Relation,
    Section,
    Segment,
    Similar,
    Title,
    Vector,
)


class GraphView(GraphReader, Protocol):
    """The reads by which a person looks at a graph, in addition to the reads of strategies."""

    def document(self, id_or_key: str) -> DocumentRecord | None:
        """Return the document with this id, else the document with this key; None when neither exists."""
        ...

    def find_names(self, part: str, *, k: int) -> list[Entity]:
        """Return the k entities with the shortest normalised names that contain ``part``; ties by code point.

        ``part`` is compared as it is: normalise it first. It may match within a word.
        """
        ...

    def mentions(self, document_id: str) -> list[Mention]:
        """Return all mentions of entities in a document, in the order of the text; an empty list for an unknown id.

        Mentions that the layer ``relations`` found are included.
        """
        ...

    def titles(self, document_id: str) -> list[Title]:
        """Return the entities that the title of a document names, by entity id; an empty list for an unknown id."""
        ...

    def list_entity_mentions(self, entity_id: str, *, k: int) -> list[Mention]:
        """Return the first k mentions of an entity, by document id, then in the order of the text."""
        ...

    def list_titled_documents(self, entity_id: str, *, k: int) -> list[tuple[str, str]]:
        """Return (document id, surface) of the first k documents whose title names an entity, by document key."""
        ...

    def list_relations(self, document_id: str) -> list[Relation]:
        """Return all relations that a document states, by id; an empty list for an unknown id."""
        ...

    def list_entity_relations(self, entity_id: str, *, k: int) -> list[Relation]:
        """Return the first k relations that begin or end at an entity, by id.

        Relations of its near-synonyms are not included.
        """
        ...

    @abstractmethod
    def list_similar(self, entity_ids: Sequence[str]) -> list[Similar]:
        """Return the SIMILAR_TO edges (near-synonyms) of these entities, each once, sorted by (source, target).

        An entity without a relation has no such edge.
        """
        ...

    def entity_counts(self, entity_id: str) -> Mapping[str, int]:
        """Return the number of MENTIONS, TITLED and RELATES_TO edges of an entity, by type.

        A type without edges has no key, so an unknown id gives an empty mapping.
        """
        ...

    def document_keys(self, head: str = "") -> dict[str, str]:
        """Return the key of each document of the namespace, by document id, in the order of ids.

        Args:
            head: the beginning of the keys to return.
        """
        ...

    def namings(self) -> list[Naming]:
        """Return how often each document names each entity, in its text and title: a ``Naming`` for each such pair."""
        ...

    @abstractmethod
    def overview_ids(self) -> list[str]:
        """Return the ids of the overviews of all layers: the lowest level first, then by layer and key."""
        ...

    @abstractmethod
    def questions(self, ids: Sequence[str] | None = None) -> list[Question]:
        """Return all kept questions, or the existing ones among these ids; the newest first, ties by id.

        A damaged question is left out: it lacks a node that was read, and no change records this.

        Raises:
            StoreError: the stored form of a question is damaged.
        """
        ...

    def question_times(self) -> Mapping[str, str]:
        """Return the time at which each kept question was asked (ISO 8601 in UTC), by question id; stale ones too."""
        ...

    def find_fingerprints(
        self, *, sources: Sequence[str] = (), text_hashes: Sequence[str] = (), document_ids: Sequence[str] = ()
    ) -> list[Fingerprint]:
        """Return the documents that were read from one of these files, or have one of these text hashes or ids.

        Each document is returned once, sorted by key. An empty string matches no document. If very many documents have
        these text hashes, a store may return only some of them.
        """
        ...


class StoreUpkeep(Protocol):
    """Repairs a database, replaces its embeddings, and rewrites its files without text that was forgotten."""

    def flaws(self) -> Flaws:
        """Look for damage to the graph; return all flaws, which are empty for a graph that only this library wrote.

        They are also empty if the store cannot examine its database.

        Raises:
            StoreError: the store is read-only, and other processes write during each try.
        """
        ...

    def mend(self, vectors: Mapping[str, Vector]) -> Flaws:
        """Repair the graph as far as possible, in one transaction; return the flaws that it had before.

        Rows without an owner are deleted, and damaged layers are removed. Documents with missing segments stay as they
        are. Without flaws, nothing is written.

        Args:
            vectors: embeddings of the nodes that lack one, by id. Other nodes stay without embedding.
        """
        ...

    def namespaces(self) -> list[str]:
        """Return all namespaces of the store, sorted. They share one embedder, so ``reembed`` changes all of them.

        A namespace is listed from its first write on, also when all its documents are forgotten. A store that cannot
        replace its embeddings may return its own namespace only.
        """
        ...

    def bind_namespace(self, namespace: str) -> GraphStore:
        """Return a store like this one, bound to another namespace, which may be new.

        The two share the connection or the file. Close only this store: that ends the other one too.

        Raises:
            StoreError: the store holds a single namespace.
        """
        ...

    def reembed(self, *, embedder: str, dimension: int, again: Callable[[DocumentGraph], DocumentGraph]) -> None:
        """Replace all embeddings of all namespaces at one moment; until then, every reader sees the old ones.

        Afterwards each store that is open with the old embedder, this store included, raises ``SchemaMismatch``. Open
        or migrate it again with the new embedder.

        Args:
            again: returns a document with its new embeddings. It is called at least once for each document.

        Raises:
            StoreError: a document is damaged, or other writers add documents faster than they can be read.
        """
        ...

    def purge(self) -> None:
        """Rewrite the files of the store, so that no forgotten or replaced text of any namespace remains in them.

        A graph in memory has no files: nothing happens.

        Raises:
            StoreError: the store does not own its files, as with a server.
            StoreReadOnly: the store is open for reading only.
        """
        ...

    def empty_database(self) -> str:
        """Check that the database is empty, as a bulk import needs it, and return the name of the database.

        Raises:
            StoreError: the database holds nodes, or the store has no bulk import.
        """
        ...


class GraphStore(GraphView, SearchedGraph, GraphWriter, StoreUpkeep, Protocol):
    """A graph database, bound to one namespace. Several threads may use it at the same time.

    A store must implement the abstract members. It inherits the others from ``stores.BaseStore``.

    Attributes:
        name_scale: returns the scale on which cosines of names are read, when near-synonyms are looked for.
    """

    name_scale: Callable[[], CosineScale]

    def find_documents(self, names: Sequence[str]) -> list[DocumentRecord | None]:
        """Return, for each name, in order, the document with that id, else with that key; None when neither exists."""
        ...

    def list_documents_after(self, key: str, *, k: int, part: str = "") -> list[DocumentRecord]:
        """Return the first k documents whose keys sort after ``key``, by key in code point order.

        An empty ``key`` begins at the first document. A document with this key need not exist. Only documents whose key
        or title contains ``part``, in upper or lower case, are returned.
        """
        ...

    def count_by_document(self, document_ids: Sequence[str]) -> Mapping[str, Mapping[str, int]]:
        """Return, for each document id, the number of its nodes by label and of its edges by type.

        A count of 0 is left out; an unknown id has an empty mapping. Points of the layer ``clusters`` are counted as
        ``ClusterSummary``. Entities, SIMILAR_TO edges, overviews and kept questions belong to no single document, so
        they are not counted.
        """
        ...

    def list_segments_by_document(self, document_ids: Sequence[str]) -> Mapping[str, list[Segment]]:
        """Return the segments of each of these documents, echoes too, by index; an empty list for an unknown id."""
        ...

    def list_sections_by_document(self, document_ids: Sequence[str]) -> Mapping[str, list[Section]]:
        """Return the sections (the outline) of each document, by document id; an empty list if it has no outline."""
        ...

    def list_mentions_by_document(self, document_ids: Sequence[str]) -> Mapping[str, list[Mention]]:
        """Return the mentions of each of these documents, in the order of the text; an empty list for an unknown id."""
        ...

    @abstractmethod
    def read_graphs(self, document_ids: Sequence[str]) -> list[DocumentGraph]:
        """Return everything that these documents contribute to the graph, ready to be written again.

        The order is that of ``document_ids``; unknown ids are left out. Many documents share each statement;
        ``stores.shared.document_reader`` reads them in groups.

        Raises:
            StoreError: the stored rows of a document are damaged.
        """
        ...

    def recognizer(self) -> str:
        """Return the name of the recognizer that found the entities of this namespace; empty if there is none.

        If documents record different recognizers, it is any of them.
        """
        ...

    @property
    @abstractmethod
    def read_only(self) -> bool:
        """Whether the store was opened for reading only: every write then raises ``StoreReadOnly``."""
        ...

    @property
    @abstractmethod
    def schema(self) -> Mapping[str, Any]:
        """The stored ``version``, ``embedder`` and ``dimension``; empty before ``migrate``."""
        ...

    @abstractmethod
    def close(self) -> None:
        """Close the connection or the file. A second call does nothing."""
        ...
