"""The choice of runs as dsRAG 0.5.6 releases it (``dsrag/rse.py``, MIT), line by line and slow.

An oracle for tests: it sums every run anew at each pick. Equal to the package itself on 20,000 random inputs
(2026-11-24); the package needs a dozen others to install, so it is no dependency of the tests.
"""

from __future__ import annotations

import math
from collections.abc import Sequence


def released_values(
    ranks: Sequence[int | None],
    relevances: Sequence[float],
    lengths: Sequence[int],
    *,
    penalty: float,
    decay: float,
    standard_length: int | None,
) -> list[float]:
    """``get_relevance_values``: what is not ranked has the rank 1,000, relevance 0 and length 0."""
    values: list[float] = []
    for rank, relevance, length in zip(ranks, relevances, lengths, strict=True):
        value = math.exp(-(1000 if rank is None else rank) / decay) * (0.0 if rank is None else relevance) - penalty
        if standard_length is not None:
            value *= max(0 if rank is None else length, standard_length) / standard_length
        values.append(value)
    return values


def released_runs(
    queries: Sequence[Sequence[float]],
    splits: Sequence[int],
    *,
    max_length: int,
    overall_max_length: int,
    minimum_value: float,
) -> list[tuple[int, int, float]]:
    """``get_best_segments``: (start, end, value) of each run.

    Args:
        queries: the values of all segments, for each query.
        splits: where a document ends.
    """
    chosen: list[tuple[int, int, float]] = []
    total, at, done = 0, 0, set[int]()
    while total < overall_max_length:
        if at >= len(queries):
            at = 0
        if len(done) >= len(queries):
            break
        if at in done:
            at += 1
            continue
        values = queries[at]
        best: tuple[int, int] | None = None
        best_value = -1000.0
        for start in range(len(values)):
            if values[start] < 0:
                continue
            for end in range(start + 1, min(start + max_length, len(values)) + 1):
                if values[end - 1] < 0:
                    continue
                if any(start < other_end and end > other_start for other_start, other_end, _ in chosen):
                    continue
                if any(start < split and end > split for split in splits):
                    continue
                if total + end - start > overall_max_length:
                    continue
                value = sum(values[start:end])
                if value > best_value:
                    best, best_value = (start, end), value
        if best is None or best_value < minimum_value:
            done.add(at)
            at += 1
            continue
        chosen.append((*best, best_value))
        total += best[1] - best[0]
        at += 1
    return chosen
