"""The writes that both engines do alike, over two functions: run a named statement, store columns by one.

It knows no engine and begins no transaction: its caller does, and commits when these return. The invariant: after
a write the graph holds exactly what was given under that document's id; after a removal, nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from memgraph_rag.errors import DocumentError, DocumentNotFound, StoreError
from memgraph_rag.stores import rows
from memgraph_rag.stores.reading import Run, counts
from memgraph_rag.types import Action, DocumentGraph

__all__ = ["Create", "check", "gone", "remove", "replace"]


class Create(Protocol):
    """Stores columns, all their rows at once, by the statement of that name."""

    def __call__(self, name: str, columns: rows.Columns, /, **parameters: Any) -> None:
        """Store them; no columns' rows are none stored."""
        ...


def check(graph: DocumentGraph, dimension: int) -> None:
    """Refuse a graph that could only be stored in part.

    Raises:
        StoreError: an edge leads to a node outside the graph, or embeddings have another shape than the nodes, or no
            direction.
        DocumentError: a text holds half a surrogate pair, which no database can store.
    """
    _check_text(graph)
    points = {point.id for point in graph.points}
    known = points | {segment.id for segment in graph.segments}
    for edge in graph.summarizes:
        if edge.source_id not in points or edge.target_id not in known:
            raise StoreError(
                f"expected SUMMARIZES edges from points of document {graph.document.key!r} to its nodes; came "
                f"{edge.source_id} -> {edge.target_id}. Give both ends with the document.",
                edge=edge,
            )
    for nodes, matrix in ((graph.segments, graph.segment_embeddings), (graph.points, graph.point_embeddings)):
        if nodes and matrix.shape != (len(nodes), dimension):
            raise StoreError(
                f"expected embeddings of shape {(len(nodes), dimension)} for document {graph.document.key!r}; came "
                f"{matrix.shape}. Embed every node with the embedder that the store was built with.",
                shape=matrix.shape,
            )
        if nodes and not (np.isfinite(matrix).all() and matrix.any(axis=1).all()):
            raise StoreError(
                f"expected embeddings of finite numbers, not all 0, for document {graph.document.key!r}; came one "
                "that is not. No search could find its node: give it an embedding.",
                key=graph.document.key,
            )


def _check_text(graph: DocumentGraph) -> None:
    record = graph.document
    texts = [record.id, record.key, record.title, record.source, record.model, *record.layers]
    texts += [json.dumps(dict(record.metadata), ensure_ascii=False)]
    texts += [text for node in (*graph.segments, *graph.points) for text in (node.id, node.text)]
    for text in texts:
        try:
            text.encode()
        except UnicodeEncodeError as exc:
            raise DocumentError(
                f"expected text in document {record.key!r}; came half a surrogate pair, {text[exc.start]!r}, at "
                f"character {exc.start}. Decode the source with errors='replace'.",
                key=record.key,
            ) from exc


def replace(run: Run, create: Create, graph: DocumentGraph) -> Action:
    """Store a document in place of what was stored under its id."""
    document_id = graph.document.id
    run("write/advance_namespace")
    stored = bool(run("read/find_document_key", document_id=document_id))
    if stored:
        _delete(run, document_id)
    run("write/create_document", **rows.document_parameters(graph.document))
    points = {point.id for point in graph.points}
    title = graph.document.title or graph.document.key
    create("write/create_segments", rows.segment_columns(graph), document_id=document_id, title=title)
    create("write/link_segments", rows.next_columns(graph.segments))
    create("write/create_points", rows.point_columns(graph), document_id=document_id)
    downward = [edge for edge in graph.summarizes if edge.target_id not in points]
    within = [edge for edge in graph.summarizes if edge.target_id in points]
    create("write/link_points_to_segments", rows.link_columns(downward))
    create("write/link_points_to_points", rows.link_columns(within))
    return Action.REPLACED if stored else Action.ADDED


def remove(run: Run, document_id: str, *, namespace: str) -> tuple[str, Mapping[str, int]]:
    """Remove a document; its key, and what the graph held of it.

    Raises:
        DocumentNotFound: there is none.
    """
    run("write/advance_namespace")
    known = run("read/find_document_key", document_id=document_id)
    if not known:
        raise DocumentNotFound(
            f"no document {document_id!r} in namespace {namespace!r}. documents() lists what is there.",
            document_id=document_id,
            namespace=namespace,
        )
    held = counts(run, document_id)
    _delete(run, document_id)
    return known[0]["key"], held


def gone(held: Mapping[str, int], left: Mapping[str, int]) -> dict[str, int]:
    """What was held before and is no longer there."""
    return {name: number - left.get(name, 0) for name, number in held.items()}


def _delete(run: Run, document_id: str) -> None:
    for name in ("write/delete_segments", "write/delete_points", "write/delete_document"):
        run(name, document_id=document_id)
