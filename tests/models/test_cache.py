"""The growing cache against plain concatenation."""

from __future__ import annotations

import torch

from memgraph_rag.models import cache


def _states(tokens: int, rows: int = 1, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(rows, 2, tokens, 4, generator=generator), torch.randn(rows, 2, tokens, 4, generator=generator)


def test_appending_equals_concatenation_over_many_blocks():
    grown = cache.new_cache()
    keys, values = [], []
    for step, tokens in enumerate([3, 1, 600, 1, 255, 1]):
        key, value = _states(tokens, seed=step)
        keys.append(key)
        values.append(value)
        seen_keys, seen_values = grown.update(key, value, 0)
        assert torch.equal(seen_keys, torch.cat(keys, dim=2))
        assert torch.equal(seen_values, torch.cat(values, dim=2))


def test_crop_takes_back_the_last_positions():
    grown = cache.new_cache()
    key, value = _states(10)
    grown.update(key, value, 0)
    cache.crop(grown, 4)
    assert grown.get_seq_length() == 6
    new_key, new_value = _states(1, seed=1)
    keys, _ = grown.update(new_key, new_value, 0)
    assert torch.equal(keys, torch.cat([key[:, :, :6], new_key], dim=2))
    cache.crop(grown, 0)
    assert grown.get_seq_length() == 7


def test_join_pads_on_the_left_and_select_keeps_rows():
    short, long = cache.new_cache(), cache.new_cache()
    short_key, short_value = _states(2)
    long_key, long_value = _states(5, seed=1)
    short.update(short_key, short_value, 0)
    long.update(long_key, long_value, 0)
    joined = cache.join([short, long])
    assert torch.equal(joined.layers[0].keys[0, :, 3:], short_key[0])
    assert torch.equal(joined.layers[0].values[1], long_value[0])
    assert not joined.layers[0].keys[0, :, :3].any()
    cache.select(joined, [1])
    assert torch.equal(joined.layers[0].keys, long_key)
