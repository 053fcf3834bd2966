"""Causal attention on a CPU, by plain products of one block of queries at a time.

A block of queries multiplies only the keys up to its own, so that half of the score matrix is never computed. The
probabilities are in memory, so that the mass on spans of keys costs only one narrow product more. In bfloat16 this
takes a third of the time of torch's fused kernel for CPUs, in float32 the same time. The module does not know models,
caches or layers. Invariant: output and mass equal those of the whole softmax matrix.

Source: SageAttention (Zhang et al., 2025), section 4.2: subtracting the mean of the keys does not change the softmax.
    It makes scores smaller, so that bfloat16 rounds them less.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

_BLOCK = 64  # queries: with 32, products are slower; with 128, more scores of hidden keys are computed


class Members(NamedTuple):
    """Tells which attention keys belong to which of S spans of a prompt.

    Attributes:
        first: position of the first key that belongs to a span; 0 without spans.
        indicators: (B, n, S), for the n keys from ``first`` on: 1 if the key belongs to the span, else 0.
    """

    first: int
    indicators: Tensor


def attend_in_blocks(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    scale: float,
    window: int | None = None,
    sinks: Tensor | None = None,
    members: Members | None = None,
) -> tuple[Tensor, Tensor | None]:
    """Return the (B, H, Tq, Dv) attention output, and the (B, H, Tq, S) float32 mass on spans of keys.

    Query i is at key position Tk - Tq + i and sees the keys up to its own.

    Args:
        query: (B, H, Tq, D), after rotary embedding.
        key, value: (B, Hkv, Tk, D or Dv); H is a multiple of Hkv.
        scale: factor of the dot products.
        window: the number of last keys that a query sees, its own included; None means all.
        sinks: (H,), one extra score for each head; it takes a share of the probability and adds no output.
        members: the spans; without them, the second result is None.
    """
    rows, heads, queries, width = query.shape
    shared, keys = key.shape[1:3]
    if sinks is None and key.dtype != torch.float32:  # a sink would not be shifted with the scores
        key = (key.float() - key.float().mean(dim=2, keepdim=True)).to(key.dtype)
    query = (query.float() * scale).to(query.dtype).view(rows, shared, -1, queries, width)
    transposed = key.transpose(2, 3)
    output = query.new_empty(*query.shape[:-1], value.shape[-1])
    members = None if members is None else Members(members.first, members.indicators.to(query.dtype))
    masses = []
    for start in range(0, queries, _BLOCK):
        some = slice(start, min(start + _BLOCK, queries))
        own = keys - queries + start  # position of the block's first query
        # Whole blocks of keys, because oneDNN compiles products for each shape and keeps them.
        last = min(keys, -(-(keys - queries + some.stop) // _BLOCK) * _BLOCK)
        first = 0 if window is None else max(0, own + 1 - window)
        scores = (query[:, :, :, some].flatten(2, 3) @ transposed[..., first:last]).view(rows, heads, -1, last - first)
        _hide(scores, own - first, window)
        probabilities = softmax(scores, sinks)
        grouped = probabilities.view(rows, shared, -1, last - first)
        output[:, :, :, some] = (grouped @ value[:, :, first:last]).unflatten(2, (-1, some.stop - start))
        if members is not None:
            masses.append(_mass(probabilities, first, members))
    return output.view(rows, heads, queries, -1), torch.cat(masses, dim=2) if members is not None else None


def _hide(scores: Tensor, before: int, window: int | None) -> None:
    """Set the scores of keys that a query does not see to minus infinity.

    Args:
        before: the number of keys before the key of the first query.
    """
    queries, keys = scores.shape[2:]
    place = torch.arange(before, before + queries)[:, None]
    scores[..., before + 1 :].masked_fill_(torch.arange(before + 1, keys) > place, float("-inf"))
    if window is not None and keys > window:
        left = keys - window
        scores[..., :left].masked_fill_(torch.arange(left) <= place - window, float("-inf"))


def softmax(scores: Tensor, sinks: Tensor | None) -> Tensor:
    """Return the (B, H, Tq, Tk) probabilities of the keys; with (H,) sinks, the sink takes its share first."""
    if sinks is None:
        return torch.softmax(scores, dim=-1)
    sink = sinks[:, None, None].to(scores.dtype).expand(len(scores), -1, scores.shape[2], 1)
    return torch.softmax(torch.cat([scores, sink], dim=-1), dim=-1)[..., :-1]


def _mass(probabilities: Tensor, first: int, members: Members) -> Tensor:
    """Return the (B, H, q, S) float32 mass of a block's probabilities for the keys from ``first`` on."""
    start = max(first, members.first)
    end = min(first + probabilities.shape[-1], members.first + members.indicators.shape[1])
    indicators = members.indicators[:, start - members.first : max(start, end) - members.first]
    owned = probabilities[..., start - first : max(start, end) - first]
    return (owned.flatten(1, 2) @ indicators).unflatten(1, owned.shape[1:3]).float()
