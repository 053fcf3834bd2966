"""What a store offers of writing: documents, layers and questions of one namespace of a graph."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Sequence
from typing import Protocol

from memgraph_rag.types import Action, DocumentGraph, DocumentRecord, OverviewRows, Question, Receipt

__all__ = ["GraphWriter"]


class GraphWriter(Protocol):
    """Writes one namespace of a graph. Each call is one transaction: all of it, or nothing."""

    @abstractmethod
    def migrate(self, *, embedder: str, dimension: int) -> None:
        """Bring the schema up to date; on a new store, create it for this embedder. Repeatable.

        Raises:
            SchemaMismatch: the store was built with another embedder, or by a newer version of this library.
        """
        ...

    def write(self, graph: DocumentGraph) -> Receipt:
        """Store a document, in place of what was stored under its id; kept questions that rest on that are stale then.

        Of each the receipt counts, as of each write, how many it made stale (``Question.changes``).

        Raises:
            DocumentError: another owner's document is stored under its id (``stores.shared.write_checks.check_owner``).
        """
        ...

    @abstractmethod
    def write_many(self, graphs: Sequence[DocumentGraph]) -> list[Receipt]:
        """Store documents as ``write`` does, all or none of them: one transaction, one step of the version.

        Some dozens at once cost a fraction of what they cost one by one. Each document may be among them once.
        """
        ...

    @abstractmethod
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

    @abstractmethod
    def extend_many(self, graphs: Sequence[DocumentGraph], *, layers: Collection[str]) -> list[Receipt]:
        """Store layers of documents as ``extend`` does, all or none of them: one transaction, one step of the version.

        Each document may be among them once.
        """
        ...

    @abstractmethod
    def describe(self, records: Sequence[DocumentRecord], *, before: Sequence[str]) -> list[str]:
        """Give documents these records' metadata and ``sha256``; nothing else of them changes.

        Args:
            before: for each the ``sha256`` that it is to have until then.

        Returns:
            The ids of those that were there with that content, sorted. Of the others nothing is changed.
        """
        ...

    @abstractmethod
    def learn(self, graph: DocumentGraph) -> None:
        """Store mentions and relations beside all that a stored document has; what is there already stays as it is.

        ``graph`` is as for ``extend``, but may have some of the document's segments only; only its mentions, relations
        and their embeddings are taken, and the layers of the document stay what they were.

        Raises:
            DocumentNotFound: there is no document of that id with that content (``sha256``).
        """
        ...

    @abstractmethod
    def forget(self, document_id: str) -> Receipt:
        """Remove a document and all that only it supports, and kept questions that rest on it.

        Raises:
            DocumentNotFound: there is none.
        """
        ...

    @abstractmethod
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

    @abstractmethod
    def keep(self, question: Question) -> None:
        """Store a question with its answer and its walk, in place of what was kept of it.

        Raises:
            DocumentNotFound: something that was read or cited is not stored any more, or says something else.
            StoreError: it is stale.
        """
        ...

    @abstractmethod
    def forget_question(self, question_id: str) -> None:
        """Remove a kept question.

        Raises:
            QuestionNotFound: there is none.
        """
        ...
