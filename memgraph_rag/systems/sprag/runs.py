"""The runs of neighbouring segments that are worth most: relevant segment extraction of dsRAG (formerly spRAG).

It knows numbers only. Invariants: no two runs overlap; none crosses from one stretch into another; each starts and ends
with a segment that is worth 0 or more; the same values give the same runs.

Source: dsRAG 0.5.6, ``dsrag/rse.py``. It sums every run anew at each pick, O(picks · n · max_length²); by prefix sums
and one sort it is O(p log p) in all, where p, the number of possible runs, is at most max_length times the number of
segments that are worth 0 or more.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import NamedTuple, cast, get_args

import numpy as np
from numpy.typing import NDArray

from memgraph_rag.display import show
from memgraph_rag.errors import SettingsError
from memgraph_rag.systems.sprag.parameters import RUN_PRESETS, RunParameters, RunPreset

__all__ = ["Run", "best_runs", "checked_parameters", "segment_values"]

_DIGITS = 9  # of sums that are compared: prefix sums differ from plain ones in the last digits
_LARGEST = 1_000_000  # of whole numbers, as for k


class Run(NamedTuple):
    """Places ``[start, end)`` and what they are worth together."""

    start: int
    end: int
    value: float


def segment_values(
    ranks: Sequence[int | None], relevances: Sequence[float], lengths: Sequence[int], *, parameters: RunParameters
) -> NDArray[np.float64]:
    """(n,) what each segment is worth to a run.

    Args:
        ranks: (n,) from 0; None for a segment that is not ranked.
        relevances: (n,) from 0 to 1; of a segment that is not ranked it does not count.
        lengths: (n,) characters; likewise.
    """
    is_ranked = np.array([rank is not None for rank in ranks], bool)
    places = np.array([rank or 0 for rank in ranks], np.float64)
    gains = np.where(is_ranked, np.exp(-places / parameters.decay) * np.asarray(relevances, np.float64), 0.0)
    values = gains - parameters.penalty
    if parameters.standard_length is None:
        return values
    longer = np.maximum(np.asarray(lengths, np.float64) / parameters.standard_length, 1.0)
    return values * np.where(is_ranked, longer, 1.0)


def best_runs(values: NDArray[np.float64], stretches: NDArray[np.int64], *, parameters: RunParameters) -> list[Run]:
    """The runs, each the best of those that are still possible, in the order of their choice.

    A run is possible while it overlaps none before it and fits what is left of ``overall_max_length``. As what is
    impossible stays so, one pass over all runs, best first, chooses the same as a new search after each choice. Equal
    ones go by where they start, then by where they end.

    Args:
        values: (n,) what each segment is worth, stretch behind stretch.
        stretches: (n,) the number of the stretch of text without gaps to which each belongs; equal ones stand together.
    """
    starts, ends = _possible(values, stretches, parameters.max_length)
    sums = np.concatenate([[0.0], np.cumsum(values)])
    worths = np.round(sums[ends] - sums[starts], _DIGITS)
    is_taken = np.zeros(len(values), bool)
    left, chosen = parameters.overall_max_length, list[Run]()
    for pair in np.lexsort((ends, starts, -worths)):
        start, end, worth = int(starts[pair]), int(ends[pair]), float(worths[pair])
        if worth < parameters.minimum_value or not left:
            break
        if end - start <= left and not is_taken[start:end].any():
            is_taken[start:end] = True
            left -= end - start
            chosen.append(Run(start, end, worth))
    return chosen


def _possible(
    values: NDArray[np.float64], stretches: NDArray[np.int64], max_length: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Starts and ends of all runs of at most ``max_length`` whose first and last segments are worth 0 or more."""
    worthy = np.flatnonzero(values >= 0)
    first, last = np.zeros(0, np.int64), np.zeros(0, np.int64)
    for gap in range(min(max_length, len(worthy))):
        # The last segment is ``gap`` worthy ones behind the first, so at least ``gap`` segments.
        opening, closing = worthy[: len(worthy) - gap], worthy[gap:]
        fits = (closing - opening < max_length) & (stretches[opening] == stretches[closing])
        if not fits.any():
            break
        first, last = np.concatenate([first, opening[fits]]), np.concatenate([last, closing[fits]])
    return first, last + 1


# ── parameters ───────────────────────────────────────────────────────────────────────────────────────────────


def checked_parameters(runs: RunParameters | str) -> RunParameters:
    """The parameters themselves, or those of a preset.

    Raises:
        SettingsError: no such preset, or a parameter that cannot work.
    """
    if isinstance(runs, str) and runs in RUN_PRESETS:
        return RUN_PRESETS[cast("RunPreset", runs)]
    if not isinstance(runs, RunParameters):
        raise SettingsError(
            f"Expected runs as one of {', '.join(get_args(RunPreset))}, or RunParameters, got {show(runs)}.", runs=runs
        )
    for name in ("max_length", "overall_max_length", "documents", "candidates"):
        _check_count(name, getattr(runs, name))
    if runs.standard_length is not None:
        _check_count("standard_length", runs.standard_length)
    _check_number("minimum_value", runs.minimum_value, above=None)
    _check_number("penalty", runs.penalty, above=0.0)
    _check_number("decay", runs.decay, above=0.0)
    return runs


def _check_count(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= _LARGEST:
        raise SettingsError(
            f"Expected {name} of runs as a whole number from 1 to {_LARGEST:,}, got {show(value)}. Leave it out, or "
            'name a preset, such as "balanced".',
            setting=name,
        )


def _check_number(name: str, value: object, *, above: float | None) -> None:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= sys.float_info.max
    if not is_number or (above is not None and cast("float", value) <= above):
        wanted = "a finite number" if above is None else f"a finite number above {above:g}"
        raise SettingsError(
            f"Expected {name} of runs as {wanted}, got {show(value)}. Leave it out, or name a preset, such as "
            '"balanced".',
            setting=name,
        )
