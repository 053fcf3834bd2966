"""Test where a name occurs in a text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tables import table

from memgraph_rag.layers.surfaces import first_word, occurrences, words
from memgraph_rag.lexical.names import normalise


@table(
    ("name", "text", "surfaces"),
    [
        ("Ann", "Ann, Anna and ANN.", ["Ann", "ANN"]),
        ("the Hall", "The hall, a hallway", ["The hall"]),
        ("Café", "Cafe\u0301 and café, not cafe", ["Cafe\u0301", "café"]),
        ("Cafe", "Cafe\u0301", []),
        ("C++", "C++ or C", ["C++"]),
        ("C", "C++ or C.", ["C", "C"]),
        ("St. Paul's", "in St. Paul’s", ["St. Paul’s"]),
        ("East--West", "East–West", []),
        ("East-West", "East–West", ["East–West"]),
        ("", "any", []),
        ("(", "((", []),
        ("x" * 300, "x" * 300, []),
        ("東京", "東京都に東京", ["東京", "東京"]),
        ("서울", "서울에서", ["서울"]),
    ],
)
def test_name_is_found_whole_in_any_form(name: str, text: str, surfaces: list[str]):
    assert [text[start:end] for start, end in occurrences(name, text)] == surfaces


@given(st.text(max_size=12), st.text(max_size=60))
def test_occurrence_has_normal_form_of_name(name: str, text: str):
    for start, end in occurrences(name, f"{text} {name} {text}"):
        assert normalise(f"{text} {name} {text}"[start:end]) == normalise(name)


@given(st.text(max_size=12), st.text(max_size=60))
def test_text_with_a_name_contains_its_first_word(name: str, text: str):
    whole = f"{text} {name} {text}"
    if occurrences(name, whole) and first_word(name):
        assert first_word(name) in words(whole)
