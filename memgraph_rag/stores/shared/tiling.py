"""Checks that the segments of a document tile its text.

The module knows no engine. Invariant: in a graph that passes, segments are numbered from 0 and have no gaps, and the
record has the right counts, so that the integrity check of a store finds no flaw in them.
"""

from __future__ import annotations

from memgraph_rag.stores.layer_rows.kind import require
from memgraph_rag.types import DocumentGraph

__all__ = ["check_tiling"]


def check_tiling(graph: DocumentGraph) -> None:
    """Refuse segments that do not tile the document, and a record with wrong counts.

    Raises:
        StoreError: there is a gap or an overlap, or a count is wrong.
    """
    segments, record = graph.segments, graph.document
    bounds = [0, *(segment.end for segment in segments)]
    rules = {
        "segments that are numbered from 0": [segment.index for segment in segments] == list(range(len(segments))),
        "segments that begin where the one before ends": [segment.start for segment in segments] == bounds[:-1],
        "segments as long as their texts": all(
            segment.text and segment.end - segment.start == len(segment.text) for segment in segments
        ),
        "a record that counts its segments": record.segments == len(segments),
        "a record that counts its characters": record.characters == bounds[-1],
        "a record that counts its echoes": record.echoes == sum(segment.echo for segment in segments),
    }
    require(graph, rules)
