"""Runs of segments: the same choice as the released code's, and parameters that cannot work."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from released_runs import released_runs, released_values
from tables import table

from memgraph_rag.errors import SettingsError
from memgraph_rag.systems.sprag.parameters import RUN_PRESETS, RunParameters, check_parameters
from memgraph_rag.systems.sprag.runs import Run, choose_best_runs, segment_values

SIXTEENTHS = st.integers(-16, 16).map(lambda number: number / 16)
"""Sums of these are exact, so that equal runs are equal to the last digit."""

PARAMETERS = st.one_of(
    st.sampled_from(sorted(RUN_PRESETS.values(), key=repr)),
    st.builds(
        RunParameters,
        max_length=st.integers(1, 8),
        overall_max_length=st.integers(1, 20),
        overall_max_length_extension=st.integers(0, 3),
        minimum_value=st.sampled_from([-1.0, 0.0, 0.25, 0.5]),
    ),
)


def chosen(values: list[float], sizes: list[int], parameters: RunParameters) -> list[Run]:
    return choose_best_runs([np.array(values)], np.repeat(np.arange(len(sizes)), sizes), parameters=parameters)


@given(st.lists(st.integers(1, 10), min_size=1, max_size=4), st.integers(1, 3), PARAMETERS, st.data())
def test_runs_equal_those_of_the_released_code(
    sizes: list[int], queries: int, parameters: RunParameters, data: st.DataObject
) -> None:
    count = sum(sizes)
    values = [data.draw(st.lists(SIXTEENTHS, min_size=count, max_size=count)) for _ in range(queries)]
    extended = parameters.overall_max_length + (queries - 1) * parameters.overall_max_length_extension
    expected = released_runs(
        values,
        np.cumsum(sizes).tolist(),
        max_length=parameters.max_length,
        overall_max_length=extended,
        minimum_value=parameters.minimum_value,
    )
    stretches = np.repeat(np.arange(len(sizes)), sizes)
    runs = choose_best_runs([np.array(own) for own in values], stretches, parameters=parameters)
    assert [tuple(run) for run in runs] == expected


@given(
    st.lists(st.tuples(st.booleans(), st.floats(0, 1), st.integers(1, 3000)), min_size=1, max_size=30),
    st.floats(0.01, 1),
    st.floats(1, 300),
    st.sampled_from([None, 350, 700]),
)
def test_values_equal_those_of_the_released_code(
    rows: list[tuple[bool, float, int]], penalty: float, decay: float, standard_length: int | None
) -> None:
    ranks = [rank if is_ranked else None for rank, (is_ranked, _, _) in enumerate(rows)]
    relevances, lengths = [row[1] for row in rows], [row[2] for row in rows]
    parameters = RunParameters(penalty=penalty, decay=decay, standard_length=standard_length)
    assert segment_values(ranks, relevances, lengths, parameters=parameters) == pytest.approx(
        released_values(ranks, relevances, lengths, penalty=penalty, decay=decay, standard_length=standard_length)
    )


def test_a_run_reaches_over_a_gap_that_costs_less_than_it_gains() -> None:
    values, parameters = [0.7, -0.2, 0.6, -0.2, -0.2, -0.2, 0.55], RunParameters()
    assert chosen(values, [7], parameters) == [Run(0, 3, 1.1), Run(6, 7, 0.55)]
    assert chosen(values, [1, 6], parameters) == [Run(0, 1, 0.7), Run(2, 3, 0.6), Run(6, 7, 0.55)]
    assert chosen(values, [7], replace(parameters, max_length=2)) == [Run(0, 1, 0.7), Run(2, 3, 0.6), Run(6, 7, 0.55)]
    assert chosen(values, [7], replace(parameters, overall_max_length=3)) == [Run(0, 3, 1.1)]
    assert chosen(values, [7], replace(parameters, minimum_value=2.0)) == []
    assert chosen([], [], parameters) == []


def test_equal_runs_go_by_their_start_then_the_shorter() -> None:
    assert chosen([0.5, 0.0, -1.0, 0.5], [4], RunParameters()) == [Run(0, 1, 0.5), Run(3, 4, 0.5)]


def test_presets_are_found_by_name() -> None:
    assert check_parameters("balanced") == RunParameters()
    assert check_parameters("precision").minimum_value == 0.7
    assert check_parameters("find_all").overall_max_length == 200
    own = RunParameters(penalty=0.05, minimum_value=-3)
    assert check_parameters(own) == own
    assert check_parameters({"penalty": 0.05, "minimum_value": -3}) == own


@table("runs", ["", "balance", 5, {"penalties": 0.1}, ["balanced"]])
def test_an_unknown_preset_is_refused_with_the_known_ones(runs: Any) -> None:
    with pytest.raises(SettingsError, match="balanced, precision, find_all"):
        check_parameters(runs)


@table(
    ("name", "value"),
    [
        *(("penalty", value) for value in (-0.1, 0, float("nan"), float("inf"), "0.1", None, True)),
        *(("decay", value) for value in (0, -1.0, float("nan"))),
        *(("minimum_value", value) for value in (float("nan"), float("-inf"), "much")),
        *(("max_length", value) for value in (0, -1, 1.5, True, 10**9, None)),
        *(("overall_max_length", value) for value in (0, "30")),
        *(("documents", value) for value in (0, 2.0)),
        *(("candidates", value) for value in (0, 10**7)),
        *(("overall_max_length_extension", value) for value in (-1, 0.5)),
        *(("standard_length", value) for value in (0, -700, 0.5)),
    ],
)
def test_a_parameter_that_cannot_work_is_refused(name: str, value: object) -> None:
    with pytest.raises(SettingsError, match=f"Expected {name} of runs that can be used") as raised:
        check_parameters(replace(RunParameters(), **{name: value}))  # pyright: ignore[reportArgumentType]
    assert raised.value.setting == name
