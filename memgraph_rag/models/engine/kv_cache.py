"""The KV cache: the only module that touches its layout.

It knows nothing of nodes, questions or attention. Invariants: a row's tokens lie at the slots from 0 on, without
padding, however long the other rows are; buffers grow in blocks, so appending one token copies one token, and taking
tokens back or letting a row go copies nothing of the others.
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

__all__ = ["JoinedCaches", "RowCache", "StaticRows", "cache_argument"]

_BLOCK = 256  # positions; a 1.5B model's block is 7 MB in bf16


class RowCache(Cache):
    """Keys and values of some rows, each with its own length.

    A forward pass over (B, t) new tokens needs ``len(lengths) == B``; it writes behind each row's last token, and
    ``advance`` makes these tokens count. A pass that fails before that has changed nothing that is visible.

    Args:
        rows: how many there are at first, all empty.
    """

    def __init__(self, rows: int = 1) -> None:
        super().__init__(layers=[])
        self.lengths = [0] * rows
        self._buffers: list[tuple[Tensor, Tensor]] = []  # of each layer: keys and values, (rows, H, slots, D)

    # ── what transformers asks for ───────────────────────────────────────────────────────────────────────

    @torch.inference_mode()
    def update(
        self,
        key_states: Tensor,
        value_states: Tensor,
        layer_idx: int,
        *args: object,  # noqa: ARG002 - the base class's signature
        **kwargs: object,  # noqa: ARG002
    ) -> tuple[Tensor, Tensor]:
        """Write (B, H, t, D) states of one layer; all slots of all rows, (B, H, at least longest + t, D).

        What lies behind the end of a row is arbitrary, but finite.
        """
        rows, _, new, _ = key_states.shape
        end = max(self.lengths) + new
        if layer_idx == len(self._buffers):
            empty = [
                states.new_zeros(rows, states.shape[1], 0, states.shape[3]) for states in (key_states, value_states)
            ]
            self._buffers.append((empty[0], empty[1]))
        buffers = self._buffers[layer_idx] = self._with_room(self._buffers[layer_idx], rows, end)
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
        """Tokens of the longest row."""
        return max(self.lengths)

    def get_mask_sizes(self, query_length: int, layer_idx: int) -> tuple[int, int]:  # noqa: ARG002
        """Number of keys, and the position of the first."""
        return max(self.lengths) + query_length, 0

    # ── what this library asks for ───────────────────────────────────────────────────────────────────────

    @property
    def nbytes(self) -> int:
        """What its buffers take."""
        return sum(states.nbytes for buffers in self._buffers for states in buffers)

    def tokens_within(self, free: int) -> int:
        """How many tokens of rows together it may hold with so many bytes more; no limit before a layer was written.

        Half of the memory is counted on: buffers grow by more than is asked for, beside the ones that they replace.
        """
        per_token = sum(states.itemsize * states.shape[1] * states.shape[3] for states in chain(*self._buffers))
        return (free + self.nbytes) // (2 * per_token) if per_token else sys.maxsize

    def advance(self, tokens: int) -> None:
        """So many tokens were written behind each row."""
        self.lengths = [length + tokens for length in self.lengths]

    def take_back(self, tokens: int | Sequence[int]) -> None:
        """Forget the last tokens of each row: as many of all, or so many of each."""
        counts = [tokens] * len(self.lengths) if isinstance(tokens, int) else tokens
        self.lengths = [length - count for length, count in zip(self.lengths, counts, strict=True)]

    @torch.inference_mode()
    def add_row(self, other: RowCache) -> None:
        """Copy the one row of another cache behind the rows here."""
        (length,) = other.lengths
        row = len(self.lengths)
        self.lengths.append(length)
        for index, theirs in enumerate(other._buffers):
            if index == len(self._buffers):
                self._buffers.append((_no_slots(theirs[0]), _no_slots(theirs[1])))
            buffers = self._buffers[index] = self._with_room(self._buffers[index], row + 1, length)
            for buffer, states in zip(buffers, theirs, strict=True):
                buffer[row, :, :length] = states[0, :, :length]

    @torch.inference_mode()
    def remove_row(self, row: int) -> None:
        """Let a row go; the last one takes its place."""
        last = len(self.lengths) - 1
        length = self.lengths[row] = self.lengths[last]
        self.lengths.pop()
        if row != last:
            for buffers in self._buffers:
                for buffer in buffers:
                    buffer[row, :, :length] = buffer[last, :, :length]

    @torch.inference_mode()
    def make_room(self, rows: int, slots: int) -> None:
        """Let its buffers hold so many rows of so many tokens, the ones that are there included."""
        for index, buffers in enumerate(self._buffers):  # one layer after another: old and new are not there twice
            self._buffers[index] = self._with_room(buffers, rows, slots)

    def has_room(self, rows: int, slots: int) -> bool:
        """Whether its buffers hold so many rows of so many tokens without growing."""
        return all(rows <= keys.shape[0] and slots <= keys.shape[2] for keys, _ in self._buffers)

    def room_with(self, rows: int, slots: int) -> int:
        """For how many tokens its buffers have room, once they hold so many rows of so many tokens."""
        held = self._buffers[0][0].shape if self._buffers else (0, 0, 0)
        return max(rows, held[0]) * max(slots, held[2])

    @torch.inference_mode()
    def trim(self) -> None:
        """Give back the room that its rows do not need."""
        rows, slots = len(self.lengths), max(self.lengths, default=0)
        for index, (keys, values) in enumerate(self._buffers):
            self._buffers[index] = keys[:rows, :, :slots].clone(), values[:rows, :, :slots].clone()

    def static(self, places: Tensor, *, slots: int | None = None) -> StaticRows:
        """The first rows, for passes whose (rows, t) int64 ``places`` say to which slots the new tokens go.

        Args:
            slots: only so many of each row are looked at; all by default.
        """
        return StaticRows(self._buffers, places, slots)

    def _with_room(self, buffers: tuple[Tensor, Tensor], rows: int, slots: int) -> tuple[Tensor, Tensor]:
        """These buffers, or larger ones with the same content, for so many rows and slots."""
        held_rows, _, held_slots, _ = buffers[0].shape
        if rows <= held_rows and slots <= held_slots:
            return buffers
        if slots > held_slots:
            slots = max(-(-slots // _BLOCK) * _BLOCK, held_slots * 5 // 4)
        if rows > held_rows:
            rows = max(rows, held_rows * 2)
        grown = []
        for buffer in buffers:
            bigger = buffer.new_zeros(max(rows, held_rows), buffer.shape[1], max(slots, held_slots), buffer.shape[3])
            bigger[:held_rows, :, :held_slots] = buffer
            grown.append(bigger)
        return grown[0], grown[1]


class StaticRows(Cache):
    """Rows of a ``RowCache`` for passes in which nothing grows or moves.

    The cache hears of the new tokens by its own ``advance``.

    Args:
        buffers: the cache's own.
        places: (rows, t) int64 on the device, the slot of each new token; read anew by each pass.
        slots: of each row; all where it is None.
    """

    def __init__(self, buffers: Sequence[tuple[Tensor, Tensor]], places: Tensor, slots: int | None) -> None:
        super().__init__(layers=[])
        self._buffers = list(buffers)
        self._places = places[:, None, :, None]
        self.slots = buffers[0][0].shape[2] if slots is None else slots

    def is_part_of(self, cache: RowCache) -> bool:
        """Whether the cache still uses these buffers, and has replaced none of them by a larger one."""
        return all(mine is theirs for mine, theirs in zip(self._buffers, cache._buffers, strict=True))

    def update(
        self,
        key_states: Tensor,
        value_states: Tensor,
        layer_idx: int,
        *args: object,  # noqa: ARG002 - the base class's signature
        **kwargs: object,  # noqa: ARG002
    ) -> tuple[Tensor, Tensor]:
        """Write (rows, H, t, D) states of one layer; the slots of these rows, (rows, H, slots, D)."""
        keys, values = (buffer[: len(self._places), :, : self.slots] for buffer in self._buffers[layer_idx])
        for buffer, states in ((keys, key_states), (values, value_states)):
            buffer.scatter_(2, self._places.expand_as(states), states)
        return keys, values


class JoinedCaches(Cache):
    """Several caches of one row each, whose new tokens lie side by side in one row of a pass.

    Args:
        caches: each with how many of the new tokens are its own; theirs come first that stand first.
    """

    def __init__(self, caches: Sequence[tuple[RowCache, int]]) -> None:
        super().__init__(layers=[])
        self._caches = caches

    def update(  # type: ignore[override]
        self, key_states: Tensor, value_states: Tensor, layer_idx: int, *args: object, **kwargs: object
    ) -> tuple[list[Tensor], list[Tensor]]:
        """Write (1, H, t, D) states of one layer, each cache its own; the keys and the values of each cache."""
        counts = [count for _, count in self._caches]
        parts = zip(self._caches, key_states.split(counts, dim=2), value_states.split(counts, dim=2), strict=True)
        updated = [cache.update(keys, values, layer_idx, *args, **kwargs) for (cache, _), keys, values in parts]
        return [keys for keys, _ in updated], [values for _, values in updated]

    def get_seq_length(self, layer_idx: int = 0) -> int:  # noqa: ARG002 - the base class's signature
        """Tokens that were held before the pass, of all."""
        return sum(cache.get_seq_length() for cache, _ in self._caches)

    def get_mask_sizes(self, query_length: int, layer_idx: int) -> tuple[int, int]:  # noqa: ARG002
        """Number of keys, and the position of the first."""
        return self.get_seq_length() + query_length, 0


def cache_argument(network: torch.nn.Module) -> str:
    """What a network's ``forward`` calls its cache: "past_key_values" until transformers 5.23, "cache" from 5.24 on."""
    return _cache_argument(type(network))


@lru_cache(maxsize=64)
def _cache_argument(kind: type[torch.nn.Module]) -> str:
    return "cache" if "cache" in signature(kind.forward).parameters else "past_key_values"


def _no_slots(states: Tensor) -> Tensor:
    """A buffer for such states, (B, H, T, D), without room."""
    return states.new_zeros(0, states.shape[1], 0, states.shape[3])
