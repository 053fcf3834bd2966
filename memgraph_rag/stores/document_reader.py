"""All that a stored document contributes to the graph, read back as it was written.

It knows no engine: ``run`` is given, and has the namespace bound. The invariant: what it gives, written again, makes
the same graph; a document of which something is stored that it cannot give is refused, never given in part.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from memgraph_rag.errors import StoreError
from memgraph_rag.stores import relation_rows, rows
from memgraph_rag.stores.graph_reads import Run, counts
from memgraph_rag.stores.vector_norms import are_units
from memgraph_rag.types import DocumentGraph, DocumentRecord, Matrix, Title, ends_of

__all__ = ["document_graph"]

_TRIES = 5


def document_graph(run: Run, document_id: str) -> DocumentGraph | None:
    """The graph of one document; None where there is none.

    Raises:
        StoreError: it is written again and again while it is read, holds rows of a kind that is not known here, or an
            embedding of it is missing.
    """
    for _ in range(_TRIES):
        document_rows = run("read/find_documents", document_ids=[document_id])
        if not document_rows:
            return None
        graph, held = _read(run, rows.decode_document(document_rows[0])), counts(run, document_id)
        if run("read/find_documents", document_ids=[document_id]) == document_rows:  # else it was written meanwhile
            return _checked(graph, held)
    raise StoreError(
        f"expected document {document_id} to stay as it is while it is read; it was written {_TRIES} times meanwhile. "
        "Try again when that is done.",
        document_id=document_id,
    )


def _checked(graph: DocumentGraph, held: Mapping[str, int]) -> DocumentGraph:
    """The graph, if it is all that the store counts, and everything in it has an embedding."""
    if _counted(graph) != held:
        raise StoreError(
            f"expected all of document {graph.document.key!r}, {dict(held)}; came {_counted(graph)}. This version of "
            'memgraph_rag cannot read all that is stored of it, or the graph is damaged: "memgraph-rag doctor" tells.',
            document_id=graph.document.id,
        )
    for kind, parts, matrix in (
        ("segments", graph.segments, graph.segment_embeddings),
        ("points", graph.points, graph.point_embeddings),
        ("relations", graph.relations, graph.relation_embeddings),
        ("names of relations' ends", graph.ends, graph.end_embeddings),
    ):
        if len(matrix) != len(parts) or not are_units(matrix):
            raise StoreError(
                f"Expected an embedding of length 1 of each of the {len(parts)} {kind} of document "
                f"{graph.document.key!r}, got {len(matrix)}, of which some may have another length. The graph is "
                "damaged: memgraph-rag doctor --repair.",
                document_id=graph.document.id,
            )
    return graph


def _read(run: Run, record: DocumentRecord) -> DocumentGraph:
    segments = [rows.decode_segment(row) for row in run("read/list_segments", document_ids=[record.id])]
    points = run("read/list_points", document_id=record.id)
    point_ids = [row["id"] for row in points]
    edges = run("read/list_successors", node_ids=point_ids) if point_ids else []
    relations = [relation_rows.decode_relation(row) for row in run("read/list_relations", document_id=record.id)]
    ends = list(ends_of(relations))
    mentions = [rows.decode_mention(row) for row in run("read/list_mentions", document_id=record.id)]
    return DocumentGraph(
        document=record,
        segments=tuple(segments),
        segment_embeddings=_matrix(run("read/list_segment_embeddings", document_id=record.id)),
        points=tuple(rows.decode_point(_without_embedding(row)) for row in points),
        point_embeddings=_matrix(points),
        summarizes=tuple(rows.decode_summarizes(row) for row in edges),
        mentions=tuple(
            sorted(mentions, key=lambda mention: (mention.start, mention.end, mention.entity_id, mention.kind))
        ),
        titles=tuple(Title(**row) for row in run("read/list_titles", document_id=record.id)),
        relations=tuple(relations),
        relation_embeddings=_matrix(run("read/list_relation_embeddings", document_id=record.id)),
        end_embeddings=_matrix(run("read/list_end_embeddings", entity_ids=ends) if ends else []),
    )


def _without_embedding(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name != "embedding"}


def _matrix(embedding_rows: Sequence[Mapping[str, Any]]) -> Matrix:
    """The embeddings that there are."""
    vectors = [row["embedding"] for row in embedding_rows if row["embedding"] is not None]
    return np.array(vectors, np.float32) if vectors else np.zeros((0, 0), np.float32)


def _counted(graph: DocumentGraph) -> dict[str, int]:
    """How many rows of each kind there are, as the store counts them."""
    numbers = {
        "Document": 1,
        "Segment": len(graph.segments),
        "HAS_SEGMENT": len(graph.segments),
        "NEXT": max(len(graph.segments) - 1, 0),
        "InformationPoint": len(graph.points),
        "SUMMARIZES": len(graph.summarizes),
        "MENTIONS": len(graph.mentions),
        "TITLED": len(graph.titles),
        "RELATES_TO": len(graph.relations),
    }
    return {name: number for name, number in numbers.items() if number}
