"""What a store offers of one namespace of a graph; ``graph_reads`` and ``graph_writes`` have the largest parts of it.

The abstract members are required of every store; ``stores.BaseStore`` has a default of each of the others.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from memgraph_rag.contracts.graph_reads import GraphReader, SearchedGraph
from memgraph_rag.contracts.graph_writes import GraphWriter
from memgraph_rag.types import (
    DocumentGraph,
    DocumentRecord,
    Entity,
    Fingerprint,
    Flaws,
    Mention,
    Question,
    Relation,
    Section,
    Segment,
    Similar,
    Title,
    Vector,
)

__all__ = ["FingerprintIndex", "GraphStore", "GraphView", "StoreUpkeep"]


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
        """The ids of all kept questions, each with the time when it was asked."""
        ...


class FingerprintIndex(Protocol):
    """Finds documents by where they came from and by their whole text."""

    def matching_fingerprints(
        self, *, sources: Sequence[str] = (), text_hashes: Sequence[str] = ()
    ) -> list[Fingerprint]:
        """Those of the documents that were read from one of these files, or have one of these texts; by key.

        What is empty matches nothing; of texts the first thousand documents.
        """
        ...


class StoreUpkeep(Protocol):
    """Mends, embeds anew, purges and replaces what a database holds."""

    def flaws(self) -> Flaws:
        """What is wrong, as of one moment; nothing, in a graph that only this library wrote."""
        ...

    def mend(self, vectors: Mapping[str, Vector]) -> Flaws:
        """Put right what can be put right, in one transaction (indexes before it); what was wrong.

        Args:
            vectors: embeddings of what had none, by id. What is not among them stays without.
        """
        ...

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

    def purge(self) -> None:
        """Rewrite the files so that nothing of what was forgotten or replaced, in any namespace, is left in them.

        Raises:
            StoreError: the files are not the store's own, as those of a server.
        """
        ...

    def empty_database(self) -> str:
        """Return the name of the database, which holds nothing.

        Raises:
            StoreError: the database holds nodes, or no import in bulk exists for it.
        """
        ...


class GraphStore(GraphView, SearchedGraph, GraphWriter, FingerprintIndex, StoreUpkeep, Protocol):
    """A database that holds graphs, bound to one namespace. May be used from several threads.

    A store must implement the abstract members. It inherits the others from ``stores.BaseStore``.
    """

    def named_documents(self, names: Sequence[str]) -> list[DocumentRecord | None]:
        """For each name the document with that id, or else that key; None where there is none."""
        ...

    def documents_after(self, key: str, *, k: int) -> list[DocumentRecord]:
        """The first k documents whose keys stand behind this one, by key, in the order of Unicode's numbers."""
        ...

    def counts_of(self, document_ids: Sequence[str]) -> Mapping[str, Mapping[str, int]]:
        """For each of these, nodes and edges by label and by relationship type; empty where there is none."""
        ...

    def segments_in(self, document_ids: Sequence[str]) -> Mapping[str, list[Segment]]:
        """For each of these documents its segments, by index; empty where there is none."""
        ...

    def sections_in(self, document_ids: Sequence[str]) -> Mapping[str, list[Section]]:
        """For each of these documents its outline, by index."""
        ...

    def mentions_in(self, document_ids: Sequence[str]) -> Mapping[str, list[Mention]]:
        """For each of these documents its mentions, by place."""
        ...

    @abstractmethod
    def graphs_of(self, document_ids: Sequence[str]) -> list[DocumentGraph]:
        """All that these documents contribute to the graph, ready to be written again, by some statements for all.

        In the order given; those that are not there are left out. ``stores.shared.document_reader`` reads in groups.

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
