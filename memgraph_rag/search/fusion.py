"""One ranking from several.

It knows only ids and ranks. Invariant: the same lists give the same order; ties go by id.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

__all__ = ["reciprocal_rank_fusion"]


def reciprocal_rank_fusion(
    rankings: Mapping[str, Sequence[str]], *, weights: Mapping[str, float] | None = None, constant: int = 10
) -> list[tuple[str, float]]:
    """Ids with their fused scores, best first: the sum over the lists of weight / (constant + rank), rank from 1.

    Every list has the weight 1 where none are given.

    ``constant`` 10 was the best of 10 and 60 on the tuning sets.

    >>> reciprocal_rank_fusion({"a": ["x", "y"], "b": ["y"]}, constant=1)
    [('y', 0.8333333333333333), ('x', 0.5)]

    Source: Cormack, Clarke, Büttcher, SIGIR 2009.
    """
    scores: dict[str, float] = {}
    for name, ranking in rankings.items():
        weight = 1.0 if weights is None else weights[name]
        for rank, item in enumerate(ranking, 1):
            scores[item] = scores.get(item, 0.0) + weight / (constant + rank)
    return sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))
