"""The rows of layers, a module for each kind of row: how rows are checked, stored, read, archived and forgotten.

Open ``kind.py`` first: the members of a kind. A layer that is not named here has annotations. Invariants: each row of
a document's graph is of one kind; kinds are in the order in which their rows are stored, and are removed in the
opposite order.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from memgraph_rag.stores.layer_rows.annotations import AnnotationRows, ArchivedAnnotations
from memgraph_rag.stores.layer_rows.kind import DocumentWrite, RowKind
from memgraph_rag.stores.layer_rows.names import ArchivedNames, NameRows
from memgraph_rag.stores.layer_rows.points import ArchivedPoints, PointRows
from memgraph_rag.stores.layer_rows.relations import ArchivedRelations, RelationRows
from memgraph_rag.stores.layer_rows.sections import ArchivedSections, SectionRows
from memgraph_rag.types import DocumentGraph, LayerRows

__all__ = [
    "ANNOTATIONS",
    "KINDS",
    "NAMES",
    "POINTS",
    "RELATIONS",
    "SECTIONS",
    "ArchivedRows",
    "DocumentWrite",
    "RowKind",
    "group_kinds",
    "list_layers",
    "list_misplaced_fields",
]

POINTS, NAMES, RELATIONS, ANNOTATIONS = PointRows(), NameRows(), RelationRows(), AnnotationRows()

SECTIONS = SectionRows()

KINDS: tuple[RowKind, ...] = (POINTS, NAMES, RELATIONS, SECTIONS, ANNOTATIONS)


class ArchivedRows(ArchivedPoints, ArchivedNames, ArchivedRelations, ArchivedSections, ArchivedAnnotations):
    """The fields of an archived document that hold the rows of its layers."""


def find_kind(layer: str) -> RowKind:
    """Return the kind of the rows that a layer stores; the kind of annotations for a user's own layer."""
    return next((kind for kind in KINDS if layer in (kind.layer, *kind.further_layers)), ANNOTATIONS)


def group_kinds(layers: Iterable[str]) -> dict[RowKind, Collection[str]]:
    """Group layers by the kind of their rows: return the layers' names of each kind, in the order of ``KINDS``."""
    names = list(layers)
    return {kind: of_kind for kind in KINDS if (of_kind := [name for name in names if find_kind(name) is kind])}


def list_layers(graph: DocumentGraph) -> set[str]:
    """Return the names of the layers that have rows in a graph."""
    return set().union(*(kind.list_layers(graph) for kind in KINDS))


def list_misplaced_fields(layer: str, rows: LayerRows) -> list[str]:
    """Return the names of non-empty fields in the rows that a layer built, but may not build.

    The layer ``relations`` may return the mentions that its relations need.
    """
    allowed = {*find_kind(layer).fields, *(["mentions"] if layer == RELATIONS.layer else [])}
    return [name for kind in KINDS for name in kind.fields if name not in allowed and getattr(rows, name)]
