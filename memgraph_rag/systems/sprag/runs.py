"""The choice of the most valuable runs of neighbouring segments: relevant segment extraction of dsRAG (formerly spRAG).

It works on numbers only. Invariants: runs do not overlap; a run does not cross from one stretch into another; a run
starts and ends with a segment of value 0 or more; the same values give the same runs.

Source: dsRAG 0.5.6, ``dsrag/rse.py``. The released code sums every run again at each choice, O(choices · n ·
max_length²). With prefix sums and one sort the cost is O(p log p), where p, the number of possible runs, is at most
max_length times the number of segments of value 0 or more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from memgraph_rag.systems.sprag.parameters import RunParameters

_DIGITS = 9  # of sums that are compared: prefix sums differ from plain ones in the last digits


class Run(NamedTuple):
    """Places ``[start, end)`` of segments, and the sum of their values."""

    start: int
    end: int
    value: float


def segment_values(
    ranks: Sequence[int | None], relevances: Sequence[float], lengths: Sequence[int], *, parameters: RunParameters
) -> NDArray[np.float64]:
    """Return (n,) the value of each segment; see ``RunParameters``.

    Args:
        ranks: (n,) from 0; None for a segment that is not ranked.
        relevances: (n,) from 0 to 1; ignored for segments that are not ranked.
        lengths: (n,) characters; ignored for segments that are not ranked.
    """
    is_ranked = np.array([rank is not None for rank in ranks], bool)
    places = np.array([rank or 0 for rank in ranks], np.float64)
    gains = np.where(is_ranked, np.exp(-places / parameters.decay) * np.asarray(relevances, np.float64), 0.0)
    values = gains - parameters.penalty
    if parameters.standard_length is None:
        return values
    longer = np.maximum(np.asarray(lengths, np.float64) / parameters.standard_length, 1.0)
    return values * np.where(is_ranked, longer, 1.0)


def choose_best_runs(
    values: Sequence[NDArray[np.float64]], stretches: NDArray[np.int64], *, parameters: RunParameters
) -> list[Run]:
    """Choose runs greedily: the queries take turns, each takes its most valuable run that is still possible.

    Return the runs in the order of choice. A run is possible if its query gives it the value ``minimum_value``, if it
    overlaps no chosen run and fits the rest of the most segments. An impossible run never becomes possible again, so
    one pass over all runs of a query, best first, suffices. Of equal runs the one with the smaller start, then the
    smaller end, comes first.

    Args:
        values: for each query (n,) the values of the segments.
        stretches: (n,) the number of the contiguous stretch to which each segment belongs, grouped.
    """
    waiting = [_list_best(of_query, stretches, parameters) for of_query in values]
    is_taken = np.zeros(len(stretches), bool)
    left = parameters.overall_max_length + max(len(waiting) - 1, 0) * parameters.overall_max_length_extension
    chosen = list[Run]()
    while waiting and left:
        for runs in list(waiting):
            fitting = (run for run in runs if run.end - run.start <= left and not is_taken[run.start : run.end].any())
            run = next(fitting, None)
            if run is None:
                waiting.remove(runs)
                continue
            is_taken[run.start : run.end] = True
            left -= run.end - run.start
            chosen.append(run)
    return chosen


def _list_best(values: NDArray[np.float64], stretches: NDArray[np.int64], parameters: RunParameters) -> Iterator[Run]:
    """Yield the runs of one query that are worth ``minimum_value``, the most valuable first."""
    starts, ends = _list_possible(values, stretches, parameters.max_length)
    sums = np.concatenate([[0.0], np.cumsum(values)])
    worths = np.round(sums[ends] - sums[starts], _DIGITS)
    for pair in np.lexsort((ends, starts, -worths)):
        if worths[pair] < parameters.minimum_value:
            return
        yield Run(int(starts[pair]), int(ends[pair]), float(worths[pair]))


def _list_possible(
    values: NDArray[np.float64], stretches: NDArray[np.int64], max_length: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return starts and ends of all runs of at most ``max_length`` whose first and last segments have values >= 0."""
    worthy = np.flatnonzero(values >= 0)
    first, last = np.zeros(0, np.int64), np.zeros(0, np.int64)
    for gap in range(min(max_length, len(worthy))):
        # The last segment is the ``gap``-th worthy segment after the first, so at least ``gap`` segments away.
        opening, closing = worthy[: len(worthy) - gap], worthy[gap:]
        fits = (closing - opening < max_length) & (stretches[opening] == stretches[closing])
        if not fits.any():
            break
        first, last = np.concatenate([first, opening[fits]]), np.concatenate([last, closing[fits]])
    return first, last + 1
