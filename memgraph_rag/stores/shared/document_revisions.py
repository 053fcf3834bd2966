"""Appends segments to a stored document, without writing its other segments again.

The module knows no engine and begins no transaction. Invariant: afterwards the graph equals the result of writing the
whole document. Nothing changes if the stored content is not the one that was extended.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from memgraph_rag.display import show
from memgraph_rag.errors import DocumentChanged, StoreError
from memgraph_rag.stores.layer_rows import ANNOTATIONS, DocumentWrite
from memgraph_rag.stores.shared import relation_rows, rows
from memgraph_rag.types import DocumentGraph


def check_appended(graph: DocumentGraph, kept: int) -> None:
    """Check that storing only a graph's segments after the first ``kept``, with their annotations, loses no rows.

    Raises:
        StoreError: the graph has no new segment, or has rows other than annotations of single segments.
    """
    others = (graph.points, graph.mentions, graph.titles, graph.relations, graph.sections)
    is_whole = not any(others) and all(len(item.segment_ids) == 1 for item in graph.annotations)
    if not 0 < kept < len(graph.segments) or not is_whole:
        raise StoreError(
            f"Expected a document of more than {kept} segments, with annotations of single segments and no other rows, "
            f"got {show(graph.document.key)} with {len(graph.segments)} segments. Write the whole document.",
            document_id=graph.document.id,
        )


def require_content(stored: rows.Row | None, graph: DocumentGraph, before: str, *, kept: int) -> None:
    """Check that a document's stored content is still the content that the caller has read, before it is revised.

    Args:
        stored: the stored row of the document; None if the document is not stored.
        before: the hash of the content that the caller has read; empty for a new document.
        kept: the number of first segments that stay as they are stored; 0 if all segments are written.

    Raises:
        DocumentChanged: the stored hash is not ``before``; or segments are kept, and the stored layers are not the
            layers of ``graph``.
    """
    is_same = (stored["sha256"] if stored else "") == before
    if not is_same or (kept and stored and sorted(stored["layers"]) != sorted(graph.document.layers)):
        raise DocumentChanged(
            f"Expected document {show(graph.document.key)} with the content that was read, got another content: "
            "another writer changed or forgot it. Read it again, then write.",
            document_id=graph.document.id,
        )


def append(write: DocumentWrite, graph: DocumentGraph, *, kept: int) -> None:
    """Append to a stored document: store the segments after the first ``kept``, their annotations, and its new record.

    The vector of a turn depends on the turns around it. So the vector of the last kept segment of each kind
    (evidence, echo) is stored again.
    """
    document, segments = graph.document, graph.segments
    added = replace(graph, segments=segments[kept:], segment_embeddings=graph.segment_embeddings[kept:])
    write.run("write/revise_document", document_id=document.id, **_content(graph))
    write.create("write/create_segments", rows.segment_columns([added], after=segments[kept - 1].id))
    echoes = [segment.echo for segment in graph.segments[:kept]]
    places = sorted(
        {max((at for at, echo in enumerate(echoes) if echo is kind), default=kept - 1) for kind in (False, True)}
    )
    vectors = [np.asarray(graph.segment_embeddings[place]) for place in places]
    write.create(
        "write/embed_segments", relation_rows.make_embedding_columns([segments[place].id for place in places], vectors)
    )
    new = {segment.id for segment in added.segments}
    annotations = tuple(item for item in graph.annotations if new.issuperset(item.segment_ids))
    ANNOTATIONS.create(write, [replace(added, annotations=annotations)])


def _content(graph: DocumentGraph) -> dict[str, Any]:
    columns = rows.document_columns([graph])
    names = ("sha256", "text_sha256", "characters", "segments", "metadata", "echoes", "language")
    return {name: columns[name][0] for name in names}
