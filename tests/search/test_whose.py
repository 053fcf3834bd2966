"""Whose words a question asks for, and who says them instead."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memgraph_rag.search.whose import ANOTHER, WEIGHED, asked_for, said_instead

SPEAKERS = ["Ann", "Tom", "Ann", "Eva"]


@pytest.mark.parametrize(
    ("question", "named"),
    [
        ("What did Ann bake?", {"Ann"}),
        ("What did ANN'S mother bake for Tom?", {"Ann", "Tom"}),
        ("What did Anna bake?", set()),
        ("", set()),
    ],
)
def test_a_speaker_is_named_by_whole_words(question: str, named: set[str]) -> None:
    assert asked_for(question, SPEAKERS) == named
    assert asked_for(question, ["", "!"]) == frozenset()


@pytest.mark.parametrize(
    ("shares", "expected"),
    [
        ([0.2, 0.6, 0.1, 0.1], ("Ann", "Tom")),
        ([0.3, 0.4, 0.2, 0.1], None),  # Ann's are more together
        ([0.2, 0.25, 0.0, 0.55], ("Ann", "Eva")),
        ([0.45, 0.55, 0.0, 0.0], ("Ann", "Tom")),
        ([0.46, 0.54, 0.0, 0.0], None),
    ],
)
def test_the_largest_of_the_others_is_compared_with_the_one_who_is_named(shares, expected) -> None:
    assert said_instead("What did Ann bake?", {"Ann"}, SPEAKERS, np.array(shares)) == expected


def test_what_is_far_down_is_not_weighed() -> None:
    speakers = ["Tom"] * WEIGHED + ["Ann"] * 500
    shares = np.array([1.0] * WEIGHED + [0.9] * 500)
    assert said_instead("What did Ann bake?", {"Ann"}, speakers, shares) == ("Ann", "Tom")


def test_an_assistant_may_say_what_its_user_did() -> None:
    shares = np.array([0.1, 0.9])
    assert said_instead("What did the user bake?", {"user"}, ["user", "Assistant"], shares) is None
    assert said_instead("What did the user bake?", {"user"}, ["user", "Ann"], shares) == ("user", "Ann")


@given(st.lists(st.tuples(st.sampled_from("abc"), st.floats(0, 1)), max_size=30))
def test_nobody_says_instead_what_a_question_asks_of_nobody_of_two_or_of_the_asker(said) -> None:
    speakers, shares = [one for one, _ in said], np.array([share for _, share in said])
    assert said_instead("Who baked?", set(), speakers, shares) is None
    assert said_instead("Who baked?", {"a", "b"}, speakers, shares) is None
    assert said_instead("What did I tell a?", {"a"}, speakers, shares) is None
    found = said_instead("Who baked?", {"a"}, speakers, shares)
    assert found is None or (found[0] == "a" and found[1] in "bc")
    if found is None and "a" not in speakers:
        assert not speakers, f"at {ANOTHER} or more whoever says all of it says it"
