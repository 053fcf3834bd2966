"""Reads the overviews of all layers of a memory, a batch at a time.

It knows no layer. Invariant: each overview that exists during the whole iteration is yielded once, the lowest level
first.
"""

from __future__ import annotations

from collections.abc import Iterator

from memgraph_rag.contracts import GraphView
from memgraph_rag.types import Overview

OVERVIEWS_TOGETHER = 64


def all_overviews(graph: GraphView) -> Iterator[list[Overview]]:
    """Yield all overviews in batches, sorted by level, layer and key. One that is removed meanwhile may be missing."""
    overview_ids = graph.overview_ids()
    for start in range(0, len(overview_ids), OVERVIEWS_TOGETHER):
        nodes = graph.nodes(overview_ids[start : start + OVERVIEWS_TOGETHER])
        yield [node for node in nodes if isinstance(node, Overview)]
