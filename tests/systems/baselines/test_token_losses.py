"""Losses of tokens by a tiny random model, against those of its plain twin."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from architectures import write_checkpoint

from memgraph_rag.errors import StrategyError, WindowExceeded
from memgraph_rag.models.endpoints.pen_and_eye import PenAndEye
from memgraph_rag.models.engine.language_model import TransformersModel
from memgraph_rag.models.engine.reference import PlainModel
from memgraph_rag.systems.baselines.token_losses import TokenLosses
from memgraph_rag.testing import FakeLanguageModel

QUESTION = "What did Peter eat?"
TEXT = "Peter ate lettuces, French beans and radishes in Mr. McGregor's garden."


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_checkpoint("qwen2", tmp_path_factory.mktemp("qwen2"))


@pytest.fixture(scope="module")
def model(checkpoint: Path) -> TransformersModel:
    return TransformersModel(checkpoint, dtype="float32", device="cpu")


@pytest.mark.parametrize("after", ["", QUESTION])
def test_losses_equal_plain_reference(checkpoint: Path, model: TransformersModel, after: str) -> None:
    twin = PlainModel(checkpoint, dtype="float32", device="cpu")
    before, own = (twin.tokens.encode(text) for text in (after, TEXT))
    ids = [*before.ids, *own.ids]
    logs = torch.log_softmax(twin._forward(ids).logits[0].float(), dim=-1)
    expected = [-float(logs[place - 1, ids[place]]) if place else 0.0 for place in range(len(before.ids), len(ids))]
    with model.open_session(QUESTION) as session:
        offsets, losses = TokenLosses(session, "llmlingua").measure(TEXT, after=after)
    np.testing.assert_array_equal(offsets, own.offsets)
    np.testing.assert_allclose(losses, expected, rtol=2e-4, atol=2e-4)
    assert (losses[0] == 0) == (not after)
    assert (losses[1:] > 0).all()


def test_session_pays_and_reads_nothing(model: TransformersModel) -> None:
    with model.open_session(QUESTION) as session:
        session.append([TEXT])
        left, used = session.tokens_left, session.usage
        TokenLosses(session, "llmlingua").measure(TEXT, after=QUESTION)
        assert session.tokens_left == left
        paid = replace(session.usage, seconds=0)
        tokens = sum(model.count_tokens([QUESTION, TEXT]))
        assert paid.prompt_tokens - used.prompt_tokens == tokens
        assert paid.model_calls - used.model_calls == 1


def test_earlier_text_is_cut_to_the_window_and_the_question_is_not(checkpoint: Path) -> None:
    model = TransformersModel(checkpoint, dtype="float32", device="cpu", window=512)
    tokens = model.tokens.encode("word " * 600).ids
    room = 512 - sum(model.count_tokens([QUESTION, TEXT]))
    end = model.tokens.decode(tokens[-room:])
    assert room > 4
    with model.open_session("Who?") as session:
        losses = TokenLosses(session, "longllmlingua")
        whole, cut = (losses.measure(TEXT, after=after, question=QUESTION)[1] for after in ("word " * 600, end))
        np.testing.assert_allclose(whole, cut, rtol=1e-4, atol=1e-5)
        assert not np.allclose(whole, losses.measure(TEXT, after="word " * 600)[1])


def test_text_without_tokens_has_no_losses(model: TransformersModel) -> None:
    with model.open_session(QUESTION) as session:
        assert TokenLosses(session, "llmlingua").measure("")[0].shape == (0, 2)


def test_texts_beyond_the_window_are_refused(model: TransformersModel) -> None:
    with model.open_session(QUESTION) as session, pytest.raises(WindowExceeded, match="at once"):
        TokenLosses(session, "llmlingua").measure("word " * 9_000)


def test_reader_beside_an_endpoint_gives_the_losses(model: TransformersModel) -> None:
    pair = PenAndEye(FakeLanguageModel(attends=False), model)
    with pair.open_session(QUESTION) as session, model.open_session(QUESTION) as alone:
        before = session.usage
        _, losses = TokenLosses(session, "llmlingua").measure(TEXT)
        np.testing.assert_array_equal(losses, TokenLosses(alone, "llmlingua").measure(TEXT)[1])
        assert session.usage.prompt_tokens > before.prompt_tokens


def test_model_without_weights_here_is_refused() -> None:
    with FakeLanguageModel().open_session(QUESTION) as session, pytest.raises(StrategyError, match="FakeSession"):
        TokenLosses(session, "llmlingua")
