"""Test whose words a question asks for, and which other speaker says them."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tables import table

from memgraph_rag.search.speakers import (
    ANOTHER,
    WEIGHED,
    find_asked_side,
    find_named_speakers,
    find_only_speaker,
    find_other_speaker,
)

SPEAKERS = ["Ann", "Tom", "Ann", "Eva"]


@table(
    ("question", "named"),
    [
        ("What did Ann bake?", {"Ann"}),
        ("What did ANN'S mother bake for Tom?", {"Ann", "Tom"}),
        ("What did Anna bake?", set()),
        ("", set()),
    ],
)
def test_a_speaker_is_named_by_whole_words(question: str, named: set[str]) -> None:
    assert find_named_speakers(question, SPEAKERS) == named
    assert find_named_speakers(question, ["", "!"]) == frozenset()
    assert find_only_speaker(question, SPEAKERS) == (min(named) if len(named) == 1 else None)


@table(
    ("question", "side"),
    [
        ("What did I decide about my thesis?", "human"),
        ("Could you recommend a book that fits my taste?", "human"),
        ("Can you tell me how much I've saved?", "human"),
        ("What have you recommended to me?", "machine"),
        ("Remind me which books you previously suggested.", "machine"),
        ("What was your advice on my thesis?", "machine"),
        ("Give me an overview of my thesis.", "both"),
        ("Summarise what you told me.", "both"),
        ("Who wrote Emma?", ""),
        ("", ""),
    ],
)
def test_question_asks_for_one_side_of_a_chat(question: str, side: str) -> None:
    assert find_asked_side(question) == side


def test_question_about_asker_names_no_speaker() -> None:
    assert find_only_speaker("What did I bake for Ann?", SPEAKERS) is None


@table(
    ("shares", "expected"),
    [
        ([0.2, 0.6, 0.1, 0.1], "Tom"),
        ([0.3, 0.4, 0.2, 0.1], None),  # Ann's are more together
        ([0.2, 0.25, 0.0, 0.55], "Eva"),
        ([0.45, 0.55, 0.0, 0.0], "Tom"),
        ([0.46, 0.54, 0.0, 0.0], None),
    ],
)
def test_largest_other_speaker_is_compared_with_named_one(shares, expected) -> None:
    assert find_other_speaker("Ann", SPEAKERS, np.array(shares)) == expected


def test_only_the_best_candidates_name_speakers() -> None:
    speakers = ["Tom"] * WEIGHED + ["Ann"] * 500
    shares = np.array([1.0] * WEIGHED + [0.9] * 500)
    assert find_other_speaker("Ann", speakers, shares) == "Tom"


def test_assistant_may_tell_of_its_user() -> None:
    shares = np.array([0.1, 0.9])
    assert find_other_speaker("user", ["user", "Assistant"], shares) is None
    assert find_other_speaker("user", ["user", "Ann"], shares) == "Ann"


@given(st.lists(st.tuples(st.sampled_from("abc"), st.floats(0, 1)), max_size=30))
def test_single_speaker_has_no_other_speaker(said) -> None:
    speakers, shares = [speaker for speaker, _ in said], np.array([share for _, share in said])
    replacement = find_other_speaker("a", speakers, shares)
    assert replacement in (None, "b", "c")
    if replacement is None and "a" not in speakers:
        assert not speakers, f"at {ANOTHER} or more whoever says all of it says it"
