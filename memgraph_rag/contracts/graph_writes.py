"""How a store writes documents, layers and questions into one namespace of a graph."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Sequence
from typing import Protocol

from memgraph_rag.types import Action, DocumentGraph, DocumentRecord, OverviewRows, Question, Receipt


class GraphWriter(Protocol):
    """Writes to one namespace of a graph. Each call is one transaction: it stores everything or nothing."""

    @abstractmethod
    def migrate(self, *, embedder: str, dimension: int) -> None:
        """Create the schema of a new store for this embedder, or update the schema of an older one. Repeatable.

        Raises:
            SchemaMismatch: the store was built with another embedder, or by a newer version of this library.
            StoreReadOnly: the store is open for reading only, and its schema is older or missing.
        """
        ...

    def write(self, graph: DocumentGraph) -> Receipt:
        """Store a document, in place of one with the same id; mark kept questions that rest on the old one as stale.

        Overviews that rest on the stored document are deleted. The receipt counts the questions that the write made
        stale (``Question.changes``).

        Raises:
            DocumentError: the stored document of this id has another owner
                (``stores.shared.write_checks.check_owner``).
        """
        ...

    @abstractmethod
    def write_many(self, graphs: Sequence[DocumentGraph]) -> list[Receipt]:
        """Store documents as ``write`` does: all or none, in one transaction, as one step of the version.

        Returns one receipt for each document, in order. Without documents, nothing is written. Some dozens of documents
        in one call cost a fraction of single calls.

        Raises:
            StoreError: a document is given twice, or a graph could be stored only in part.
            DocumentError: as ``write`` raises it; or a text cannot be stored.
        """
        ...

    @abstractmethod
    def revise(self, graph: DocumentGraph, *, before: str, kept: int = 0) -> Action:
        """Store a document as ``write`` does, but only if its stored content still has the hash ``before``.

        Returns ``ADDED`` or ``REPLACED``. With ``kept``, kept questions become stale only if an overview that they read
        is deleted.

        Args:
            before: the ``sha256`` of the stored content; empty if the document must not exist yet.
            kept: how many segments at the beginning of the document stay as stored, with all that rests on them. Only
                the segments after them are written, and new embeddings for the last kept segments. The layers must be
                those that are stored, and rows other than segments must be annotations of single segments. 0 writes the
                whole document.

        Raises:
            DocumentChanged: the document has other content, does not exist, or exists although ``before`` is empty; or,
                with ``kept``, it has other layers.
            StoreError: ``kept`` is given, and the graph has no further segment, or has rows of another kind.
        """
        ...

    def extend(self, graph: DocumentGraph, *, layers: Collection[str]) -> Receipt:
        """Store layers of an existing document; each replaces its earlier version, and other layers stay.

        Overviews that rest on the document are deleted. A stored relation is deleted too if its segment does not
        mention both entities any more.

        ``graph.segments`` are the stored segments. If ``graph`` holds embeddings of segments, they replace the stored
        ones. Of ``layers``, the document has those afterwards that ``graph.document.layers`` names.

        Args:
            layers: names of the layers to store. A layer without rows in ``graph`` counts as built without result, or
                is removed if ``graph.document.layers`` does not name it. Kept questions for which a replaced point was
                read become stale.

        Raises:
            DocumentNotFound: the document was replaced or forgotten after its segments were read.
            StoreError: the graph has rows of other layers, or other segments.
        """
        ...

    @abstractmethod
    def extend_many(self, graphs: Sequence[DocumentGraph], *, layers: Collection[str]) -> list[Receipt]:
        """Store layers of documents as ``extend`` does: all or none, in one transaction, as one step of the version.

        Returns one receipt for each document, in order. Without documents, nothing is written. A document that is given
        twice raises ``StoreError``.
        """
        ...

    @abstractmethod
    def describe(self, records: Sequence[DocumentRecord], *, before: Sequence[str]) -> list[str]:
        """Replace the metadata and the ``sha256`` of documents; nothing else changes.

        Args:
            before: the ``sha256`` that each document must still have, in the order of ``records``. A document with
                another hash, or that does not exist, is left as it is; no error is raised.

        Returns:
            The ids of the documents that were changed, sorted.
        """
        ...

    @abstractmethod
    def learn(self, graph: DocumentGraph) -> None:
        """Add mentions and relations to a stored document. Existing ones stay.

        ``graph`` is as for ``extend``, but may hold only some of the document's segments. Only its mentions, its
        relations and their embeddings are stored; the layers of the document do not change.

        Raises:
            DocumentNotFound: no document has this id and this content (``sha256``).
            StoreError: a segment is not stored, or does not mention both entities of its relation.
        """
        ...

    @abstractmethod
    def forget(self, document_id: str) -> Receipt:
        """Delete a document, everything that only it supports, and the kept questions that rest on it.

        Overviews that rest on it are deleted too, even if they also rest on other documents. The receipt holds the
        counts from before.

        Raises:
            DocumentNotFound: no document has this id.
        """
        ...

    @abstractmethod
    def write_overviews(self, rows: OverviewRows, *, as_of: int) -> list[str]:
        """Store overviews, and delete ``rows.removed`` with all overviews above them. Existing overviews stay.

        A given overview whose id is stored already is not written again. An overview is left out if it rests on a
        document that was forgotten or written after version ``as_of``, or if a node below it or one of its entities
        does not exist. Each later write of one of its documents or their layers deletes an overview.

        Returns:
            The ids of the given overviews that exist afterwards, sorted.

        Raises:
            StoreError: the id of an overview does not follow from its layer and key, its text is empty, it rests on
                nothing, an edge starts at another node, or the weights of an overview do not sum to 1.
        """
        ...

    @abstractmethod
    def keep(self, question: Question) -> None:
        """Store a question with its answer and its trace, in place of the earlier version of the question.

        Raises:
            DocumentNotFound: a node that was read or cited is not stored any more, or has another text.
            StoreError: the question is stale, its id does not follow from namespace and text, or a text cannot be
                stored.
        """
        ...

    @abstractmethod
    def forget_question(self, question_id: str) -> None:
        """Delete a kept question.

        Raises:
            QuestionNotFound: no question has this id.
        """
        ...
