"""Personalised PageRank over segments and their entities, and over any undirected graph.

The module knows matrices only. Invariant: equal arguments give equal masses.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator

from memgraph_rag.search.segment_index import View

__all__ = ["Scores", "pagerank", "personalised_pagerank"]

Scores = NDArray[np.float64]

_MOST_STEPS = 1_000  # enough for the tolerance at a damping of 0.97
_TOLERANCE = 1e-12  # of the mass that a step moves


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

    def spread(mass: Scores) -> Scores:
        on_segments, on_entities = mass[:count], mass[count:]
        from_entities = view.incidence @ (on_entities / view.entity_degrees) + view.lone_segments * on_segments
        from_segments = view.by_entity @ (on_segments / view.segment_degrees) + view.lone_entities * on_entities
        return np.concatenate([from_entities, from_segments])

    each_damping = np.concatenate([damping, np.full(len(entities), damping.max(initial=0.0))])
    mass = _iterate(spread, reset / reset.sum(), each_damping, most_steps=iterations)
    return mass[:count], mass[count:]


def pagerank(adjacency: LinearOperator, reset: Scores, *, damping: float) -> Scores:
    """Return (n,) the share of a random walk's time on each node of an undirected graph; all 0 for a reset of 0.

    The mass of a node without edges restarts from the reset, as in igraph's ``personalized_pagerank`` with prpack,
    which HippoRAG calls.

    Args:
        adjacency: (n, n) symmetric matrix of edge weights, at least 0. Only its product with a vector is used.
        reset: (n,) at least 0; scaled to sum to 1.
        damping: the share of the mass that arrives over edges, within [0, 1).

    Source: as for ``personalised_pagerank``.
    """
    if not reset.sum():
        return np.zeros(len(reset))
    start = reset / reset.sum()
    degrees = np.asarray(adjacency.matvec(np.ones(len(reset))), np.float64)
    is_lone = degrees <= 0
    divisors = np.where(is_lone, 1.0, degrees)

    def spread(mass: Scores) -> Scores:
        return np.asarray(adjacency.matvec(mass / divisors), np.float64) + mass[is_lone].sum() * start

    return _iterate(spread, start, damping, most_steps=_MOST_STEPS, tolerance=_TOLERANCE)


def _iterate(
    spread: Callable[[Scores], Scores],
    start: Scores,
    damping: Scores | float,
    *,
    most_steps: int,
    tolerance: float = 0.0,
) -> Scores:
    """Return the masses after ``most_steps`` steps, or after the first step that moves no more than the tolerance."""
    mass = start
    for _ in range(most_steps):
        before, mass = mass, (1 - damping) * start + damping * spread(mass)
        if tolerance and np.abs(mass - before).sum() <= tolerance:
            break
    return mass
