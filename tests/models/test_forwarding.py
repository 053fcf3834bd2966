"""A wrapper of a language model has every member of its model."""

from __future__ import annotations

import copy

import pytest

from memgraph_rag.models.wrappers.forwarding import ForwardingModel
from memgraph_rag.testing import FakeLanguageModel


def test_wrapper_passes_on_each_member_of_the_contract() -> None:
    model = FakeLanguageModel(name="fox", window=99)
    wrapper = ForwardingModel(model)
    assert (wrapper.name, wrapper.window) == (model.name, 99)
    assert wrapper.count_tokens(["a red fox"]) == model.count_tokens(["a red fox"])
    assert wrapper.generate([], max_tokens=5) == []
    with wrapper.open_session("Who?") as session:
        assert session.tokens_left == model.open_session("Who?").tokens_left


def test_wrapper_passes_on_optional_members() -> None:
    model = FakeLanguageModel()
    assert ForwardingModel(model).read_written([], []) == []
    assert ForwardingModel(model).judge_turns("Who?", ["Ann"]) == model.judge_turns("Who?", ["Ann"])
    with pytest.raises(AttributeError, match="colour"):
        _ = ForwardingModel(model).colour


def test_copy_of_wrapper_wraps_the_same_model() -> None:
    model = FakeLanguageModel()
    assert copy.copy(ForwardingModel(model)).unwrapped is model
