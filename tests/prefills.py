"""Passes of many queries, and what plain products give for them: a fused kernel has to agree on any device."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import torch
from torch import Tensor

from memgraph_rag.models.engine.attention import (
    AttentionMeter,
    Look,
    Spans,
    Visibility,
    _attend,
    _attend_plainly,
    _Scoring,
)

__all__ = ["Prefill", "attended", "plainly_attended"]

CPU = torch.device("cpu")


@dataclass(frozen=True)
class Prefill:
    """A pass of one layer over random states.

    Attributes:
        held: tokens of each row before the pass.
        groups: query heads of a key head, of which there are two.
        slots: of the cache, of which the last may be empty.
        pieces: spans that are looked at; they tile what was held and the first nine new tokens.
    """

    rows: int = 1
    held: int = 0
    queries: int = 20
    groups: int = 1
    window: int | None = None
    has_sinks: bool = False
    slots: int = 64
    width: int = 16
    pieces: int = 2

    @cached_property
    def tensors(self) -> tuple[Tensor, Tensor, Tensor]:
        """Queries (B, H, T, D), whose heads lie side by side as a projection gives them, keys and values."""
        random = torch.Generator().manual_seed(0)
        query = 3 * torch.randn(self.rows, self.queries, 2 * self.groups, self.width, generator=random).transpose(1, 2)
        states = (torch.randn(self.rows, 2, self.slots, self.width, generator=random) for _ in range(2))
        return query, *states  # type: ignore[return-value]

    def scoring(self, device: torch.device = CPU) -> _Scoring:
        """As an architecture with such a window and such sinks scores."""
        sinks = torch.linspace(-1, 3, 2 * self.groups, device=device) if self.has_sinks else None
        return _Scoring(scale=self.width**-0.5, window=self.window, softcap=None, sinks=sinks)

    def meter(self, device: torch.device = CPU) -> AttentionMeter:
        """Of the first row's pieces, and of one span in each other row."""
        end = self.held + 9
        cuts = [0, *(4 + (end - 4) * piece // max(self.pieces - 1, 1) for piece in range(self.pieces))]
        spans = [list(pairwise(cuts)), *[[(2, end)]] * (self.rows - 1)]
        return AttentionMeter(Spans(spans, length=end, device=device), by_head=True)


def attended(
    case: Prefill, device: torch.device = CPU, dtype: torch.dtype = torch.float32
) -> tuple[Tensor, AttentionMeter]:
    """(B, H, T, D) output and what was looked at, as the engine computes a pass on that device."""
    query, key, value = (states.to(device, dtype) for states in case.tensors)
    meter = case.meter(device)
    look = Look(case.queries, Visibility([case.held] * case.rows), meter)
    return _attend(query, key, value, look, case.scoring(device)), meter


def plainly_attended(case: Prefill, dtype: torch.dtype = torch.float32) -> tuple[Tensor, AttentionMeter]:
    """The same by plain products in float32 on the CPU, of states that were rounded to that format."""
    query, key, value = (states.to(dtype).float() for states in case.tensors)
    meter = case.meter()
    mask = Visibility([case.held] * case.rows).mask(case.queries, case.slots, case.window, CPU)
    return _attend_plainly(query, key, value, mask, case.scoring(), meter), meter
