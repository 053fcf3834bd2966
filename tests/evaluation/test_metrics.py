"""Metrics by hand, and intervals by their properties."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memgraph_rag.evaluation import metrics


def test_recall_counts_the_first_items():
    assert [metrics.recall({"a", "c"}, ["b", "a", "c"], k) for k in (1, 2, 3, 9)] == [0.0, 0.5, 1.0, 1.0]


def test_coverage_is_averaged_over_spans_and_counts_no_character_twice():
    gold = [("a", 0, 10), ("a", 20, 30), ("b", 0, 10)]
    spans = [("a", 0, 5), ("a", 3, 6), ("a", 25, 40), ("c", 0, 10)]
    assert metrics.coverage(gold, spans) == pytest.approx((0.6 + 0.5 + 0.0) / 3)


def test_the_piece_that_goes_beyond_the_budget_is_cut():
    pieces = [(("a", 0, 100), 30), (("b", 50, 90), 40), (("c", 0, 10), 5)]
    assert metrics.fit_budget(pieces, 50) == [("a", 0, 100), ("b", 50, 70)]
    assert metrics.fit_budget(pieces, 70) == [("a", 0, 100), ("b", 50, 90)]
    assert metrics.fit_budget(pieces, 99) == [span for span, _ in pieces]


@given(st.lists(st.floats(0, 1), min_size=2, max_size=12))
def test_an_interval_holds_its_mean_and_is_the_same_each_time(values: list[float]):
    interval = metrics.interval(values)
    assert interval.low - 1e-9 <= interval.value <= interval.high + 1e-9
    assert interval == metrics.interval(values)


def test_pairing_narrows_the_interval_of_a_difference():
    rng = np.random.default_rng(7)
    worse = rng.random(80)
    better = worse + 0.1 + 0.01 * rng.random(80)
    difference = metrics.interval(better - worse)
    assert 0.1 < difference.low <= difference.high < 0.11
    apart = metrics.interval(better).low, metrics.interval(worse).high
    assert apart[0] < apart[1], "unpaired, the two intervals overlap"


def test_one_question_has_no_interval():
    with pytest.raises(ValueError, match="at least 2 questions"):
        metrics.interval([1.0])


def test_a_ratio_is_of_the_sums_not_the_mean_of_ratios():
    interval = metrics.ratio_interval([1, 0, 3], [1, 0, 4])
    assert interval.value == pytest.approx(0.8)
    assert interval.low <= interval.value <= interval.high
    assert metrics.ratio_interval([0, 0], [0, 0]) == (0, 0, 0), "nothing was tried"


def test_the_difference_of_two_ratios_is_paired():
    rng = np.random.default_rng(3)
    below = np.ones(60)
    worse = rng.random(60)
    alike = metrics.ratio_difference((worse + 0.05, below), (worse, below))
    shuffled = metrics.ratio_difference((worse + 0.05, below), (rng.permutation(worse), below))
    assert alike.value == pytest.approx(0.05)
    assert (alike.low, alike.high) == pytest.approx((0.05, 0.05))
    assert shuffled.low < 0 < shuffled.high
