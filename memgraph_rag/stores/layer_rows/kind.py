"""The contract of a kind of rows: everything that a store must know of the rows of a layer.

The module knows no engine and no layer. Invariant: code that stores, reads, checks, counts, archives or deletes a
document calls each kind in turn, and knows none of them itself.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from memgraph_rag.display import show
from memgraph_rag.errors import StoreError
from memgraph_rag.stores.layer_rows.archived import Ids, Places
from memgraph_rag.stores.shared import rows
from memgraph_rag.stores.shared.graph_reads import Run
from memgraph_rag.stores.shared.relation_writes import FindNear
from memgraph_rag.stores.shared.rows import Create
from memgraph_rag.types import DocumentGraph, Matrix


@dataclass(slots=True)
class DocumentWrite:
    """A running transaction: functions that run its statements, and work that its deletions leave for its end.

    Attributes:
        run, create, find_near: run a statement, store many rows, and find near-synonyms.
        found: the stored rows, by id, of the documents that the transaction names, as they were before its changes.
        removed_writings: the written forms of entities in the deleted mentions and titles.
        parted: ids of the entities that deleted relations joined.
        unnamed: ids of the entities without a mention or title; they are deleted last.
    """

    run: Run
    create: Create
    find_near: FindNear
    found: Mapping[str, rows.Row] = field(default_factory=dict)
    removed_writings: rows.Writings = field(default_factory=dict)
    parted: set[str] = field(default_factory=set)
    unnamed: list[str] = field(default_factory=list)

    def finish(self) -> None:
        """Delete the entities in ``unnamed``. Call it last: their SIMILAR_TO edges must be deleted before."""
        if self.unnamed:
            self.run("write/delete_entities", entity_ids=self.unnamed)


@dataclass(frozen=True, slots=True)
class Embedded:
    """Rows of one kind, ``what`` they are in a word, and their embeddings, (n, d) float32."""

    what: str
    rows: Sequence[object]
    embeddings: Matrix


class RowKind(ABC):
    """How a store treats one kind of rows: those of one or two layers, or the annotations of users' own layers.

    Attributes:
        layer: the name of the layer; empty for the layers without a kind of their own.
        further_layers: the names of other layers with rows of this kind.
        fields: the fields of ``DocumentGraph`` and ``LayerRows`` that hold the rows.
    """

    layer: ClassVar[str]
    further_layers: ClassVar[tuple[str, ...]] = ()
    fields: ClassVar[tuple[str, ...]]

    # ── in a graph ───────────────────────────────────────────────────────────────────────────────────────

    def list_layers(self, graph: DocumentGraph) -> set[str]:
        """Return the names of the layers that have rows of this kind in a graph."""
        return {self.layer} if any(getattr(graph, name) for name in self.fields) else set()

    @abstractmethod
    def check(self, graph: DocumentGraph, *, namespace: str) -> None:
        """Check the rows of this kind in a graph before they are stored.

        Raises:
            StoreError: a rule of this kind is broken.
        """

    @abstractmethod
    def texts(self, graph: DocumentGraph) -> Iterable[str]:
        """Return all texts and some ids of the rows, to check that a store can keep them."""

    @abstractmethod
    def segment_ids(self, graph: DocumentGraph) -> Iterable[str]:
        """Return the ids of the segments and points from which the rows were derived; an id may occur several times."""

    @abstractmethod
    def counts(self, graph: DocumentGraph) -> Mapping[str, int]:
        """Return the number of nodes and edges of this kind in a graph, by label and relationship type.

        A count may be 0. Entities are not counted.
        """

    def list_embedded(self, graph: DocumentGraph) -> Sequence[Embedded]:
        """Return the rows that have embeddings, with their embeddings; an empty list for a kind without embeddings."""
        del graph
        return ()

    # ── in a store ───────────────────────────────────────────────────────────────────────────────────────

    @abstractmethod
    def create(self, write: DocumentWrite, graphs: Sequence[DocumentGraph]) -> None:
        """Store the rows of this kind, for documents without such rows. Their segments are stored already.

        It also completes earlier deletions of the transaction (``removed_writings``, ``parted``), even without graphs.
        """

    @abstractmethod
    def remove(self, write: DocumentWrite, document_ids: Sequence[str]) -> None:
        """Delete all rows of these documents. The caller deletes the documents and their segments afterwards."""

    @abstractmethod
    def remove_layers(self, write: DocumentWrite, document_ids: Sequence[str], layers: Collection[str]) -> None:
        """Delete, in the transaction ``write``, the rows that these layers of this kind have for the documents."""

    @abstractmethod
    def read(self, run: Run, document_ids: Sequence[str]) -> dict[str, dict[str, Any]]:
        """Return the rows of each document as fields of its ``DocumentGraph``; empty fields for an unknown id.

        Each statement runs once for all documents.
        """

    # ── in an archive ────────────────────────────────────────────────────────────────────────────────────

    @abstractmethod
    def encode(self, graph: DocumentGraph, places: Places) -> dict[str, Any]:
        """Return the rows of a graph as fields of an archived document, with places instead of ids."""

    @abstractmethod
    def decode(self, archived: Mapping[str, Any], ids: Ids) -> dict[str, Any]:
        """Return fields of a ``DocumentGraph`` from the fields of an archived document.

        Raises:
            ValueError: the fields contradict each other.
        """


def require(graph: DocumentGraph, rules: Mapping[str, bool]) -> None:
    """Raise an error if a document breaks a rule. ``rules`` maps each rule, in words, to whether it is kept.

    Raises:
        StoreError: names the first broken rule.
    """
    broken = next((rule for rule, holds in rules.items() if not holds), None)
    if broken is not None:
        raise StoreError(
            f"Expected {broken} in document {show(graph.document.key)}, got others. Add the document itself again.",
            key=graph.document.key,
        )
