"""Similar things in groups of nearly equal sizes, by their vectors.

It knows vectors only. Invariants: each row is in exactly one group; no group is larger than was asked for, and the
sizes differ by a few rows at most; equal rows in equal order give equal groups.

Balanced bisecting k-means: a set is cut across the line between the means of its two halves until both stay as they
are, at the place that makes the pieces equal; then each half again. Principal direction as the first cut, as in
Boley, "Principal Direction Divisive Partitioning" (1998). Cost: O(n d log n) for n rows of d numbers.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from memgraph_rag.types import Matrix, Vector

__all__ = ["balanced_groups", "mean_vector"]

_ROUNDS = 12  # of the two means; most sets stand still before
_POWER_STEPS = 8
_DECIMALS = 6  # below them rows are alike: in which order they stand then is told by their places, not by rounding


def balanced_groups(vectors: Matrix, *, most: int) -> list[list[int]]:
    """Places of rows, sorted, in the fewest groups of at most ``most`` that bisection into near-equal sizes allows.

    Args:
        vectors: (n, d), rows of length 1.
    """
    if not len(vectors):
        return []
    return list(_divided(vectors, np.arange(len(vectors)), -(-len(vectors) // most)))


def mean_vector(vectors: Matrix) -> Vector:
    """(d,) the mean of rows, of length 1; all 0 where they cancel out."""
    mean = vectors.mean(axis=0, dtype=np.float64)
    length = float(np.linalg.norm(mean))
    return (mean / length if length > 1e-9 else np.zeros_like(mean)).astype(np.float32)


def _divided(vectors: Matrix, places: np.ndarray, groups: int) -> Iterator[list[int]]:
    """These places in so many groups, left to right."""
    if groups == 1:
        yield places.tolist()
        return
    left_groups = groups // 2
    left = -(-len(places) * left_groups // groups)
    is_left = _bisected(vectors[places].astype(np.float64), left)
    yield from _divided(vectors, places[is_left], left_groups)
    yield from _divided(vectors, places[~is_left], groups - left_groups)


def _bisected(rows: np.ndarray, left: int) -> np.ndarray:
    """(n,) whether a row is in the left part, which has ``left`` rows."""
    is_left = _first_rows(rows @ _principal_direction(rows), left)
    for _ in range(_ROUNDS):
        again = _first_rows(rows @ (rows[~is_left].mean(axis=0) - rows[is_left].mean(axis=0)), left)
        if (again == is_left).all():
            break
        is_left = again
    return is_left


def _first_rows(projections: np.ndarray, count: int) -> np.ndarray:
    """(n,) whether a row is among the ``count`` of the smallest projections, ties by place."""
    chosen = np.zeros(len(projections), bool)
    chosen[np.argsort(projections.round(_DECIMALS), kind="stable")[:count]] = True
    return chosen


def _principal_direction(rows: np.ndarray) -> np.ndarray:
    """(d,) about the direction in which the rows differ most; the first row lies on its negative side."""
    centred = rows - rows.mean(axis=0)
    direction = centred[int(np.argmax((centred**2).sum(axis=1).round(_DECIMALS)))]
    for _ in range(_POWER_STEPS):
        following = centred.T @ (centred @ direction)
        length = np.linalg.norm(following)
        if length < 1e-12:  # all rows are alike
            break
        direction = following / length
    return -direction if centred[0] @ direction > 0 else direction
