"""Test reciprocal rank fusion: the formula, the ties, and that the scale of a list does not matter."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memgraph_rag.search.fusion import reciprocal_rank_fusion

rankings = st.dictionaries(st.sampled_from(["a", "b", "c"]), st.lists(st.sampled_from("pqrstuvw"), unique=True))


@given(rankings, st.integers(1, 60))
def test_scores_are_those_of_the_formula(lists: dict[str, list[str]], constant: int) -> None:
    expected = {
        item: sum(Fraction(1, constant + of_list.index(item) + 1) for of_list in lists.values() if item in of_list)
        for of_list in lists.values()
        for item in of_list
    }
    fused = reciprocal_rank_fusion(lists, constant=constant)
    assert dict(fused) == pytest.approx({item: float(score) for item, score in expected.items()})
    scores = [score for _, score in fused]
    assert scores == sorted(scores, reverse=True)


def test_ties_go_by_id() -> None:
    assert [item for item, _ in reciprocal_rank_fusion({"one": ["b", "d"], "other": ["a", "c"]})] == [
        "a",
        "b",
        "c",
        "d",
    ]


def test_id_in_two_rankings_beats_first_of_one() -> None:
    assert reciprocal_rank_fusion({"one": ["x", "y"], "other": ["z", "y"]})[0][0] == "y"


def test_search_without_hits_returns_an_empty_ranking() -> None:
    assert reciprocal_rank_fusion({}) == reciprocal_rank_fusion({"one": [], "other": []}) == []
