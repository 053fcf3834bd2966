"""Group similar vectors into groups of nearly equal sizes (balanced bisecting k-means).

The module knows vectors only. Invariants: each row is in exactly one group; no group is larger than asked for, and the
sizes differ by a few rows at most; equal rows in equal order give equal groups.

A set is cut into two pieces of the wanted sizes, along the line between the means of the pieces, until the pieces no
longer change; then each piece is cut again. The first cut follows the principal direction, as in Boley, "Principal
Direction Divisive Partitioning" (1998). Cost: O(n d log n) for n rows of d numbers.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from memgraph_rag.types import Matrix, Vector

_ROUNDS = 12  # of new means; most sets stop changing earlier
_POWER_STEPS = 8
_DECIMALS = 6  # rows that agree to these decimals are ordered by their number, not by rounding errors


def make_balanced_groups(vectors: Matrix, *, most: int) -> list[list[int]]:
    """Return groups of at most ``most`` rows each, as sorted row numbers; the fewest groups of nearly equal sizes.

    Similar rows are in one group. The order of the groups follows the cuts, not the row numbers.

    Args:
        vectors: (n, d), rows of length 1. No rows give no groups.
    """
    if not len(vectors):
        return []
    return list(_divide(vectors, np.arange(len(vectors)), -(-len(vectors) // most)))


def mean_vector(vectors: Matrix) -> Vector:
    """Return (d,) the mean of the rows, scaled to length 1; all 0 if the rows cancel out."""
    mean = vectors.mean(axis=0, dtype=np.float64)
    length = float(np.linalg.norm(mean))
    return (mean / length if length > 1e-9 else np.zeros_like(mean)).astype(np.float32)


def _divide(vectors: Matrix, places: np.ndarray, groups: int) -> Iterator[list[int]]:
    """Yield these row numbers in ``groups`` groups."""
    if groups == 1:
        yield places.tolist()
        return
    left_groups = groups // 2
    left = -(-len(places) * left_groups // groups)
    is_left = _bisect(vectors[places].astype(np.float64), left)
    yield from _divide(vectors, places[is_left], left_groups)
    yield from _divide(vectors, places[~is_left], groups - left_groups)


def _bisect(rows: np.ndarray, left: int) -> np.ndarray:
    """Return (n,) True for the rows of the left part, which has ``left`` rows."""
    is_left = _first_rows(rows @ _principal_direction(rows), left)
    for _ in range(_ROUNDS):
        again = _first_rows(rows @ (rows[~is_left].mean(axis=0) - rows[is_left].mean(axis=0)), left)
        if (again == is_left).all():
            break
        is_left = again
    return is_left


def _first_rows(projections: np.ndarray, count: int) -> np.ndarray:
    """Return (n,) True for the ``count`` rows with the smallest projections, ties by row number."""
    chosen = np.zeros(len(projections), bool)
    chosen[np.argsort(projections.round(_DECIMALS), kind="stable")[:count]] = True
    return chosen


def _principal_direction(rows: np.ndarray) -> np.ndarray:
    """Return (d,) about the direction in which the rows differ most; the first row is on its negative side."""
    centred = rows - rows.mean(axis=0)
    direction = centred[int(np.argmax((centred**2).sum(axis=1).round(_DECIMALS)))]
    for _ in range(_POWER_STEPS):
        following = centred.T @ (centred @ direction)
        length = np.linalg.norm(following)
        if length < 1e-12:  # all rows are alike
            break
        direction = following / length
    return -direction if centred[0] @ direction > 0 else direction
