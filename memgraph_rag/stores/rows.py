"""Records of the library to rows of a database, and back.

It knows no engine: a row that comes is a mapping by column name; rows that go are columns, which each engine takes
in its own way. The invariant: what is decoded equals what was encoded, field by field.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from memgraph_rag.types import (
    DocumentGraph,
    DocumentRecord,
    Hit,
    InformationPoint,
    Matrix,
    Segment,
    Summarizes,
    make_id,
)

__all__ = [
    "COUNTED",
    "Columns",
    "Row",
    "bound_parameters",
    "counts",
    "decode_document",
    "decode_hit",
    "decode_point",
    "decode_segment",
    "decode_summarizes",
    "document_parameters",
    "link_columns",
    "namespace_id",
    "next_columns",
    "point_columns",
    "segment_columns",
]

Row = Mapping[str, Any]

Columns = dict[str, Sequence[Any] | Matrix]
"""Rows to be stored, by column; all of one length, the embeddings a matrix."""

COUNTED = ("Document", "Segment", "InformationPoint", "HAS_SEGMENT", "NEXT", "SUMMARIZES")
"""The labels and relationship types of the graph."""

CAPTION_CHARACTERS = 40


def namespace_id(namespace: str) -> str:
    """The id of a namespace's own node; also the one word by which a full-text search stays within it."""
    return make_id(namespace, "namespace")


def bound_parameters(namespace: str) -> dict[str, str]:
    """What a store binds once for every statement that takes it."""
    return {"namespace": namespace, "namespace_id": namespace_id(namespace)}


def caption(text: str) -> str:
    """The text's first words, on one line."""
    line = " ".join(text[: 4 * CAPTION_CHARACTERS].split())
    return line if len(line) <= CAPTION_CHARACTERS else f"{line[: CAPTION_CHARACTERS - 1]}…"


def document_parameters(record: DocumentRecord) -> dict[str, Any]:
    """The properties of a document's own node."""
    return {
        "id": record.id,
        "name": record.title or record.key,
        "key": record.key,
        "title": record.title,
        "source": record.source,
        "sha256": record.sha256,
        "added_at": record.added_at,
        "characters": record.characters,
        "segments": record.segments,
        "layers": list(record.layers),
        "model": record.model,
        "metadata": json.dumps(dict(record.metadata), ensure_ascii=False, sort_keys=True),
    }


def segment_columns(graph: DocumentGraph) -> Columns:
    """The segments of a document."""
    segments = graph.segments
    return {
        "id": [segment.id for segment in segments],
        "name": [caption(segment.text) for segment in segments],
        "index": [segment.index for segment in segments],
        "text": [segment.text for segment in segments],
        "start": [segment.start for segment in segments],
        "end": [segment.end for segment in segments],
        "tokens": [segment.tokens for segment in segments],
        "embedding": graph.segment_embeddings,
    }


def point_columns(graph: DocumentGraph) -> Columns:
    """The information points of a document."""
    points = graph.points
    return {
        "id": [point.id for point in points],
        "name": [caption(point.text) for point in points],
        "level": [point.level for point in points],
        "index": [point.index for point in points],
        "text": [point.text for point in points],
        "tokens": [point.tokens for point in points],
        "embedding": graph.point_embeddings,
    }


def next_columns(segments: Sequence[Segment]) -> Columns:
    """The edges from each segment to the one that follows it."""
    ordered = [segment.id for segment in sorted(segments, key=lambda segment: segment.index)]
    return {"source_id": ordered[:-1], "target_id": ordered[1:]}


def link_columns(edges: Iterable[Summarizes]) -> Columns:
    """SUMMARIZES edges."""
    listed = list(edges)
    return {
        "source_id": [edge.source_id for edge in listed],
        "target_id": [edge.target_id for edge in listed],
        "weight": [float(edge.weight) for edge in listed],
    }


def decode_document(row: Row) -> DocumentRecord:
    """A document's record."""
    return DocumentRecord(**{**row, "layers": tuple(row["layers"]), "metadata": json.loads(row["metadata"])})


def decode_segment(row: Row) -> Segment:
    """A segment."""
    return Segment(**row)


def decode_point(row: Row) -> InformationPoint:
    """An information point."""
    return InformationPoint(**row)


def decode_summarizes(row: Row) -> Summarizes:
    """A SUMMARIZES edge."""
    return Summarizes(**row)


def decode_hit(row: Row) -> Hit:
    """A node with its score."""
    return Hit(row["id"], row["score"])


def counts(rows: Iterable[Row]) -> dict[str, int]:
    """Counts by name; a name that holds nothing is not there, because no row says so."""
    return {row["name"]: row["count"] for row in rows if row["count"]}
