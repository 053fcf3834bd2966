"""Whether the segments of a document tile its text, and its points stand on nodes below them.

It knows no engine. Invariant: of a graph that passes, the integrity check of a store misses nothing: segments are
numbered from 0 and follow each other without a gap, the record counts what there is, each node is there once.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping

from memgraph_rag.errors import StoreError
from memgraph_rag.types import DocumentGraph

__all__ = ["check_nodes", "check_tiling"]

_ROUNDING = 1e-6  # of a weight


def check_tiling(graph: DocumentGraph) -> None:
    """Refuse segments that do not tile the document, and a record that counts others.

    Raises:
        StoreError: they do not, or it does.
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
    _require(graph, rules)


def check_nodes(graph: DocumentGraph) -> None:
    """Refuse nodes that come twice, points that say nothing or sum up nothing, and names without a character.

    Raises:
        StoreError: there is one.
    """
    sources = {edge.source_id for edge in graph.summarizes}
    named = (*graph.mentions, *graph.titles)
    rules = {
        "each node once": _are_distinct(item.id for item in (*graph.segments, *graph.points)),
        "one point at each place": _are_distinct((item.level, item.index) for item in graph.points),
        "points that say something": all(point.text.strip() for point in graph.points),
        "points that sum up a node": all(point.id in sources for point in graph.points),
        "one SUMMARIZES edge between two nodes": _are_distinct(
            (edge.source_id, edge.target_id) for edge in graph.summarizes
        ),
        "weights from 0 to 1": all(0 <= edge.weight <= 1 + _ROUNDING for edge in graph.summarizes),
        "names of at least one character": all(item.normal.strip() and item.surface.strip() for item in named),
        "each entity once in the title": _are_distinct(item.entity_id for item in graph.titles),
    }
    _require(graph, rules)


def _are_distinct(keys: Iterable[Hashable]) -> bool:
    listed = list(keys)
    return len(set(listed)) == len(listed)


def _require(graph: DocumentGraph, rules: Mapping[str, bool]) -> None:
    broken = next((rule for rule, holds in rules.items() if not holds), None)
    if broken is not None:
        raise StoreError(
            f"Expected {broken} in document {graph.document.key!r}, got others. Add the document itself again.",
            key=graph.document.key,
        )
