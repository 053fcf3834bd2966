"""What people say of themselves, by rules: what is read, and what is left alone."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memgraph_rag.lexical.asked_attributes import asked_attribute
from memgraph_rag.lexical.attributes import attribute_form, value_form
from memgraph_rag.lexical.deeds import deed_form
from memgraph_rag.lexical.statements import statements


@pytest.mark.parametrize(
    ("text", "attribute", "value"),
    [
        ("I live in Hamburg, near the river.", "home", "Hamburg"),
        ("By the way, I've just moved to New York last week.", "home", "New York"),
        ("We are living in Rome now", "home", "Rome"),
        ("I work for Siemens these days.", "employer", "Siemens"),
        ("I'm working as a nurse.", "job", "a nurse"),
        ("My new favorite color is dark green!", "favourite colour", "dark green"),
        ("Green is now my favourite colour.", "favourite colour", "Green"),
        ("I switched my phone from a Nokia to a Pixel because it broke.", "phone", "a Pixel"),
        ("My sister's dog is called Rex.", "sister dog name", "Rex"),
        ("My email address is ann.lee@mail.example.org.", "email", "ann.lee@mail.example.org"),
        ("Hi!\nMy doctor is Dr. Weber", "doctor", "Dr. Weber"),
    ],
)
def test_values_are_read(text: str, attribute: str, value: str) -> None:
    assert [(said.attribute, said.value) for said in statements(text) if said.kind == "value"] == [(attribute, value)]


@pytest.mark.parametrize(
    "text",
    [
        "Do I live in Rome?",
        "I used to live in Oslo.",
        "If I lived in Rome, my favourite food would be pasta.",
        "I might move to Oslo.",
        "I want to move to Oslo.",
        "Tom lives in Rome.",
        "My phone is not what it was.",
        "You live in Rome.",
        "It is my favourite colour.",
        "",
        "...",
        "x" * 100_000,
    ],
)
def test_what_states_nothing_is_left_alone(text: str) -> None:
    assert [said for said in statements(text) if said.kind == "value"] == []


def test_never_and_once_are_about_one_thing() -> None:
    (never,) = statements("I have never been to Japan.")
    (once,) = statements("I visited Japan last week.")
    assert (never.kind, never.value, once.value) == ("event", "never", "yes")
    assert never.attribute == once.attribute == deed_form("went to Japan")
    assert [said.kind for said in statements("Always answer in metric units. I prefer few dependencies.")] == [
        "instruction",
        "preference",
    ]


@pytest.mark.parametrize(
    ("question", "attribute", "speaker", "is_past"),
    [
        ("Where do I live now?", "home", "", False),
        ("Do you remember which city I live in?", None, "", False),
        ("Tell me, what's my favorite color these days?", "favourite colour", "", False),
        ("What was my job before?", "job", "", True),
        ("What is the name of my dog?", "dog name", "", False),
        ("Where does Ann Lee live?", "home", "Ann Lee", False),
        ("What is Ann's phone number?", "phone number", "Ann", False),
        ("Who built a wooden box?", None, "", False),
        ("?", None, "", False),
    ],
)
def test_what_is_asked_for(question: str, attribute: str | None, speaker: str, is_past: bool) -> None:
    asked = asked_attribute(question)
    assert (asked and asked.attribute) == attribute
    if asked:
        assert (asked.speaker, asked.is_past) == (speaker, is_past)


@given(st.text())
def test_any_text_is_read_and_spans_stand_in_it(text: str) -> None:
    for said in statements(text):
        assert 0 <= said.start < said.end <= len(text)
        assert said.kind != "value" or said.value in text
    asked_attribute(text)
    form = attribute_form(text)
    assert attribute_form(form) == form
    assert value_form(value_form(text)) == value_form(text)


@pytest.mark.parametrize(
    "part", ["I my ", "and my ", "my a is ", "well, ", "now ", "is my ", "from to ", "I've ", "'s "]
)
def test_long_texts_take_linear_time(part: str) -> None:
    text = part * (200_000 // len(part))
    began = time.perf_counter()
    statements(text)
    statements(". ".join([part * 60] * 300))
    assert time.perf_counter() - began < 5
