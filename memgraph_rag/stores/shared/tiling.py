"""Whether the segments of a document tile its text.

It knows no engine. Invariant: of a graph that passes, the integrity check of a store misses nothing: segments are
numbered from 0 and follow each other without a gap, the record counts what there is.
"""

from __future__ import annotations

from memgraph_rag.stores.layer_rows.kind import require
from memgraph_rag.types import DocumentGraph

__all__ = ["check_tiling"]


def check_tiling(graph: DocumentGraph) -> None:
    """Refuse segments that do not tile the document, and a record with another number of them.

    Raises:
        StoreError: there is a gap or an overlap, or the numbers differ.
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
