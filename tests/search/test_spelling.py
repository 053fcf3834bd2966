"""Test the correction of misspelt words."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tables import table

from memgraph_rag.search.spelling import bare, find_nearest_word, replace_words

KNOWN = ["flensburg", "fledhusum", "hamburg", "hambury", "petersen", "magnolia", "1984", "anna", "ämter"]


@table(
    ("word", "expected"),
    [
        ("fledhusen", "fledhusum"),  # two letters of nine
        ("hambrug", "hamburg"),  # two in the wrong order
        ("hamburgg", "hamburg"),
        ("hambur", "hamburg"),  # and "hambury": by code point
        ("petersson", "petersen"),
        ("petersohns", ""),  # three slips
        ("mongolia", ""),  # two of eight
        ("lamburg", ""),  # the first letter counts as right
        ("anne", ""),  # short
        ("19844", ""),
        ("about", ""),
    ],
)
def test_the_nearest_word(word: str, expected: str) -> None:
    assert find_nearest_word(word, KNOWN) == find_nearest_word(word, KNOWN[::-1]) == expected


def test_correction_keeps_the_rest_of_the_question() -> None:
    assert replace_words("Is Mueler’s or müeler's (27.8.2026)?", {"mueler": "mueller"}) == (
        "Is Mueller or mueller (27.8.2026)?"
    )
    assert bare("Müller’s") == "muller"


@given(st.text(max_size=30), st.lists(st.text(max_size=12), max_size=5))
def test_odd_words_raise_no_error(question: str, known: list[str]) -> None:
    assert replace_words(question, {}) == question
    assert find_nearest_word(bare(question), known) in {"", *known}
