"""Personalised PageRank over segments and their entities, and over any undirected graph.

The module knows matrices only. Invariant: equal arguments give equal masses. ``solve_pagerank`` returns the masses of
``personalised_pagerank``, the plain reference, in a tenth of the time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from memgraph_rag.search.segment_index import View

if TYPE_CHECKING:
    from scipy.sparse.linalg import LinearOperator

__all__ = ["Scores", "entity_mass", "pagerank", "personalised_pagerank", "solve_pagerank"]

Scores = NDArray[np.float64]

_MOST_STEPS = 1_000  # enough for the tolerance at a damping of 0.97
_TOLERANCE = 1e-12  # of the mass that a step moves
_LEFT = 4e-6  # share of the error that Chebyshev's steps leave: 8 steps at a damping of 0.7


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
    mass = _iterate(spread, reset / reset.sum(), each_damping, most_steps=iterations)
    return mass[:count], mass[count:]


def solve_pagerank(view: View, segments: Scores, seeds: Mapping[int, float], *, damping: Scores) -> Scores:
    """Return (n,) the masses of the segments that ``personalised_pagerank`` comes near to, in a tenth of the time.

    A step goes from segments to entities and back. An entity with a single edge is no node: it only returns mass to its
    segment. Chebyshev's iteration divides the error by 6 in each step, where a plain step halves it.

    Args:
        segments: (n,) reset of the segments, at least 0.
        seeds: reset above 0 of entities by column; both resets sum to 1 together.
        damping: (n,) within [0, 1).

    Source: Golub, Varga, "Chebyshev semi-iterative methods", 1961.
    """
    most, joint = damping.max(initial=0.0), view.joint_entities
    by_segment, by_entity = most * damping, 1 / view.entity_degrees[joint.columns]

    def spread(mass: Scores) -> Scores:
        on_entities = joint.by_entity @ (mass / view.segment_degrees)
        arrived = joint.incidence @ np.multiply(on_entities, by_entity, out=on_entities)
        arrived += joint.loops * mass
        return np.multiply(arrived, by_segment, out=arrived)

    start = np.maximum(view.lone_segments, 1 - damping) * segments
    for column, mass in seeds.items():
        places, weights = view.entity_edges(column)
        start[places] += (1 - most) * mass * damping[places] * weights / view.entity_degrees[column]
    largest = most**2  # of the eigenvalues of ``spread``; the smallest is 0
    width, gain = largest / (2 - largest), 2 / (2 - largest)
    steps = math.ceil(math.log(_LEFT) / math.log(width / (1 + math.sqrt(1 - width**2)))) if width else 0
    before, mass, factor = start, start + gain * spread(start), 2.0
    for _ in range(steps):
        factor = 1 / (1 - width**2 * factor / 4)
        further = spread(mass)  # becomes before + factor * (mass + gain * (start + spread - mass) - before), in place
        further += start - mass
        further *= gain
        further += mass - before
        further *= factor
        further += before
        before, mass = mass, further
    return np.maximum(mass, start)


def entity_mass(view: View, on_segments: Scores, column: int, reset: float, *, damping: Scores) -> float:
    """Return the mass of an entity with this reset, from the masses that ``solve_pagerank`` returned."""
    places, weights = view.entity_edges(column)
    most = float(damping.max())
    return (1 - most) * reset + most * float(weights @ (on_segments[places] / view.segment_degrees[places]))


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
