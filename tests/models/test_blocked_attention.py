"""Attention in blocks of queries against one full softmax matrix."""

from __future__ import annotations

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from torch import Tensor

from memgraph_rag.models.engine.attention import Spans
from memgraph_rag.models.engine.blocked_attention import Members, attend_in_blocks

WIDTH, SHARED, GROUPS = 8, 2, 3


def states(queries: int, keys: int, *, rows: int = 1, seed: int = 0) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    query = torch.randn(rows, SHARED * GROUPS, queries, WIDTH, generator=generator)
    key = torch.randn(rows, SHARED, keys, WIDTH, generator=generator)
    return query, key + 2, torch.randn(rows, SHARED, keys, WIDTH + 1, generator=generator)


def softmax_matrix(query: Tensor, key: Tensor, window: int | None, sinks: Tensor | None) -> Tensor:
    """(B, H, Tq, Tk) probabilities of causal attention."""
    queries, keys = query.shape[2], key.shape[2]
    scores = 0.5 * query.double() @ key.double().repeat_interleave(GROUPS, dim=1).transpose(2, 3)
    place = torch.arange(keys - queries, keys)[:, None]
    hidden = torch.arange(keys) > place
    if window is not None:
        hidden |= torch.arange(keys) <= place - window
    scores = scores.masked_fill(hidden, float("-inf"))
    if sinks is None:
        return scores.softmax(dim=-1)
    sink = sinks.double()[:, None, None].expand(len(scores), -1, queries, 1)
    return torch.cat([scores, sink], dim=-1).softmax(dim=-1)[..., :-1]


@settings(max_examples=60)
@given(
    queries=st.integers(1, 150),
    held=st.integers(0, 100),
    rows=st.integers(1, 2),
    window=st.none() | st.integers(1, 200),
    has_sinks=st.booleans(),
    seed=st.integers(0, 100),
    cuts=st.lists(st.integers(0, 250), min_size=2, max_size=6, unique=True),
)
@example(queries=130, held=0, rows=1, window=1, has_sinks=False, seed=0, cuts=[0, 1])
@example(queries=130, held=0, rows=1, window=3, has_sinks=False, seed=0, cuts=[0, 2])
def test_blocked_output_and_mass_equal_whole_matrix(
    queries: int, held: int, rows: int, window: int | None, has_sinks: bool, seed: int, cuts: list[int]
):
    query, key, value = states(queries, queries + held, rows=rows, seed=seed)
    sinks = torch.linspace(-1, 2, SHARED * GROUPS) if has_sinks else None
    ends = sorted({min(cut, queries + held) for cut in cuts})
    spans = [[*zip(ends[row:-1], ends[row + 1 :], strict=True)] for row in range(rows)]
    of_spans = Spans(spans, length=queries + held, device=torch.device("cpu"), room=1)
    output, mass = attend_in_blocks(
        query, key, value, scale=0.5, window=window, sinks=sinks, members=of_spans.members()
    )
    expected, near = softmax_matrix(query, key, window, sinks), {"rtol": 1e-4, "atol": 1e-5}
    torch.testing.assert_close(output.double(), expected @ value.double().repeat_interleave(GROUPS, dim=1), **near)
    assert mass is not None
    assert mass.dtype == torch.float32
    for row, of_row in enumerate(spans):
        for number, (start, end) in enumerate(of_row):
            torch.testing.assert_close(mass[row, ..., number].double(), expected[row, ..., start:end].sum(-1), **near)


def test_attention_is_not_measured_without_spans():
    assert attend_in_blocks(*states(5, 9), scale=0.5)[1] is None


def test_spans_outside_all_blocks_have_no_mass():
    query, key, value = states(4, 4)
    members = Members(9, torch.ones(1, 3, 1))
    mass = attend_in_blocks(query, key, value, scale=0.5, members=members)[1]
    assert mass is not None
    assert mass.shape == (1, 6, 4, 1)
    assert not mass.any()


@pytest.mark.parametrize("shift", [0.0, 30.0], ids=["around zero", "far from zero"])
def test_half_precision_keeps_mass_of_similar_keys(shift: float):
    """A shift of all keys, which no softmax sees, would leave scores of which bfloat16 keeps too little."""
    query, key, value = (tensor.bfloat16() for tensor in states(100, 100))
    key = key + torch.full((WIDTH,), shift, dtype=torch.bfloat16)
    output, _ = attend_in_blocks(query, key, value, scale=0.5)
    expected = softmax_matrix(query, key, None, None) @ value.double().repeat_interleave(GROUPS, dim=1)
    assert output.dtype == torch.bfloat16
    assert (output.double() - expected).abs().max() < 0.05
