"""The KV cache: the only module that touches its layout.

It knows nothing of nodes, questions or attention. Invariant: a layer's ``keys`` and ``values`` are views of the
first ``length`` positions of buffers that grow in blocks, so that appending one token copies one token, and
taking tokens back copies nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from transformers.cache_utils import Cache, DynamicLayer

__all__ = ["crop", "join", "new_cache", "select"]

_BLOCK = 256  # positions; a 1.5B model's block is 7 MB in bf16


class _GrowingLayer(DynamicLayer):
    """Keys and values of one layer, (B, H, T, D) each, in buffers with room to spare."""

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        super().lazy_initialization(key_states, value_states)
        self._buffers = tuple(
            states.new_empty(*states.shape[:2], 0, states.shape[3]) for states in (key_states, value_states)
        )
        self._show(0)

    def update(
        self,
        key_states: Tensor,
        value_states: Tensor,
        *args: object,  # noqa: ARG002 - the base class's signature
        **kwargs: object,  # noqa: ARG002
    ) -> tuple[Tensor, Tensor]:
        """Append (B, H, t, D) states; all states so far."""
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        start, end = self._length, self._length + key_states.shape[2]
        if end > self._buffers[0].shape[2]:
            self._grow(end)
        for buffer, states in zip(self._buffers, (key_states, value_states), strict=True):
            buffer[:, :, start:end] = states
        return self._show(end)

    def crop(self, tokens_to_remove: int) -> None:
        """Take back the last ``-tokens_to_remove`` positions."""
        self._show(self._length - abs(tokens_to_remove))

    def batch_select_indices(self, indices: Tensor) -> None:
        """Keep these rows of the batch."""
        self._buffers = tuple(buffer[indices] for buffer in self._buffers)
        self._show(self._length)

    def _grow(self, positions: int) -> None:
        blocks = -(-positions // _BLOCK)
        room = max(blocks * _BLOCK, self._buffers[0].shape[2] * 5 // 4)
        grown = []
        for buffer in self._buffers:
            bigger = buffer.new_empty(*buffer.shape[:2], room, buffer.shape[3])
            bigger[:, :, : self._length] = buffer[:, :, : self._length]
            grown.append(bigger)
        self._buffers = tuple(grown)

    def _show(self, length: int) -> tuple[Tensor, Tensor]:
        """Make the first positions, so many, the ones that are visible."""
        self._length = length
        keys, values = (buffer[:, :, :length] for buffer in self._buffers)
        self.keys, self.values = keys, values
        return keys, values


def new_cache() -> Cache:
    """An empty cache, for any batch size."""
    return Cache(layer_class_to_replicate=_GrowingLayer)


def crop(cache: Cache, tokens: int) -> None:
    """Take back the last ``tokens`` positions of every layer."""
    if tokens:
        cache.crop(-tokens)


def select(cache: Cache, rows: Sequence[int]) -> None:
    """Keep these rows of the batch, in this order."""
    cache.batch_select_indices(torch.tensor(rows))


def join(caches: Sequence[Cache]) -> Cache:
    """One batch of several one-row caches, padded on the left to the longest.

    The keys carry their rotary positions already, so a row may be moved to the right without changing it.
    """
    joined = new_cache()
    longest = max(cache.get_seq_length() for cache in caches)
    for index in range(len(caches[0].layers)):
        layers = [cache.layers[index] for cache in caches]
        keys, values = (
            torch.cat([_pad_left(getattr(layer, name), longest) for layer in layers]) for name in ("keys", "values")
        )
        joined.update(keys, values, index)
    return joined


def _pad_left(states: Tensor, length: int) -> Tensor:
    return torch.nn.functional.pad(states, (0, 0, length - states.shape[2], 0))
