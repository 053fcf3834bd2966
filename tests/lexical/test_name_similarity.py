"""Test which names may mean the same thing, by their words."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st
from tables import table

from memgraph_rag.lexical.name_similarity import LEAST_COSINE, SURE_COSINE, are_opposed, are_variants, least_cosine
from memgraph_rag.lexical.names import normalise

WORDS = (
    "mr.",
    "mrs.",
    "dr.",
    "doctor",
    "j.",
    "r",
    "john",
    "jane",
    "bennet",
    "darcy",
    "of",
    "ii",
    "7",
    "u.s",
    "шура",
    "'",
)
NAMES = st.lists(st.sampled_from(WORDS), min_size=1, max_size=5).map(" ".join) | st.text(min_size=1, max_size=12)


@table(
    ("first", "second"),
    [
        ("Mr. Darcy", "Darcy"),
        ("Doctor Watson", "Dr Watson"),
        ("Miss Elizabeth Bennet", "Elizabeth Bennet"),
        ("Miss Elizabeth Bennet", "Elizabeth"),
        ("Elizabeth", "Elizabeth Bennet"),
        ("Bennet", "Elizabeth Bennet"),
        ("J. R. R. Tolkien", "John Ronald Reuel Tolkien"),
        ("J.R.R. Tolkien", "J. R. R. Tolkien"),
        ("J. Tolkien", "J. R. R. Tolkien"),
        ("Stephen Covey", "Stephen R. Covey"),
        ("U.S. Army", "US Army"),
        ("Наташа Ростова", "Н. Ростова"),
    ],
)
def test_forms_of_one_name_are_similar(first: str, second: str) -> None:
    assert least_cosine(normalise(first), normalise(second)) == LEAST_COSINE


@table(
    ("first", "second"),
    [
        ("Mr. Bennet", "Mrs. Bennet"),
        ("Jane Bennet", "Elizabeth Bennet"),
        ("Miss Jane Bennet", "Elizabeth Bennet"),
        ("J. Bennet", "Elizabeth Bennet"),
        ("Chapter 22", "Chapter 31"),
        ("Elizabeth I", "Elizabeth II"),
        ("March", "March 30"),
        ("South Korea", "North Korea"),
    ],
)
def test_similar_looking_names_differ(first: str, second: str) -> None:
    assert least_cosine(normalise(first), normalise(second)) == math.inf


@table(
    ("first", "second"),
    [
        ("England", "King of England"),
        ("Mr. Bennet", "Elizabeth Bennet"),
        ("USSR", "Soviet Union"),
        ("Alice", "Alice's Adventures in Wonderland"),
        ("Roman Catholic Church", "Catholic Church"),
        ("Mr.", "Darcy"),
    ],
)
def test_cosine_decides_between_other_names(first: str, second: str) -> None:
    assert least_cosine(normalise(first), normalise(second)) == SURE_COSINE


@given(first=NAMES, second=NAMES)
def test_the_order_of_a_pair_does_not_matter(first: str, second: str) -> None:
    assert least_cosine(first, second) == least_cosine(second, first) >= LEAST_COSINE
    assert not (are_variants(first, second) and are_opposed(first, second))


@given(name=NAMES)
def test_name_is_similar_to_itself(name: str) -> None:
    assert are_variants(name, name)
