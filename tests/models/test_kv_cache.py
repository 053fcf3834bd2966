"""The cache of rows against plain concatenation."""

from __future__ import annotations

import sys
import weakref

import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from memgraph_rag.models.engine.kv_cache import RowCache, cache_argument


def _states(tokens: int, rows: int = 1, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(rows, 2, tokens, 4, generator=generator), torch.randn(rows, 2, tokens, 4, generator=generator)


def _append(cache: RowCache, tokens: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """New states for all rows, in two layers; what the cache then shows of the second."""
    key, value = _states(tokens, rows=len(cache.lengths), seed=seed)
    cache.update(key + 1, value + 1, 0)
    shown = cache.update(key, value, 1)
    cache.advance(tokens)
    return shown


def _shown(cache: RowCache, row: int) -> torch.Tensor:
    return cache._buffers[1][0][row, :, : cache.lengths[row]]


def test_appending_equals_concatenation_over_many_blocks():
    cache = RowCache()
    keys, values = [], []
    for step, tokens in enumerate([3, 1, 600, 1, 255, 1]):
        key, value = _states(tokens, seed=step)
        keys.append(key)
        values.append(value)
        seen_keys, seen_values = _append(cache, tokens, step)
        assert torch.equal(seen_keys[:, :, : cache.lengths[0]], torch.cat(keys, dim=2))
        assert torch.equal(seen_values[:, :, : cache.lengths[0]], torch.cat(values, dim=2))


def test_cache_grows_layer_by_layer(monkeypatch):
    """Old and new buffers of all layers are never there together."""
    cache = RowCache()
    _append(cache, 3, seed=0)
    before = _shown(cache, 0).clone()
    assert cache.has_room(1, 256)
    assert not cache.has_room(2, 3)
    assert not cache.has_room(1, 257)
    first = weakref.ref(cache._buffers[0][0])
    with_room, of_first = RowCache._grow, []

    def counted(*given):
        of_first.append(first() is not None)
        return with_room(*given)

    monkeypatch.setattr(RowCache, "_grow", counted)
    cache.make_room(2, 300)
    assert of_first == [True, False]
    assert cache.has_room(2, 300)
    assert torch.equal(_shown(cache, 0), before)


def test_trim_frees_unused_room():
    cache = RowCache(rows=5)
    _append(cache, 300, seed=0)
    cache.remove_row(1)
    cache.take_back([290, 10, 280, 270])
    rows = [_shown(cache, row).clone() for row in range(4)]
    assert cache.count_room(0, 0) == 5 * 512
    assert cache.count_room(8, 0) == 8 * 512
    cache.trim()
    assert cache.count_room(0, 0) == 4 * 290
    assert all(torch.equal(_shown(cache, row), states) for row, states in enumerate(rows))
    _append(cache, 1, seed=1)


def test_cache_counts_tokens_that_fit_in_bytes():
    cache = RowCache()
    assert cache.count_tokens_within(0) == sys.maxsize, "nobody knows yet how large a token is"
    _append(cache, 3, seed=0)
    of_token = 2 * 2 * 2 * 4 * 4  # layers, keys and values, heads, width, bytes
    assert cache.nbytes == 256 * of_token
    assert cache.count_tokens_within(0) == 128
    assert cache.count_tokens_within(1000 * of_token) == 628


def test_tokens_count_only_after_advance():
    cache = RowCache()
    _append(cache, 3, seed=0)
    before = _shown(cache, 0).clone()
    cache.update(*_states(5, seed=1), 0)  # a pass that failed after its first layer
    assert cache.lengths == [3]
    assert torch.equal(_shown(cache, 0), before)


def test_taking_back_forgets_the_last_tokens():
    cache = RowCache()
    _append(cache, 10, seed=0)
    cache.take_back(4)
    assert cache.get_seq_length() == 6
    keys, _ = _append(cache, 1, seed=1)
    assert torch.equal(keys[:, :, :7], torch.cat([_states(10)[0][:, :, :6], _states(1, seed=1)[0]], dim=2))


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("add"), st.integers(1, 300)),
            st.tuples(st.just("append"), st.integers(1, 3)),
            st.tuples(st.just("remove"), st.integers(0, 5)),
        ),
        max_size=12,
    )
)
def test_rows_of_the_cache_are_independent(steps):
    cache = RowCache(rows=0)
    expected: list[torch.Tensor] = []
    for seed, (what, amount) in enumerate(steps):
        if what == "add":
            row_cache = RowCache()
            _append(row_cache, amount, seed)
            cache.add_row(row_cache)
            expected.append(_states(amount, seed=seed)[0][0])
        elif what == "append" and expected:
            _append(cache, amount, seed)
            new = _states(amount, rows=len(expected), seed=seed)[0]
            expected = [torch.cat([row, more], dim=1) for row, more in zip(expected, new, strict=True)]
        elif what == "remove" and expected:
            place = amount % len(expected)
            cache.remove_row(place)
            expected[place] = expected[-1]
            expected.pop()
        assert cache.lengths == [row.shape[1] for row in expected]
        for row, states in enumerate(expected):
            assert torch.equal(_shown(cache, row), states)


class _Before(torch.nn.Module):
    def forward(self, ids: Tensor, past_key_values: object = None) -> Tensor: ...


class _Since(torch.nn.Module):
    def forward(self, ids: Tensor, cache: object = None) -> Tensor: ...


def test_cache_has_the_argument_name_of_the_network() -> None:
    assert [cache_argument(network) for network in (_Before, _Since)] == ["past_key_values", "cache"]
