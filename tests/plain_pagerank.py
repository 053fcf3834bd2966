"""Personalised PageRank by plain steps over all segments and entities: the reference of ``solve_pagerank``."""

from __future__ import annotations

import numpy as np

from memgraph_rag.search.pagerank import Scores
from memgraph_rag.search.segment_index import View

__all__ = ["personalised_pagerank"]


def personalised_pagerank(
    view: View, segments: Scores, entities: Scores, *, damping: Scores, iterations: int = 25
) -> tuple[Scores, Scores]:
    """Return the share of a random walk's time on each segment and on each entity.

    The walk follows edges in proportion to their weight and restarts from the reset. ``damping`` is the share of a
    segment's mass that arrives over edges; entities use the largest damping. A node without edges keeps its reset.
    After 25 steps at 0.7 less than 0.02 % of the mass still moves. A reset of 0 is returned unchanged.

    Args:
        segments: (n,) reset of the segments, at least 0.
        entities: (m,) reset of the entities, at least 0; both resets are scaled to sum to 1 together.
        damping: (n,) within [0, 1).

    Returns:
        (n,) masses of the segments and (m,) masses of the entities.

    Source: Haveliwala, "Topic-sensitive PageRank", 2002; as used by HippoRAG (2405.14831), section 2.3.
    """
    reset = np.concatenate([segments, entities])
    if not reset.sum():
        return segments, entities
    count = len(segments)
    by_entity, lone_entities = view.incidence.T.tocsr(), (view.edge_counts == 0).astype(np.float64)

    def spread(mass: Scores) -> Scores:
        on_segments, on_entities = mass[:count], mass[count:]
        from_entities = view.incidence @ (on_entities / view.entity_degrees) + view.lone_segments * on_segments
        from_segments = by_entity @ (on_segments / view.segment_degrees) + lone_entities * on_entities
        return np.concatenate([from_entities, from_segments])

    each_damping = np.concatenate([damping, np.full(len(entities), damping.max(initial=0.0))])
    start = mass = reset / reset.sum()
    for _ in range(iterations):
        mass = (1 - each_damping) * start + each_damping * spread(mass)
    return mass[:count], mass[count:]
