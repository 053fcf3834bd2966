"""One model writes, another attends: whose words and whose attention come back, and that both hold the same."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from memgraph_rag import Memory
from memgraph_rag.contracts import AttentiveModel
from memgraph_rag.errors import SettingsError, StrategyError, WindowExceeded
from memgraph_rag.models.endpoints.pen_and_eye import PenAndEye
from memgraph_rag.testing import FakeEmbedder, FakeLanguageModel, FakeRecognizer
from memgraph_rag.types import Prompt

QUESTION = "Who found the fox?"
NODES = ["It rained.", "Ann found a red fox."]
PROMPT = Prompt("Summarise.", ("Ann found a fox.", "It rained for nine days."))
EYE = FakeLanguageModel(name="eye", yes=[0.25, 0.75])


def pen(**options) -> FakeLanguageModel:
    return FakeLanguageModel(name="pen", attends=False, **options)


def of_two(**options) -> PenAndEye:
    return PenAndEye(pen(**options), EYE)


def test_name_of_a_pair_holds_both_names() -> None:
    model: AttentiveModel = of_two()
    assert model.name == "pen + eye"
    assert model.window == EYE.window


def test_pen_writes_and_eye_attends() -> None:
    (generation,) = of_two(replies=["* Ann found rain.\n"]).generate([PROMPT], max_tokens=50)
    (expected,) = EYE.read_written([PROMPT], ["* Ann found rain.\n"])
    assert (generation.text, generation.finish) == ("* Ann found rain.\n", "end")
    np.testing.assert_array_equal(generation.attention, expected.attention)
    np.testing.assert_array_equal(generation.offsets, expected.offsets)
    assert generation.usage.model_calls == 2


def test_generation_has_the_finish_of_the_writer() -> None:
    (generation,) = of_two(replies=["* Ann found a fox in the barn."]).generate([PROMPT], max_tokens=3)
    assert (generation.text, generation.finish) == ("* Ann found", "length")


def test_text_under_schema_has_no_attention() -> None:
    schema = {"type": "object", "properties": {"names": {"type": "array", "items": {"type": "string"}}}}
    (generation,) = of_two().generate([PROMPT], max_tokens=50, schema=schema)
    assert generation.attention is None
    assert generation.usage.model_calls == 1


@pytest.mark.parametrize("graded", [True, False])
def test_session_has_the_eyes_attention_and_the_pens_words(graded: bool, monkeypatch) -> None:
    model = of_two(yes=[0.5, 0.9], answer="Ann did.", said=["A fox."], judged=[0.75])
    with model.open_session(QUESTION) as session, EYE.open_session(QUESTION) as eye:
        if not graded:
            monkeypatch.setattr(session, "_says_yes", session.eye)
        np.testing.assert_array_equal(session.append(NODES[:1]), eye.append(NODES[:1]))
        np.testing.assert_array_equal(session.append(NODES[1:]), eye.append(NODES[1:]))
        assert session.probability_of_yes() == pytest.approx(0.5 if graded else 0.25)
        assert "".join(session.answer(max_tokens=9)) == "Ann did."
        assert session.reply("What?", max_tokens=9) == "A fox."
        assert session.judge("Is it red?") == (0.75 if graded else 1.0)
        assert session.attends
        assert session.usage.prompt_tokens > eye.usage.prompt_tokens


def test_nodes_beyond_a_window_enter_neither_session() -> None:
    model = PenAndEye(pen(), FakeLanguageModel(name="eye", window=60))
    with model.open_session(QUESTION) as session:
        left = session.tokens_left
        with pytest.raises(WindowExceeded):
            session.append(["fox " * 60])
        assert session.tokens_left == left
        session.append(NODES)
        session.append(NODES[:1])
        session.take_back(2)
        assert session.tokens_left == left


# ── in a memory ──────────────────────────────────────────────────────────────────────────────────────────────

STORY = "Ann Lee found a red fox. It rained. Tom Poe saw the red fox of Ann Lee. The mayor slept. " * 4


def open_memory(path: Path, **options) -> Memory:
    parts = {"embedder": FakeEmbedder(), "recognizer": FakeRecognizer(), "segment_tokens": 20, "batch_tokens": 512}
    return Memory(path, layers=("entities", "points"), **parts, **options)


def test_memory_with_a_reader_reads_by_attention(tmp_path: Path) -> None:
    with open_memory(tmp_path / "notes.lbug", model=pen(), reader=FakeLanguageModel(name="eye")) as memory:
        receipt = memory.add(STORY)
        assert "weights by similarity" not in receipt.notes
        assert memory.documents()[0].model == "pen + eye"
        answer = memory.ask(QUESTION, strategy="pecan")
        assert answer.model == "pen + eye"
        assert max(step.attention for step in answer.trace) > 0


def test_auto_reader_does_not_join_a_model_that_attends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMGRAPH_RAG_READER", "auto")
    with open_memory(tmp_path / "notes.lbug", model=FakeLanguageModel(name="both")) as memory:
        memory.add(STORY)
        assert memory.documents()[0].model == "both"


def test_memory_without_reader_weighs_by_similarity(tmp_path: Path) -> None:
    with open_memory(tmp_path / "notes.lbug", model=pen()) as memory:
        receipt = memory.add(STORY)
        assert receipt.notes["weights by similarity"] == receipt.counts["InformationPoint"]
        answer = memory.ask(QUESTION)
        assert answer.text
        assert {step.attention for step in answer.trace} == {0.0}
        with pytest.raises(StrategyError, match="reader="):
            memory.ask(QUESTION, strategy="pecan")


def test_reader_that_cannot_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"Expected reader .* has read_written\(\)"):
        open_memory(tmp_path / "notes.lbug", model=pen(), reader=object())


def test_points_get_weights_of_the_reader(tmp_path: Path) -> None:
    """With the same model as pen and as eye, all is as with that model alone."""
    alone, both = FakeLanguageModel(name="one"), PenAndEye(FakeLanguageModel(name="one", attends=False), EYE)
    for mine, theirs in zip(
        alone.generate([PROMPT], max_tokens=50), both.generate([PROMPT], max_tokens=50), strict=True
    ):
        np.testing.assert_allclose(mine.attention, theirs.attention)
        assert replace(mine, usage=None, attention=None, offsets=None) == replace(
            theirs, usage=None, attention=None, offsets=None
        )
