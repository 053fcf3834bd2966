"""Information points with their SUMMARIZES edges, the rows of the layers ``points`` and ``clusters``.

Invariant: a point summarises segments of its own document, and lower points of its own layer. Weights are between 0 and
1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field
from typing_extensions import NotRequired, TypedDict, override

from memgraph_rag.display import show
from memgraph_rag.errors import StoreError
from memgraph_rag.stores.layer_rows.archived import Finite, Ids, NodePlace, Number, Packed, Places, pack, unpack
from memgraph_rag.stores.layer_rows.kind import DocumentWrite, Embedded, RowKind, require
from memgraph_rag.stores.shared import rows
from memgraph_rag.stores.shared.graph_reads import Run
from memgraph_rag.types import DocumentGraph, InformationPoint, PointLayer, Summarizes

_ROUNDING = 1e-6  # tolerance of a weight

_LABELS: dict[PointLayer, str] = {"points": "InformationPoint", "clusters": "ClusterSummary"}
"""The name under which the points of each layer are counted, in the order in which they are stored and read."""

_ARCHIVED: dict[PointLayer, tuple[str, str, str]] = {
    "points": ("points", "point_embeddings", "summarizes"),
    "clusters": ("clusters", "cluster_embeddings", "cluster_edges"),
}

_Point = tuple[Annotated[Number, Field(ge=1)], Number, str, Number]
_Edge = tuple[NodePlace, NodePlace, Finite]


class ArchivedPoints(TypedDict):
    """Points as (level, index, text, tokens), edges as (source, target, weight); clusters only if there are any."""

    points: list[_Point]
    point_embeddings: Packed
    summarizes: list[_Edge]
    clusters: NotRequired[list[_Point]]
    cluster_embeddings: NotRequired[Packed]
    cluster_edges: NotRequired[list[_Edge]]


class PointRows(RowKind):
    """Checks, stores, reads and archives information points and their SUMMARIZES edges."""

    layer: ClassVar[str] = "points"
    further_layers: ClassVar[tuple[str, ...]] = ("clusters",)
    fields: ClassVar[tuple[str, ...]] = ("points", "summarizes")

    @override
    def list_layers(self, graph: DocumentGraph) -> set[str]:
        return {point.layer for point in graph.points}

    @override
    def check(self, graph: DocumentGraph, *, namespace: str) -> None:
        sources = {edge.source_id for edge in graph.summarizes}
        points, edges = graph.points, graph.summarizes
        require(
            graph,
            {
                "points of the layers that build points": all(point.layer in _LABELS for point in points),
                "one point at each place": rows.are_distinct(
                    (point.layer, point.level, point.index) for point in points
                ),
                "points that say something": all(point.text.strip() for point in points),
                "points that sum up a node": all(point.id in sources for point in points),
                "one SUMMARIZES edge between two nodes": rows.are_distinct(
                    (edge.source_id, edge.target_id) for edge in edges
                ),
                "weights from 0 to 1": all(0 <= edge.weight <= 1 + _ROUNDING for edge in edges),
            },
        )
        _check_edges(graph)

    @override
    def texts(self, graph: DocumentGraph) -> Iterable[str]:
        return [text for point in graph.points for text in (point.id, point.text)]

    @override
    def segment_ids(self, graph: DocumentGraph) -> Iterable[str]:
        return [edge.target_id for edge in graph.summarizes]

    @override
    def counts(self, graph: DocumentGraph) -> Mapping[str, int]:
        of_layers = Counter(point.layer for point in graph.points)
        labels = {label: of_layers[layer] for layer, label in _LABELS.items()}
        return {**labels, "SUMMARIZES": len(graph.summarizes)}

    @override
    def list_embedded(self, graph: DocumentGraph) -> Sequence[Embedded]:
        return [Embedded("points", graph.points, graph.point_embeddings)]

    @override
    def create(self, write: DocumentWrite, graphs: Sequence[DocumentGraph]) -> None:
        create = write.create
        points = {point.id for graph in graphs for point in graph.points}
        edges = [edge for graph in graphs for edge in graph.summarizes]
        to_segments = [edge for edge in edges if edge.target_id not in points]
        to_points = [edge for edge in edges if edge.target_id in points]
        create("write/create_points", rows.point_columns(graphs))
        create("write/link_points_to_segments", rows.link_columns(to_segments))
        create("write/link_points_to_points", rows.link_columns(to_points))

    @override
    def remove(self, write: DocumentWrite, document_ids: Sequence[str]) -> None:
        write.run("write/delete_points", document_ids=document_ids)

    @override
    def remove_layers(self, write: DocumentWrite, document_ids: Sequence[str], layers: Collection[str]) -> None:
        write.run("write/delete_layer_points", document_ids=document_ids, layers=sorted(layers))

    @override
    def read(self, run: Run, document_ids: Sequence[str]) -> dict[str, dict[str, Any]]:
        point_rows = run("read/list_points", document_ids=list(document_ids))
        owners = {row["id"]: row["document_id"] for row in point_rows}
        edge_rows = run("read/list_successors", node_ids=list(owners)) if owners else []
        edges = rows.group_by_document(
            ({**row, "document_id": owners[row["source_id"]]} for row in edge_rows), document_ids
        )
        return {
            document_id: {
                "point_embeddings": rows.decode_embeddings(stored),
                "points": tuple(_decode_rows(stored, document_id)),
                "summarizes": tuple(Summarizes(**row) for row in edges[document_id]),
            }
            for document_id, stored in rows.group_by_document(point_rows, document_ids).items()
        }

    @override
    def encode(self, graph: DocumentGraph, places: Places) -> dict[str, Any]:
        layers: list[PointLayer] = [
            layer for layer in _LABELS if layer == self.layer or layer in self.list_layers(graph)
        ]
        return {name: value for layer in layers for name, value in _encode_layer(graph, places, layer)}

    @override
    def decode(self, archived: Mapping[str, Any], ids: Ids) -> dict[str, Any]:
        layers = list(_list_archived_layers(archived))
        points = [point for layer in layers for point in _decode_points(archived, ids, layer)]
        edges = [edge for layer in layers for edge in _decode_edges(archived, ids, layer)]
        edges.sort(key=lambda edge: (edge.source_id, -edge.weight, edge.target_id))  # as the store reads them
        matrices = [unpack(archived[_ARCHIVED[layer][1]]) for layer in layers]
        filled = [matrix for matrix in matrices if len(matrix)]
        embeddings = np.concatenate(filled) if filled else matrices[0]
        return {"points": tuple(points), "point_embeddings": embeddings, "summarizes": tuple(edges)}


def _decode_rows(point_rows: Iterable[rows.Row], document_id: str) -> Iterator[InformationPoint]:
    for row in point_rows:
        without_embedding = {name: value for name, value in row.items() if name != "embedding"}
        yield InformationPoint(**without_embedding, document_id=document_id)


def _encode_layer(graph: DocumentGraph, places: Places, layer: PointLayer) -> Iterator[tuple[str, Any]]:
    """Yield the fields of an archived document that hold the points of one layer."""
    points, embeddings, edges = _ARCHIVED[layer]
    nodes = places.nodes
    of_layer = [place for place, point in enumerate(graph.points) if point.layer == layer]
    listed = [graph.points[place] for place in of_layer]
    ids = {point.id for point in listed}
    yield points, [[point.level, point.index, point.text, point.tokens] for point in listed]
    yield embeddings, pack(graph.point_embeddings[of_layer] if of_layer else np.zeros((0, 0), np.float32))
    yield (
        edges,
        [
            [nodes[edge.source_id], nodes[edge.target_id], edge.weight]
            for edge in graph.summarizes
            if edge.source_id in ids
        ],
    )


def _list_archived_layers(archived: Mapping[str, Any]) -> Iterator[PointLayer]:
    """Yield the layers that have points in an archived document.

    Raises:
        ValueError: some fields of a layer are missing, and others are not.
    """
    for layer, names in _ARCHIVED.items():
        missing = [name for name in names if name not in archived]
        if missing and len(missing) < len(names):
            raise ValueError(f"Expected {', '.join(names)} together, got none of {', '.join(missing)}.")
        if not missing:
            yield layer


def _decode_points(archived: Mapping[str, Any], ids: Ids, layer: PointLayer) -> Iterator[InformationPoint]:
    for level, index, text, tokens in archived[_ARCHIVED[layer][0]]:
        point_id = ids.node(level, index, layer=layer)
        yield InformationPoint(point_id, ids.document, level, index, text, tokens, layer)


def _decode_edges(archived: Mapping[str, Any], ids: Ids, layer: PointLayer) -> Iterator[Summarizes]:
    for source, target, weight in archived[_ARCHIVED[layer][2]]:
        yield Summarizes(ids.node(*source, layer=layer), ids.node(*target, layer=layer), weight)


def _check_edges(graph: DocumentGraph) -> None:
    """Refuse edges that leave the document, and edges that do not lead to a lower level, which could form a cycle."""
    points = {point.id: point for point in graph.points}
    levels = {node.id: node.level for node in (*graph.segments, *graph.points)}
    for edge in graph.summarizes:
        if edge.source_id not in points or edge.target_id not in levels:
            raise StoreError(
                f"Expected SUMMARIZES edges from points of document {show(graph.document.key)} to its nodes, got "
                f"{edge.source_id} -> {edge.target_id}. Give both ends with the document.",
                edge=edge,
            )
        if levels[edge.target_id] >= levels[edge.source_id]:
            raise StoreError(
                f"Expected SUMMARIZES edges from points of document {show(graph.document.key)} to nodes of a lower "
                f"level, got {edge.source_id} (level {levels[edge.source_id]}) -> {edge.target_id} (level "
                f"{levels[edge.target_id]}). Leave it out.",
                edge=edge,
            )
        target = points.get(edge.target_id)
        if target is not None and target.layer != points[edge.source_id].layer:
            raise StoreError(
                f"Expected SUMMARIZES edges of document {show(graph.document.key)} within one layer, got "
                f"{edge.source_id} ({points[edge.source_id].layer}) -> {edge.target_id} ({target.layer}). Leave it "
                "out.",
                edge=edge,
            )
