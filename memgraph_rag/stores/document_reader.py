"""All that a stored document contributes to the graph, read back as it was written.

It knows no engine: ``run`` is given, and has the namespace bound. The invariant: what it gives, written again, makes
the same graph; a document of which something is stored that it cannot give is refused, never given in part.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memgraph_rag.errors import StoreError
from memgraph_rag.stores import rows
from memgraph_rag.stores.graph_reads import Run, counts
from memgraph_rag.stores.layer_rows import KINDS
from memgraph_rag.stores.layer_rows.kind import Embedded
from memgraph_rag.stores.vector_norms import are_units
from memgraph_rag.types import DocumentGraph, DocumentRecord

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
        graph, stored_counts = _read(run, rows.decode_document(document_rows[0])), counts(run, document_id)
        if run("read/find_documents", document_ids=[document_id]) == document_rows:  # else it was written meanwhile
            return _checked(graph, stored_counts)
    raise StoreError(
        f"Expected document {document_id} to stay as it is while it is read, got {_TRIES} writes meanwhile. "
        "Try again when that is done.",
        document_id=document_id,
    )


def _checked(graph: DocumentGraph, stored_counts: Mapping[str, int]) -> DocumentGraph:
    """The graph, if it is all that the store counts, and everything in it has an embedding."""
    if _counted(graph) != stored_counts:
        raise StoreError(
            f"Expected all of document {graph.document.key!r}, {dict(stored_counts)}, got {_counted(graph)}. "
            'This version of memgraph_rag cannot read all of it, or the graph is damaged: ask "memgraph-rag doctor".',
            document_id=graph.document.id,
        )
    embedded = [Embedded("segments", graph.segments, graph.segment_embeddings)]
    embedded += [item for kind in KINDS for item in kind.embedded(graph)]
    for item in embedded:
        if len(item.embeddings) != len(item.rows) or not are_units(item.embeddings):
            raise StoreError(
                f"Expected an embedding of length 1 of each of the {len(item.rows)} {item.what} of document "
                f"{graph.document.key!r}, got {len(item.embeddings)}, of which some may have another length. The graph "
                "is damaged: memgraph-rag doctor --repair.",
                document_id=graph.document.id,
            )
    return graph


def _read(run: Run, record: DocumentRecord) -> DocumentGraph:
    layer_rows: dict[str, Any] = {}
    for kind in KINDS:
        layer_rows |= kind.read(run, record.id)
    return DocumentGraph(
        document=record,
        segments=tuple(rows.decode_segment(row) for row in run("read/list_segments", document_ids=[record.id])),
        segment_embeddings=rows.decode_embeddings(run("read/list_segment_embeddings", document_id=record.id)),
        **layer_rows,
    )


def _counted(graph: DocumentGraph) -> dict[str, int]:
    """How many rows of each kind there are, as the store counts them."""
    numbers = {
        "Document": 1,
        "Segment": len(graph.segments),
        "HAS_SEGMENT": len(graph.segments),
        "NEXT": max(len(graph.segments) - 1, 0),
    }
    for kind in KINDS:
        numbers |= kind.counts(graph)
    return {name: number for name, number in numbers.items() if number}
