"""Annotations: the rows of users' own layers, each about some segments of a document or the whole document.

Invariant: an annotation belongs to a layer without a kind of its own, and to a stored document.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, ClassVar

from typing_extensions import NotRequired, TypedDict, override

from memgraph_rag.stores.layer_rows.archived import Ids, Number, Places, Scalar
from memgraph_rag.stores.layer_rows.kind import DocumentWrite, RowKind, require
from memgraph_rag.stores.shared import rows
from memgraph_rag.stores.shared.graph_reads import Run, read_annotations
from memgraph_rag.types import Annotation, DocumentGraph, annotation_id


class ArchivedAnnotations(TypedDict):
    """Annotations as (layer, index, kind, text, properties, indexes of segments); absent if there are none."""

    annotations: NotRequired[list[tuple[str, Number, str, str, dict[str, Scalar], list[Number]]]]


class AnnotationRows(RowKind):
    """Checks, stores, reads and archives annotations."""

    layer: ClassVar[str] = ""
    fields: ClassVar[tuple[str, ...]] = ("annotations",)

    @override
    def list_layers(self, graph: DocumentGraph) -> set[str]:
        return {annotation.layer for annotation in graph.annotations}

    @override
    def check(self, graph: DocumentGraph, *, namespace: str) -> None:
        annotations, document_id = graph.annotations, graph.document.id
        segments = {segment.id for segment in graph.segments}
        require(
            graph,
            {
                "annotations that say something": all(item.text.strip() for item in annotations),
                "annotations of layers that the document has": {item.layer for item in annotations}
                <= set(graph.document.layers),
                "annotations with the document's own id": all(item.document_id == document_id for item in annotations),
                "one annotation of a layer at each place": rows.are_distinct(
                    (item.layer, item.index) for item in annotations
                ),
                "ids of annotations that are made of their places": all(
                    item.id == annotation_id(namespace, document_id, item.layer, item.index) for item in annotations
                ),
                "annotations of segments of the document": segments.issuperset(self.segment_ids(graph)),
                "each segment of an annotation once": all(rows.are_distinct(item.segment_ids) for item in annotations),
            },
        )

    @override
    def texts(self, graph: DocumentGraph) -> Iterable[str]:
        return [
            text
            for item in graph.annotations
            for text in (item.id, item.layer, item.kind, item.text, rows.encode_scalars(item.properties))
        ]

    @override
    def segment_ids(self, graph: DocumentGraph) -> Iterable[str]:
        return [segment_id for item in graph.annotations for segment_id in item.segment_ids]

    @override
    def counts(self, graph: DocumentGraph) -> Mapping[str, int]:
        return {
            "Annotation": len(graph.annotations),
            "ANNOTATES": sum(len(item.segment_ids) for item in graph.annotations),
        }

    @override
    def create(self, write: DocumentWrite, graphs: Sequence[DocumentGraph]) -> None:
        annotations = [item for graph in graphs for item in graph.annotations]
        write.create("write/create_annotations", _columns(annotations))
        edges = [(item.id, segment_id) for item in annotations for segment_id in item.segment_ids]
        write.create("write/link_annotations", rows.edge_columns(edges))

    @override
    def remove(self, write: DocumentWrite, document_ids: Sequence[str]) -> None:
        write.run("write/delete_annotations", document_ids=document_ids)

    @override
    def remove_layers(self, write: DocumentWrite, document_ids: Sequence[str], layers: Collection[str]) -> None:
        write.run("write/delete_layer_annotations", document_ids=document_ids, layers=sorted(layers))

    @override
    def read(self, run: Run, document_ids: Sequence[str]) -> dict[str, dict[str, Any]]:
        stored = read_annotations(run, document_ids)
        return {document_id: {"annotations": tuple(annotations)} for document_id, annotations in stored.items()}

    @override
    def encode(self, graph: DocumentGraph, places: Places) -> dict[str, Any]:
        if not graph.annotations:  # a version without annotations can then read the archive
            return {}
        encoded = [
            [
                *(item.layer, item.index, item.kind, item.text, dict(item.properties)),
                [places.segments[segment_id] for segment_id in item.segment_ids],
            ]
            for item in graph.annotations
        ]
        return {"annotations": encoded}

    @override
    def decode(self, archived: Mapping[str, Any], ids: Ids) -> dict[str, Any]:
        return {
            "annotations": tuple(
                Annotation(
                    text,
                    tuple(ids.node(0, segment) for segment in segments),
                    kind,
                    properties,
                    annotation_id(ids.namespace, ids.document, layer, index),
                    ids.document,
                    layer,
                    index,
                )
                for layer, index, kind, text, properties, segments in archived.get("annotations", ())
            )
        }


def _columns(annotations: Sequence[Annotation]) -> rows.Columns:
    return rows.field_columns(annotations, "id", "document_id", "layer", "index", "kind", "text") | {
        "name": [rows.caption(item.text) for item in annotations],
        "properties": [rows.encode_scalars(item.properties) for item in annotations],
        "segments": [len(item.segment_ids) for item in annotations],
    }
