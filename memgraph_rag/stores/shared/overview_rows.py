"""Converts overviews to rows of a database and back.

Like ``rows``, the module knows no engine. Invariant: a decoded overview equals the encoded one, field by field.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence

from memgraph_rag.display import show
from memgraph_rag.errors import StoreError
from memgraph_rag.stores.shared.rows import Columns, Row, caption, field_columns
from memgraph_rag.types import Finding, Overview, Span, Summarizes


def overview_columns(overviews: Sequence[Overview], edges: Iterable[Summarizes]) -> Columns:
    """Return overviews as columns of nodes to store; the column ``parts`` counts the SUMMARIZES edges of each node."""
    parts = Counter(edge.source_id for edge in edges)
    return field_columns(overviews, "id", "layer", "key", "level", "title", "text", "tokens") | {
        "name": [caption(item.title or item.text) for item in overviews],
        "documents": [list(item.documents) for item in overviews],
        "entities": [list(item.entities) for item in overviews],
        "findings": [_encode_findings(item.findings) for item in overviews],
        "rating": [float(item.rating) for item in overviews],
        "parts": [parts[item.id] for item in overviews],
    }


def _encode_findings(findings: Iterable[Finding]) -> str:
    listed = [[item.text, [[span.segment_id, span.start, span.end] for span in item.spans]] for item in findings]
    return json.dumps(listed, ensure_ascii=False)


def decode_overview(row: Row) -> Overview:
    """Return the overview that a row of the database holds.

    Raises:
        StoreError: its findings are damaged.
    """
    try:
        findings = tuple(
            Finding(str(text), tuple(Span(str(segment), int(start), int(end)) for segment, start, end in spans))
            for text, spans in json.loads(row["findings"])
        )
    except (TypeError, ValueError) as exc:
        raise StoreError(
            f"Expected the findings of overview {row['id']} as lists of text and spans, got other JSON. The graph is "
            f"damaged: call remove_layer({show(row['layer'])}); deepen() then builds it again.",
            node_id=row["id"],
        ) from exc
    lists = {name: tuple(row[name] or ()) for name in ("documents", "entities")}
    return Overview(**{**row, **lists, "findings": findings})


def is_torn(overview: Row) -> bool:
    """Return whether an overview's row counts fewer edges than its fields need, because a node was deleted."""
    tied = overview["resting"], overview["members"], overview["targets"]
    return tied != (len(overview["documents"] or ()), len(overview["entities"] or ()), overview["parts"])
