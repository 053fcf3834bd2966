"""The KV cache. No other module touches its memory layout.

The module does not know nodes, questions or attention. Invariants: the tokens of a row fill its slots from slot 0 on,
without padding, whatever the length of other rows. Buffers grow in blocks, so that adding a token copies one token.
Removing tokens or a row copies no tokens of other rows, except of the row that moves into the free place.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import lru_cache
from inspect import signature
from itertools import chain

import torch
from torch import Tensor
from transformers.cache_utils import Cache

_BLOCK = 256  # positions; a 1.5B model's block is 7 MB in bf16


class RowCache(Cache):
    """Keys and values of several rows, each row with its own length.

    A forward pass over (B, t) new tokens needs ``len(lengths) == B``. It writes the new tokens after the last token of
    each row, and ``advance`` then adds them to the lengths. A pass that fails before ``advance`` changes nothing
    visible.

    Args:
        rows: the number of rows at first, all empty.
    """

    def __init__(self, rows: int = 1) -> None:
        super().__init__(layers=[])
        self.lengths = [0] * rows
        self._buffers: list[tuple[Tensor, Tensor]] = []  # for each layer: keys and values, (rows, H, slots, D)

    # ── the interface that transformers calls ────────────────────────────────────────────────────────────

    @torch.inference_mode()
    def update(
        self,
        key_states: Tensor,
        value_states: Tensor,
        layer_idx: int,
        *args: object,  # noqa: ARG002 - the base class's signature
        **kwargs: object,  # noqa: ARG002
    ) -> tuple[Tensor, Tensor]:
        """Write (B, H, t, D) states of one layer; return all slots of all rows, (B, H, at least longest + t, D).

        The values after the end of a row are arbitrary, but finite.
        """
        rows, _, new, _ = key_states.shape
        end = max(self.lengths) + new
        if layer_idx == len(self._buffers):
            empty = [
                states.new_zeros(rows, states.shape[1], 0, states.shape[3]) for states in (key_states, value_states)
            ]
            self._buffers.append((empty[0], empty[1]))
        buffers = self._buffers[layer_idx] = self._grow(self._buffers[layer_idx], rows, end)
        if min(self.lengths) == end - new:
            for buffer, states in zip(buffers, (key_states, value_states), strict=True):
                buffer[:rows, :, end - new : end] = states
        else:
            device = key_states.device
            row = torch.arange(rows, device=device)[:, None]
            slots = torch.tensor(self.lengths, device=device)[:, None] + torch.arange(new, device=device)
            for buffer, states in zip(buffers, (key_states, value_states), strict=True):
                buffer[row, :, slots] = states.transpose(1, 2)
        return buffers[0][:rows], buffers[1][:rows]

    def get_seq_length(self, layer_idx: int = 0) -> int:  # noqa: ARG002 - the base class's signature
        """Return the number of tokens of the longest row; there must be a row."""
        return max(self.lengths)

    def get_mask_sizes(self, query_length: int, layer_idx: int) -> tuple[int, int]:  # noqa: ARG002
        """Return the number of keys of the longest row after ``query_length`` more tokens, and 0, the first position.

        transformers calls this for its masks. All layers have the same sizes.
        """
        return max(self.lengths) + query_length, 0

    # ── the interface that this library calls ────────────────────────────────────────────────────────────

    @property
    def nbytes(self) -> int:
        """The size of the buffers in bytes, with their free room; 0 before the first pass."""
        return sum(states.nbytes for buffers in self._buffers for states in buffers)

    def count_tokens_within(self, free: int) -> int:
        """Return how many tokens all rows together may hold if the buffers may grow by ``free`` bytes.

        Returns ``sys.maxsize`` before the first layer was written. The calculation uses half of the memory, because
        buffers grow by more than was asked for, and old buffers exist until their replacement is filled.
        """
        per_token = sum(states.itemsize * states.shape[1] * states.shape[3] for states in chain(*self._buffers))
        return (free + self.nbytes) // (2 * per_token) if per_token else sys.maxsize

    def advance(self, tokens: int) -> None:
        """Add this number of new tokens to the length of each row."""
        self.lengths = [length + tokens for length in self.lengths]

    def take_back(self, tokens: int | Sequence[int]) -> None:
        """Remove the last tokens of each row: one number for all rows, or a number for each row."""
        counts = [tokens] * len(self.lengths) if isinstance(tokens, int) else tokens
        self.lengths = [length - count for length, count in zip(self.lengths, counts, strict=True)]

    @torch.inference_mode()
    def add_row(self, other: RowCache) -> None:
        """Copy the only row of another cache as a new last row."""
        (length,) = other.lengths
        row = len(self.lengths)
        self.lengths.append(length)
        for index, theirs in enumerate(other._buffers):
            if index == len(self._buffers):
                self._buffers.append((_make_empty_buffer(theirs[0]), _make_empty_buffer(theirs[1])))
            buffers = self._buffers[index] = self._grow(self._buffers[index], row + 1, length)
            for buffer, states in zip(buffers, theirs, strict=True):
                buffer[row, :, :length] = states[0, :, :length]

    @torch.inference_mode()
    def remove_row(self, row: int) -> None:
        """Remove a row. The last row takes its place. The buffers keep their size."""
        last = len(self.lengths) - 1
        length = self.lengths[row] = self.lengths[last]
        self.lengths.pop()
        if row != last:
            for buffers in self._buffers:
                for buffer in buffers:
                    buffer[row, :, :length] = buffer[last, :, :length]

    @torch.inference_mode()
    def make_room(self, rows: int, slots: int) -> None:
        """Grow the buffers for ``rows`` rows of ``slots`` tokens, old tokens included; never before the first pass."""
        for index, buffers in enumerate(self._buffers):  # one layer at a time, so that only one exists twice
            self._buffers[index] = self._grow(buffers, rows, slots)

    def has_room(self, rows: int, slots: int) -> bool:
        """Return whether ``rows`` rows of ``slots`` tokens fit without growing; True before the first pass."""
        return all(rows <= keys.shape[0] and slots <= keys.shape[2] for keys, _ in self._buffers)

    def count_room(self, rows: int, slots: int) -> int:
        """Return for how many tokens, at least, the buffers have room after ``make_room(rows, slots)``."""
        old_shape = self._buffers[0][0].shape if self._buffers else (0, 0, 0)
        return max(rows, old_shape[0]) * max(slots, old_shape[2])

    @torch.inference_mode()
    def trim(self) -> None:
        """Free the memory that the tokens of the current rows do not need. The buffers are copied, layer by layer."""
        rows, slots = len(self.lengths), max(self.lengths, default=0)
        for index, (keys, values) in enumerate(self._buffers):
            self._buffers[index] = keys[:rows, :, :slots].clone(), values[:rows, :, :slots].clone()

    def static(self, places: Tensor, *, slots: int | None = None) -> StaticRows:
        """Return a view of the first rows for passes in which no buffer grows or moves; see ``StaticRows``."""
        return StaticRows(self._buffers, places, slots)

    def _grow(self, buffers: tuple[Tensor, Tensor], rows: int, slots: int) -> tuple[Tensor, Tensor]:
        """Return these buffers, or larger buffers with the same content, for ``rows`` rows of ``slots`` tokens."""
        old_rows, _, old_slots, _ = buffers[0].shape
        if rows <= old_rows and slots <= old_slots:
            return buffers
        if slots > old_slots:
            slots = max(-(-slots // _BLOCK) * _BLOCK, old_slots * 5 // 4)
        if rows > old_rows:
            rows = max(rows, old_rows * 2)
        grown = []
        for buffer in buffers:
            bigger = buffer.new_zeros(max(rows, old_rows), buffer.shape[1], max(slots, old_slots), buffer.shape[3])
            bigger[:old_rows, :, :old_slots] = buffer
            grown.append(bigger)
        return grown[0], grown[1]


class StaticRows(Cache):
    """Rows of a ``RowCache`` for passes in which no buffer grows or moves.

    After a pass, the caller calls ``advance`` of the ``RowCache``.

    Args:
        buffers: the buffers of the ``RowCache``.
        places: (rows, t) int64 on the device, the slot of each new token; each pass reads the tensor again.
        slots: the number of slots of each row that attention reads; None means all.
    """

    def __init__(self, buffers: Sequence[tuple[Tensor, Tensor]], places: Tensor, slots: int | None) -> None:
        super().__init__(layers=[])
        self._buffers = list(buffers)
        self._places = places[:, None, :, None]
        self.slots = buffers[0][0].shape[2] if slots is None else slots

    def is_part_of(self, cache: RowCache) -> bool:
        """Return whether the cache still uses these buffers, and has not replaced one of them by a larger buffer."""
        return all(mine is theirs for mine, theirs in zip(self._buffers, cache._buffers, strict=True))

    def update(
        self,
        key_states: Tensor,
        value_states: Tensor,
        layer_idx: int,
        *args: object,  # noqa: ARG002 - the base class's signature
        **kwargs: object,  # noqa: ARG002
    ) -> tuple[Tensor, Tensor]:
        """Write (rows, H, t, D) states of one layer; return the slots of these rows, (rows, H, slots, D)."""
        keys, values = (buffer[: len(self._places), :, : self.slots] for buffer in self._buffers[layer_idx])
        for buffer, states in ((keys, key_states), (values, value_states)):
            buffer.scatter_(2, self._places.expand_as(states), states)
        return keys, values


class JoinedCaches(Cache):
    """Several caches of one row each, for a pass that reads the new tokens of all caches as one row.

    Args:
        caches: each cache with its number of new tokens. The new tokens are in the order of the caches.
    """

    def __init__(self, caches: Sequence[tuple[RowCache, int]]) -> None:
        super().__init__(layers=[])
        self._caches = caches

    def update(  # type: ignore[override]
        self, key_states: Tensor, value_states: Tensor, layer_idx: int, *args: object, **kwargs: object
    ) -> tuple[list[Tensor], list[Tensor]]:
        """Write (1, H, t, D) states of one layer, to each cache its own part.

        Returns:
            The keys and the values, each as a list with one tensor for each cache.
        """
        counts = [count for _, count in self._caches]
        parts = zip(self._caches, key_states.split(counts, dim=2), value_states.split(counts, dim=2), strict=True)
        updated = [cache.update(keys, values, layer_idx, *args, **kwargs) for (cache, _), keys, values in parts]
        return [keys for keys, _ in updated], [values for _, values in updated]

    def get_seq_length(self, layer_idx: int = 0) -> int:  # noqa: ARG002 - the base class's signature
        """Return the number of tokens that all caches together held before the pass."""
        return sum(cache.get_seq_length() for cache, _ in self._caches)

    def get_mask_sizes(self, query_length: int, layer_idx: int) -> tuple[int, int]:  # noqa: ARG002
        """Return the number of keys of all caches after the pass, and the position of the first key, always 0."""
        return self.get_seq_length() + query_length, 0


@lru_cache(maxsize=64)
def cache_argument(kind: type[torch.nn.Module]) -> str:
    """Return the name of the cache argument of the ``forward`` of a kind of network.

    It is "past_key_values" until transformers 5.23, and "cache" from 5.24 on.
    """
    return "cache" if "cache" in signature(kind.forward).parameters else "past_key_values"


def _make_empty_buffer(states: Tensor) -> Tensor:
    """Return an empty buffer for states of shape (B, H, T, D)."""
    return states.new_zeros(0, states.shape[1], 0, states.shape[3])
