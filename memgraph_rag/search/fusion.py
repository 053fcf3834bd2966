"""Merge several rankings into one (reciprocal rank fusion).

The module knows only ids (texts or numbers) and ranks. Invariant: the same rankings give the same order; ids with equal
scores are ordered by id.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

Id = TypeVar("Id", str, int)


def reciprocal_rank_fusion(
    rankings: Mapping[str, Sequence[Id]], *, weights: Mapping[str, float] | None = None, constant: int = 10
) -> list[tuple[Id, float]]:
    """Join rankings of the same ids into one; return (id, joint score), best first, ties by id.

    The score of an id is the sum of weight / (constant + rank) over the rankings that hold it. Ranks start at 1. Each
    ranking has the weight 1 if ``weights`` is None, else ``weights`` must name each ranking.

    >>> reciprocal_rank_fusion({"a": ["x", "y"], "b": ["y"]}, constant=1)
    [('y', 0.8333333333333333), ('x', 0.5)]

    Source: Cormack, Clarke, Büttcher, SIGIR 2009. ``constant`` 10 was the better one of 10 and 60 on the tuning sets.
    """
    scores: dict[Id, float] = {}
    for name, ranking in rankings.items():
        weight = 1.0 if weights is None else weights[name]
        for rank, item in enumerate(ranking, 1):
            scores[item] = scores.get(item, 0.0) + weight / (constant + rank)
    return sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))
