"""What a store must know of the rows of one layer, in one object.

It knows no engine and no layer. Invariant: whoever stores, reads, checks, counts, archives or forgets a document asks
each kind of rows in turn, and knows none of them.
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

__all__ = ["DocumentWrite", "Embedded", "RowKind", "require"]


@dataclass(slots=True)
class DocumentWrite:
    """A transaction that is under way: its statements, and what has to follow from what it removed.

    Attributes:
        removed_writings: how the removed mentions and titles wrote their entities.
        parted: ids of the entities that removed relations joined.
        unnamed: ids of the entities that nothing names any more; removed last.
    """

    run: Run
    create: Create
    find_near: FindNear
    removed_writings: rows.Writings = field(default_factory=dict)
    parted: set[str] = field(default_factory=set)
    unnamed: list[str] = field(default_factory=list)

    def finish(self) -> None:
        """Remove entities that nothing names any more, after their near-synonyms let go of them."""
        if self.unnamed:
            self.run("write/delete_entities", entity_ids=self.unnamed)


@dataclass(frozen=True, slots=True)
class Embedded:
    """Rows that have embeddings: what they are, the rows, and a matrix of a vector each, (n, d) float32."""

    what: str
    rows: Sequence[object]
    embeddings: Matrix


class RowKind(ABC):
    """The rows of one layer, or of all layers that have no kind of their own.

    Attributes:
        layer: the layer's name; empty for all others.
        further_layers: the names of other layers that give rows of this kind.
        fields: the fields of ``DocumentGraph`` and ``LayerRows`` that hold the rows.
    """

    layer: ClassVar[str]
    further_layers: ClassVar[tuple[str, ...]] = ()
    fields: ClassVar[tuple[str, ...]]

    # ── in a graph ───────────────────────────────────────────────────────────────────────────────────────

    def layers_in(self, graph: DocumentGraph) -> set[str]:
        """The names of the layers of which a graph has rows of this kind."""
        return {self.layer} if any(getattr(graph, name) for name in self.fields) else set()

    @abstractmethod
    def check(self, graph: DocumentGraph, *, namespace: str) -> None:
        """Refuse rows of which a store could keep a part only.

        Raises:
            StoreError: there are such.
        """

    @abstractmethod
    def texts(self, graph: DocumentGraph) -> Iterable[str]:
        """All texts of the rows."""

    @abstractmethod
    def segment_ids(self, graph: DocumentGraph) -> Iterable[str]:
        """The ids of what the rows rest on."""

    @abstractmethod
    def counts(self, graph: DocumentGraph) -> Mapping[str, int]:
        """How many there are, by label and relationship type, as the store counts them."""

    def embedded(self, graph: DocumentGraph) -> Sequence[Embedded]:
        """The rows that have embeddings."""
        del graph
        return ()

    # ── in a store ───────────────────────────────────────────────────────────────────────────────────────

    @abstractmethod
    def create(self, write: DocumentWrite, graphs: Sequence[DocumentGraph]) -> None:
        """Store the rows of this kind for documents that have none yet; their segments are stored already."""

    @abstractmethod
    def remove(self, write: DocumentWrite, document_ids: Sequence[str]) -> None:
        """Remove all rows of documents, which go as a whole with their segments."""

    @abstractmethod
    def remove_layers(self, write: DocumentWrite, document_ids: Sequence[str], layers: Collection[str]) -> None:
        """Remove the rows of these layers of documents that stay."""

    @abstractmethod
    def read(self, run: Run, document_ids: Sequence[str]) -> dict[str, dict[str, Any]]:
        """The rows of each of these documents as fields of its ``DocumentGraph``; each statement runs once for all."""

    # ── in an archive ────────────────────────────────────────────────────────────────────────────────────

    @abstractmethod
    def encode(self, graph: DocumentGraph, places: Places) -> dict[str, Any]:
        """The rows without an id, as fields of an archived document."""

    @abstractmethod
    def decode(self, archived: Mapping[str, Any], ids: Ids) -> dict[str, Any]:
        """Fields of a ``DocumentGraph`` from those of an archived document.

        Raises:
            ValueError: they do not fit each other.
        """


def require(graph: DocumentGraph, rules: Mapping[str, bool]) -> None:
    """Refuse a document of which one of these rules does not hold.

    Raises:
        StoreError: it says which.
    """
    broken = next((rule for rule, holds in rules.items() if not holds), None)
    if broken is not None:
        raise StoreError(
            f"Expected {broken} in document {show(graph.document.key)}, got others. Add the document itself again.",
            key=graph.document.key,
        )
