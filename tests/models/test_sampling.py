"""Choosing the next token from its logits."""

from __future__ import annotations

import torch
from tables import table

from memgraph_rag.models.engine.sampling import Sampler, greedy


@table("dtype", [torch.bfloat16, torch.float16, torch.float32])
def test_greedy_takes_the_first_of_equal_logits(dtype: torch.dtype):
    logits = torch.zeros(3, 2, 20_000, dtype=dtype)
    logits[0, 0, [700, 19_000]] = 2
    logits[2, 1, [19_999, 5]] = 1
    assert greedy(logits).tolist() == [[700, 0], [0, 0], [0, 5]]
    assert torch.equal(greedy(logits), logits.float().argmax(dim=-1))


def test_a_draw_without_temperature_is_greedy():
    assert Sampler()(torch.tensor([0.0, 3.0, 3.0, 1.0])) == 1


def test_the_same_seed_draws_the_same():
    logits = torch.linspace(0, 1, 50)
    draws = [[Sampler(temperature, seed=3)(logits) for _ in range(2)] for temperature in (1.0, 1.0)]
    assert draws[0] == draws[1]
    assert len({Sampler(5.0, seed)(logits) for seed in range(30)}) > 5
