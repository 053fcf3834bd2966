"""The public fakes keep the contracts that real models keep, so that a test on them says something."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memgraph_rag.contracts import Embedder, LanguageModel, ReadingSession
from memgraph_rag.errors import QuestionError, WindowExceeded
from memgraph_rag.testing import FakeEmbedder, FakeLanguageModel
from memgraph_rag.types import Prompt

LANGUAGE: LanguageModel = FakeLanguageModel()
EMBEDDER: Embedder = FakeEmbedder()


@given(st.text(max_size=200), st.integers(1, 60))
def test_offsets_tile_what_is_written(reply: str, max_tokens: int) -> None:
    (generation,) = FakeLanguageModel([reply]).generate([Prompt("Say.", ("a fox", "rain"))], max_tokens=max_tokens)
    assert reply.startswith(generation.text)
    assert (generation.finish == "end") == (generation.text == reply)
    edges = [0, *(end for _, end in generation.offsets.tolist())]
    assert generation.offsets.tolist() == [[start, end] for start, end in pairwise(edges)]
    assert edges[-1] == len(generation.text)
    assert generation.attention.shape == (len(generation.offsets), 2)
    assert generation.usage.generated_tokens == len(generation.offsets) <= max_tokens


def test_attention_goes_to_the_input_that_holds_the_word() -> None:
    inputs = ("Ann found a fox.", "It rained for nine days.", "The mayor slept.")
    (generation,) = LANGUAGE.generate([Prompt("Summarise.", inputs)], max_tokens=99)
    assert generation.text == "* Ann found It rained for\n* The mayor\n"
    words = [generation.text[start:end].strip() for start, end in generation.offsets.tolist()]
    looked = {word: int(row.argmax()) for word, row in zip(words, generation.attention, strict=True) if word.isalpha()}
    assert looked == {"Ann": 0, "found": 0, "It": 1, "rained": 1, "for": 1, "The": 2, "mayor": 2}
    lengths = LANGUAGE.count_tokens(inputs)
    assert (generation.attention @ np.array(lengths)).tolist() == pytest.approx([0.5] * len(words))


def test_writing_ends_at_the_stop_of_the_caller() -> None:
    model = FakeLanguageModel(["one\ntwo\nthree\n"] * 2)
    prompts = [Prompt("Count.", ("x",))] * 2
    reports: list[tuple[str, int, int]] = []
    stopped, _ = model.generate(
        prompts, max_tokens=50, stop=lambda _, text: "two" in text, progress=lambda *what: reports.append(what)
    )
    assert (stopped.text, stopped.finish) == ("one\ntwo\n", "stopped")
    assert reports == [("summarising", 1, 2), ("summarising", 2, 2)]


def test_session_judges_by_script_or_by_text() -> None:
    with FakeLanguageModel(judged=[0.25]).open_session("Who ran?") as session:
        session.append(["A red fox ran."])
        assert [session.judge("red fox"), session.judge("red fox"), session.judge("blue fox")] == [0.25, 1.0, 0.5]


def test_window_is_not_exceeded() -> None:
    small = FakeLanguageModel(window=64)
    with pytest.raises(WindowExceeded):
        small.generate([Prompt("Summarise.", ("fox " * 60,))], max_tokens=10)
    with pytest.raises(QuestionError):
        small.open_session("fox " * 40)
    session: ReadingSession = small.open_session("Where is the fox?")
    before = (session.tokens_left, session.usage)
    with pytest.raises(WindowExceeded):
        session.append(["fox " * 60])
    assert (session.tokens_left, session.usage) == before, "nothing was read"
    (attention,) = session.append(["A fox is here."])
    assert attention > 0.01
    assert session.tokens_left == before[0] - 7
    assert session.usage.prompt_tokens == before[1].prompt_tokens + 7


def test_probe_and_answer_leave_room_and_follow_the_script() -> None:
    session = FakeLanguageModel(yes=[0.25], answer="In the barn, asleep.").open_session("Where is the fox?")
    session.append(["A fox."])
    left = session.tokens_left
    assert [session.probability_of_yes() for _ in range(3)] == [0.25, 1.0, 1.0]
    assert "".join(session.answer(max_tokens=3)) == "In the barn"
    assert "".join(session.answer(max_tokens=99)) == "In the barn, asleep."
    assert session.tokens_left == left


def test_fake_abstains_if_read_texts_are_unrelated() -> None:
    session = LANGUAGE.open_session("Where is the fox?")
    session.append(["It rained.", "The mayor slept."])
    assert session.probability_of_yes() == 0.0
    assert list(session.answer(max_tokens=9)) == []


@given(st.lists(st.text(max_size=30), max_size=5), st.integers(1, 64))
def test_vectors_have_length_1(texts: list[str], dimension: int) -> None:
    vectors = FakeEmbedder(dimension).embed(texts)
    assert (vectors.shape, vectors.dtype) == ((len(texts), dimension), np.float32)
    assert np.linalg.norm(vectors, axis=1).tolist() == pytest.approx([1.0] * len(texts))


def test_texts_that_share_words_are_near() -> None:
    fox, den, rain = EMBEDDER.embed(["Ann found a red fox.", "The red fox has a den.", "It rained nine days."])
    assert fox @ den > 0.4 > fox @ rain


def test_vectors_are_the_same_in_every_process() -> None:
    program = "from memgraph_rag.testing import FakeEmbedder; print(FakeEmbedder(8).embed(['a red fox']).tolist())"
    runs = {
        subprocess.run(
            [sys.executable, "-c", program], env={"PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2")
    }
    assert len(runs) == 1


# ── under a schema, and on request ───────────────────────────────────────────────────────────────────────────

TRIPLE = {"type": "array", "prefixItems": [{"type": "string"}] * 3, "minItems": 3, "maxItems": 3}
LISTS = {
    "type": "object",
    "properties": {
        "names": {"type": "array", "items": {"type": "string"}, "maxItems": 2},
        "relations": {"type": "array", "items": TRIPLE, "maxItems": 9},
    },
}


def test_a_schema_of_lists_is_filled_from_the_inputs() -> None:
    prompt = Prompt("List.", ("Ann Lee met Tom. It rained.", "Tom went to Leeds."))
    (generation,) = LANGUAGE.generate([prompt], max_tokens=99, schema=LISTS)
    assert json.loads(generation.text) == {
        "names": ["Ann Lee", "Tom"],
        "relations": [["Ann Lee", "Tom", "Ann Lee met Tom."], ["Tom", "Leeds", "Tom went to Leeds."]],
    }


def test_enumeration_gets_its_first_capitalised_value() -> None:
    schema = {"properties": {"value": {"enum": ["the", "the Tram", "Tram", "Tram now"]}, "other": {"enum": ["a", "b"]}}}
    (generation,) = LANGUAGE.generate([Prompt("Copy.", ("x",))], max_tokens=99, schema=schema)
    assert json.loads(generation.text) == {"value": "Tram", "other": "a"}


def test_verdicts_on_turns_are_scripted_by_their_words() -> None:
    judged = FakeLanguageModel(told={"tram": 0.9, "bike": 0.7}).judge_turns("?", ["tram and bike", "a bike", "a car"])
    assert (judged.probabilities, judged.is_calibrated, judged.usage.model_calls) == ((0.9, 0.7, 0.0), True, 1)
    unscripted = LANGUAGE.judge_turns("?", ["tram"])
    assert (unscripted.probabilities, unscripted.is_calibrated) == ((0.0,), False)


def test_a_scripted_reply_is_written_as_it_is_whatever_the_schema() -> None:
    (generation,) = FakeLanguageModel(["no JSON"]).generate([Prompt("", ("x",))], max_tokens=9, schema=LISTS)
    assert generation.text == "no JSON"


def test_under_a_schema_stop_is_asked_where_a_list_ends() -> None:
    asked = []
    model = FakeLanguageModel(['{"a": ["b"], "c": [\n]}'])
    model.generate([Prompt("", ("x",))], max_tokens=99, schema=LISTS, stop=lambda _, text: bool(asked.append(text)))
    assert asked == ['{"a": ["b"]', '{"a": ["b"], "c": [\n]', '{"a": ["b"], "c": [\n]}']


def test_fake_replies_from_script_then_with_nearest_sentence() -> None:
    with FakeLanguageModel(said=["The mill is missing."]).open_session("Where?") as session:
        session.append(["It rained. Ann sold the mill."])
        assert session.reply("What is missing?", max_tokens=99) == "The mill is missing."
        assert session.reply("Who sold it?", max_tokens=99, temperature=0.7, seed=3) == "Ann sold the mill."
        assert session.reply("Who sold it?", max_tokens=2) == "Ann sold"
