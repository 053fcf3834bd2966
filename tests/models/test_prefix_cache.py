"""What one prompt has read, the next one with other words behind it does not read again; and it writes the same."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from twins import PROMPTS, assert_same_generations

from memgraph_rag.models.engine.kv_cache import RowCache
from memgraph_rag.models.engine.language_model import TransformersModel
from memgraph_rag.models.engine.prefix_cache import Prefixes

FIRST = [replace(prompt, task="Write a list of summary points.") for prompt in PROMPTS]
SECOND = [replace(prompt, task="Name all that are named; then say how they are related.") for prompt in PROMPTS]


@pytest.fixture
def fresh(checkpoint) -> TransformersModel:
    return TransformersModel(checkpoint, dtype="float32", device="cpu")


def read_by(model: TransformersModel, monkeypatch) -> list[int]:
    """The number of tokens of each forward pass from now on."""
    passes: list[int] = []
    forward = model.forward

    def counted(ids, *args, **more):
        passes.append(len(ids[0]))
        return forward(ids, *args, **more)

    monkeypatch.setattr(model, "forward", counted)
    return passes


def test_second_task_over_a_prefix_writes_the_same(fresh, twin):
    for prompts in (FIRST, SECOND, FIRST[::-1], [*SECOND, *FIRST]):
        assert_same_generations(fresh, twin, prompts, 24)


def test_shared_inputs_are_read_once(fresh, monkeypatch):
    fresh.generate(FIRST[:1], max_tokens=1)
    passes = read_by(fresh, monkeypatch)
    fresh.generate(SECOND[:1], max_tokens=1)
    ids, spans = fresh.tokens.prompt(SECOND[0])
    behind = len(ids) - spans[-1][1]
    assert behind <= max(passes) < behind + 16 < spans[-1][1]  # rounded up


def test_changed_inputs_are_read_again(fresh, monkeypatch):
    fresh.generate(FIRST[:1], max_tokens=1)
    passes = read_by(fresh, monkeypatch)
    other = replace(SECOND[0], inputs=("Another.", *SECOND[0].inputs[1:]))
    fresh.generate([other], max_tokens=1)
    ids, _ = fresh.tokens.prompt(other)
    assert max(passes) > len(ids) / 2


def row(tokens: int) -> RowCache:
    cache = RowCache()
    states = torch.ones(1, 1, tokens, 64)
    cache.update(states, states, 0)
    cache.advance(tokens)
    return cache


def test_oldest_prefix_is_forgotten():
    size = row(3).nbytes
    prefixes = Prefixes(2 * size)
    for number in range(2):
        prefixes.keep([number], row(3))
    assert prefixes.find([0]) is not None
    prefixes.keep([2], row(3))
    assert [[number] in prefixes for number in range(3)] == [True, False, True]
    assert prefixes.find([1]) is None


def test_too_large_prefix_is_not_stored():
    prefixes = Prefixes(row(3).nbytes - 1)
    prefixes.keep([1, 2, 3], row(3))
    assert [1, 2, 3] not in prefixes
