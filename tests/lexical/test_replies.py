"""Test that numbers and questions are read from any reply of a model."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tables import table

from memgraph_rag.lexical.replies import parse_numbers, parse_questions


@table(
    ("reply", "numbers"),
    [
        ("2, 1 and 2", {2: None, 1: None}),
        ("Sections 3; 9; 0", {3: None}),
        ("2: 10, 1 = 90, 3 (5)", {2: 10, 1: 90, 3: 5}),
        ("No. 3", {3: None}),
        ("**None** of the 3", {}),
        ("no", {}),
        ("", None),
        ("I cannot tell.", None),
        ("1234567", None),
        ("9" * 5_000, None),
    ],
)
def test_reply_names_numbers_of_a_list(reply: str, numbers: dict[int, int | None] | None) -> None:
    assert parse_numbers(reply, 3) == numbers


@table(
    ("reply", "questions"),
    [
        ("1) Who won?\n2. * Who ran?", ["Who won?", "Who ran?"]),
        ("Who won? who won? Good luck.", ["who won?"]),
        ("The film first; who made it?", ["who made it?"]),
        ("Who " + "really " * 100 + "ran? Who won?", ["Who won?"]),
        ("谁写了这本书？她出生在哪里？", ["谁写了这本书？", "她出生在哪里？"]),
        ("?", []),
        ("", []),
    ],
)
def test_reply_holds_questions(reply: str, questions: list[str]) -> None:
    assert parse_questions(reply) == questions


@given(st.text(), st.integers(0, 9))
def test_any_reply_is_read(reply: str, most: int) -> None:
    assert all(1 <= number <= most for number in parse_numbers(reply, most) or ())
    assert all(question.endswith(("?", "？")) for question in parse_questions(reply))
