"""The value of an answer is copied from its turn: whatever a model writes, the value is a phrase of the turn."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from recording_model import NestingModel, RecordingModel
from tables import table

from memgraph_rag.answering.copying import copy_changes, copy_values, phrases
from memgraph_rag.testing import FakeLanguageModel
from memgraph_rag.types import Usage

QUESTION, TURN = "How do I get to work?", "bike got stolen, so it's the Tram for me (line 4)."


def copied(value: Any, turn: str = TURN) -> str:
    (written,), _ = copy_values(FakeLanguageModel([json.dumps({"value": value})]), QUESTION, [turn])
    return written


def test_phrases_have_at_most_six_words_and_bare_edges() -> None:
    found = phrases(TURN)
    assert max(len(phrase.split()) for phrase in found) == 6
    assert {"stolen", "the Tram", "line 4", "bike got stolen, so it's the"} <= set(found)
    assert not any(phrase.endswith((".", ",")) or phrase.startswith("(") for phrase in found)
    assert len(found) == len(set(found))


def test_model_chooses_among_the_phrases_of_the_turn() -> None:
    model = RecordingModel()
    (value,), usage = copy_values(model, QUESTION, [TURN])
    assert model.schemas[0]["properties"]["value"]["enum"] == phrases(TURN)
    assert value == "Tram"  # the first capitalised phrase, by the fake model
    assert usage.model_calls == 1


def test_prompt_holds_question_and_turn_in_one_line() -> None:
    model = RecordingModel()
    copy_values(model, QUESTION, ["first\nsecond"])
    (prompt,) = model.prompts
    assert prompt.inputs == (f"Question: {QUESTION}\nMessage: first second\nAnswer:",)


def test_each_turn_has_its_value_and_its_cost() -> None:
    model = FakeLanguageModel(['{"value": "bike"}', '{"value": "tram"}'])
    values, usage = copy_values(model, QUESTION, ["the bike", "a tram"])
    assert values == ["bike", "tram"]
    assert usage.model_calls == 2


def test_value_has_the_spelling_of_the_turn() -> None:
    assert copied("the tram") == "the Tram"
    assert copied(" THE  TRAM. ") == "the Tram"
    assert copied("STRASSE", "in der Straße, dort") == "Straße"


@table("value", ["helicopter", "ram", "", " ", ".", 7, None, ["the Tram"], "tram the"])
def test_value_that_is_no_phrase_gives_the_line(value: Any) -> None:
    assert copied(value) == TURN


@table("reply", ["", "the Tram", "[]", "7", "{}", '{"value": "the Tr', '{"other": "Tram"}'])
def test_model_that_ignores_the_schema_gives_the_line(reply: str) -> None:
    assert copy_values(FakeLanguageModel([reply]), QUESTION, [TURN])[0] == [TURN]


def test_lists_in_lists_give_the_line_and_no_change() -> None:
    assert copy_values(NestingModel(), QUESTION, [TURN])[0] == [TURN]
    assert copy_changes(NestingModel(), QUESTION, [TURN])[0] == [([], [])]


@table("turn", ["", " \n ", "?!", "..."])
def test_turn_without_words_has_no_value_and_calls_no_model(turn: str) -> None:
    assert copy_values(FakeLanguageModel(), QUESTION, [turn]) == ([""], Usage())


def test_long_turn_is_read_up_to_its_120th_word() -> None:
    model = RecordingModel()
    copy_values(model, QUESTION, [" ".join(f"w{number}" for number in range(200))])
    assert "w119" in model.schemas[0]["properties"]["value"]["enum"]
    assert "w120" not in model.prompts[0].inputs[0]


@settings(max_examples=150)
@given(turn=st.text(max_size=80), reply=st.text(max_size=20) | st.integers(0, 80))
def test_value_is_always_words_of_the_turn(turn: str, reply: str | int) -> None:
    line = " ".join(turn.split())
    value = line[reply : reply + 9] if isinstance(reply, int) else reply
    written = copied(value, turn)
    assert written in line
    assert not phrases(line) or written in {line, *phrases(line)}
