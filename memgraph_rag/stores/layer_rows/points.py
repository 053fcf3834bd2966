"""Rows of the layer ``points``: information points with their SUMMARIZES edges.

Invariant: a point stands on nodes below it in its own document, and its weights are between 0 and 1.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Annotated, Any, ClassVar

from pydantic import Field
from typing_extensions import TypedDict, override

from memgraph_rag.errors import StoreError
from memgraph_rag.stores import rows
from memgraph_rag.stores.graph_reads import Run
from memgraph_rag.stores.layer_rows.archived import Finite, Ids, NodePlace, Number, Packed, Places, packed, unpacked
from memgraph_rag.stores.layer_rows.kind import DocumentWrite, Embedded, RowKind, require
from memgraph_rag.types import DocumentGraph, InformationPoint, Summarizes

__all__ = ["ArchivedPoints", "PointRows"]

_ROUNDING = 1e-6  # of a weight


class ArchivedPoints(TypedDict):
    """Points as (level, index, text, tokens), edges as (source, target, weight)."""

    points: list[tuple[Annotated[Number, Field(ge=1)], Number, str, Number]]
    point_embeddings: Packed
    summarizes: list[tuple[NodePlace, NodePlace, Finite]]


class PointRows(RowKind):
    """See ``RowKind``."""

    layer: ClassVar[str] = "points"
    fields: ClassVar[tuple[str, ...]] = ("points", "summarizes")

    @override
    def check(self, graph: DocumentGraph, *, namespace: str) -> None:
        sources = {edge.source_id for edge in graph.summarizes}
        points, edges = graph.points, graph.summarizes
        require(
            graph,
            {
                "one point at each place": rows.are_distinct((point.level, point.index) for point in points),
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
        return {"InformationPoint": len(graph.points), "SUMMARIZES": len(graph.summarizes)}

    @override
    def embedded(self, graph: DocumentGraph) -> Sequence[Embedded]:
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
    def remove(self, write: DocumentWrite, document_id: str) -> None:
        write.run("write/delete_points", document_id=document_id)

    @override
    def remove_layers(self, write: DocumentWrite, graph: DocumentGraph, layers: Collection[str]) -> None:
        self.remove(write, graph.document.id)

    @override
    def read(self, run: Run, document_id: str) -> dict[str, Any]:
        point_rows = run("read/list_points", document_id=document_id)
        point_ids = [row["id"] for row in point_rows]
        edge_rows = run("read/list_successors", node_ids=point_ids) if point_ids else []
        without_embeddings = [{name: value for name, value in row.items() if name != "embedding"} for row in point_rows]
        return {
            "points": tuple(map(rows.decode_point, without_embeddings)),
            "point_embeddings": rows.decode_embeddings(point_rows),
            "summarizes": tuple(map(rows.decode_summarizes, edge_rows)),
        }

    @override
    def encode(self, graph: DocumentGraph, places: Places) -> dict[str, Any]:
        nodes = places.nodes
        return {
            "points": [[point.level, point.index, point.text, point.tokens] for point in graph.points],
            "point_embeddings": packed(graph.point_embeddings),
            "summarizes": [[nodes[edge.source_id], nodes[edge.target_id], edge.weight] for edge in graph.summarizes],
        }

    @override
    def decode(self, archived: Mapping[str, Any], ids: Ids) -> dict[str, Any]:
        return {
            "points": tuple(
                InformationPoint(ids.node(level, index), ids.document, level, index, text, tokens)
                for level, index, text, tokens in archived["points"]
            ),
            "point_embeddings": unpacked(archived["point_embeddings"]),
            "summarizes": tuple(
                Summarizes(ids.node(*source), ids.node(*target), weight)
                for source, target, weight in archived["summarizes"]
            ),
        }


def _check_edges(graph: DocumentGraph) -> None:
    """Refuse edges out of the document, and edges that do not lead down: who follows those comes to no end."""
    points = {point.id for point in graph.points}
    levels = {node.id: node.level for node in (*graph.segments, *graph.points)}
    for edge in graph.summarizes:
        if edge.source_id not in points or edge.target_id not in levels:
            raise StoreError(
                f"Expected SUMMARIZES edges from points of document {graph.document.key!r} to its nodes, got "
                f"{edge.source_id} -> {edge.target_id}. Give both ends with the document.",
                edge=edge,
            )
        if levels[edge.target_id] >= levels[edge.source_id]:
            raise StoreError(
                f"Expected SUMMARIZES edges from points of document {graph.document.key!r} to nodes of a lower level, "
                f"got {edge.source_id} (level {levels[edge.source_id]}) -> {edge.target_id} (level "
                f"{levels[edge.target_id]}). Leave it out.",
                edge=edge,
            )
