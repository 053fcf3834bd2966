"""Weights load while whoever opened a session looks for what to read."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from architectures import write_checkpoint

from memgraph_rag.errors import ModelError, QuestionError
from memgraph_rag.models import weights
from memgraph_rag.models.language_model import TransformersModel

QUESTION, NODE = "Who ran over the hill?", "A fox ran over the hill."


@pytest.fixture
def model(tmp_path: Path) -> TransformersModel:
    return TransformersModel(write_checkpoint("qwen2", tmp_path), dtype="int8", device="cpu")


def test_a_session_opens_while_integers_are_made(model: TransformersModel, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, may_end, real = threading.Event(), threading.Event(), weights.use_int8
    monkeypatch.setattr(weights, "use_int8", lambda *a, **k: (begun.set(), may_end.wait(60), real(*a, **k)))
    with model.open_session(QUESTION) as session:
        assert begun.wait(60)
        assert 0 < session.tokens_left < model.window
        assert session.usage.prompt_tokens == 0, "nothing was read yet"
        may_end.set()
        session.append([NODE])
        assert session.usage.prompt_tokens > 0


def test_weights_load_once(model: TransformersModel, monkeypatch: pytest.MonkeyPatch) -> None:
    loads, load = [], model._load
    monkeypatch.setattr(model, "_load", lambda: (loads.append(1), load())[-1])
    for _ in range(2):
        with model.open_session(QUESTION) as session:
            assert 0 <= session.probability_of_yes() <= 1
    assert loads == [1]


def test_damaged_weights_are_told_when_a_session_opens(model: TransformersModel, tmp_path: Path) -> None:
    for file in tmp_path.glob("*.safetensors"):
        file.write_bytes(b"damaged")
    with pytest.raises(ModelError, match=r"Expected model weights in .*\. Unpack or fetch the model again"):
        model.open_session(QUESTION)


def test_integers_that_cannot_be_made_are_told_by_the_first_pass(
    model: TransformersModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr(weights, "use_int8", fail)
    with model.open_session(QUESTION) as session, pytest.raises(MemoryError):
        session.append([NODE])


def test_a_question_too_long_loads_nothing(model: TransformersModel, monkeypatch: pytest.MonkeyPatch) -> None:
    loads: list[int] = []
    monkeypatch.setattr(model, "_load", lambda: loads.append(1))
    with pytest.raises(QuestionError):
        model.open_session("why " * 9_000)
    assert loads == []
