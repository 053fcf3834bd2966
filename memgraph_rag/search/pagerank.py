"""Personalised PageRank over segments and their entities, and over any undirected graph.

The module knows matrices only. Invariant: equal arguments give equal masses, and those of plain steps but for 10⁻⁵.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from memgraph_rag.lexical.bm25 import row_entries
from memgraph_rag.search.segment_index import View

if TYPE_CHECKING:
    from scipy.sparse.linalg import LinearOperator

Scores = NDArray[np.float64]

_MOST_STEPS = 1_000  # enough for the tolerance at a damping of 0.97
_TOLERANCE = 1e-12  # of the mass that a step moves
_LEFT = 4e-6  # share of the error that Chebyshev's steps leave: 8 steps at a damping of 0.7


def solve_pagerank(view: View, segments: Scores, seeds: Mapping[int, float], *, damping: Scores) -> Scores:
    """Return (n,) the mass of each segment: the share of time that a random walk with restarts spends on it.

    The walk follows edges in proportion to their weight and restarts from the reset. ``damping`` is the share of a
    segment's mass that arrives over edges; entities use the largest damping. A node without edges keeps its reset.

    A step goes from segments to entities and back. An entity with a single edge is no node: it only returns mass to its
    segment. Chebyshev's iteration divides the error by 6 in each step, where a plain step halves it.

    Args:
        segments: (n,) reset of the segments, at least 0.
        seeds: reset above 0 of entities by column; both resets sum to 1 together.
        damping: (n,) within [0, 1).

    Sources: Haveliwala, "Topic-sensitive PageRank", 2002, as used by HippoRAG (2405.14831), section 2.3; Golub, Varga,
    "Chebyshev semi-iterative methods", 1961.
    """
    most, joint = damping.max(initial=0.0), view.joint_entities
    by_segment, by_entity = most * damping, 1 / view.entity_degrees[joint.columns]

    returned = np.empty(len(segments))  # arrays are reused: a new one costs more than what is computed in it

    def spread(mass: Scores) -> Scores:
        on_entities = joint.by_entity @ mass
        on_entities *= by_entity
        arrived = joint.incidence @ on_entities
        arrived += np.multiply(joint.loops, mass, out=returned)
        arrived *= by_segment
        return arrived

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
        further += start
        further -= mass
        further *= gain
        further += mass
        further -= before
        further *= factor
        further += before
        before, mass = mass, further
    return np.maximum(mass, start)


def segment_entity_masses(
    view: View, on_segments: Scores, places: Sequence[int], seeds: Mapping[int, float], *, damping: Scores
) -> list[Scores]:
    """Return for each segment (e,) the masses of its entities, in the order of the incidence's columns.

    Args:
        on_segments: (n,) the masses of all segments, from ``solve_pagerank``.
        places: the places of the segments in the view.
        seeds: as for ``solve_pagerank``.
    """
    entries, segment_of = row_entries(view.incidence.indptr, np.array(places, np.int64))
    columns, on_segment = view.incidence.indices[entries], np.array(places, np.int64)[segment_of]
    # All mass of an entity with a single edge comes from its segment.
    arrived = view.incidence.data[entries] * on_segments[on_segment] / view.segment_degrees[on_segment]
    is_joint = view.edge_counts[columns] > 1
    by_entity = view.joint_entities.by_entity
    entries, of = row_entries(by_entity.indptr, view.joint_entities.rows[columns[is_joint]])
    flows = by_entity.data[entries] * on_segments[by_entity.indices[entries]]
    arrived[is_joint] = np.bincount(of, flows, minlength=int(is_joint.sum()))
    most = float(damping.max())
    masses = (1 - most) * np.array([seeds.get(column, 0.0) for column in columns.tolist()]) + most * arrived
    return np.split(masses, np.searchsorted(segment_of, np.arange(1, len(places))))[: len(places)]


def pagerank(adjacency: LinearOperator, reset: Scores, *, damping: float) -> Scores:
    """Return (n,) the share of a random walk's time on each node of an undirected graph; all 0 for a reset of 0.

    The mass of a node without edges restarts from the reset, as in igraph's ``personalized_pagerank`` with prpack,
    which HippoRAG calls.

    Args:
        adjacency: (n, n) symmetric matrix of edge weights, at least 0. Only its product with a vector is used.
        reset: (n,) at least 0; scaled to sum to 1.
        damping: the share of the mass that arrives over edges, within [0, 1).

    Source: as for ``solve_pagerank``.
    """
    if not reset.sum():
        return np.zeros(len(reset))
    start = reset / reset.sum()
    degrees = np.asarray(adjacency.matvec(np.ones(len(reset))), np.float64)
    is_lone = degrees <= 0
    divisors = np.where(is_lone, 1.0, degrees)

    mass = start
    for _ in range(_MOST_STEPS):
        arrived = np.asarray(adjacency.matvec(mass / divisors), np.float64) + mass[is_lone].sum() * start
        before, mass = mass, (1 - damping) * start + damping * arrived
        if np.abs(mass - before).sum() <= _TOLERANCE:
            break
    return mass
