"""The overviews of all layers of a memory, of which some are in memory at a time.

It knows no layer. Invariant: each overview that is there from beginning to end comes once, the lowest level first.
"""

from __future__ import annotations

from collections.abc import Iterator

from memgraph_rag.contracts import GraphView
from memgraph_rag.types import Overview

__all__ = ["all_overviews"]

OVERVIEWS_TOGETHER = 64


def all_overviews(graph: GraphView) -> Iterator[list[Overview]]:
    """Some overviews after the other, by level, layer and key; what goes meanwhile may be left out."""
    overview_ids = graph.overview_ids()
    for start in range(0, len(overview_ids), OVERVIEWS_TOGETHER):
        nodes = graph.nodes(overview_ids[start : start + OVERVIEWS_TOGETHER])
        yield [node for node in nodes if isinstance(node, Overview)]
