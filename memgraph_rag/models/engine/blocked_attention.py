"""Causal attention of many queries on a CPU, by plain products of a block of queries at a time.

A block sees the keys up to its own and no others, so that half of a matrix is never computed, and its probabilities
are at hand: what falls on spans of keys costs a narrow product more. In bfloat16 that takes a third of the time of
torch's fused kernel for CPUs, in float32 the same. It knows nothing of models, caches or layers. Invariant: output and
mass are those of the whole softmax matrix.

Source: SageAttention (Zhang et al., 2025), section 4.2: keys without their mean, which no softmax sees, leave smaller
scores, of which bfloat16 cuts off less.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

__all__ = ["Members", "blocked_attention", "softmax"]

_BLOCK = 64  # queries: with 32 products are slower, with 128 more scores are computed in vain


class Members(NamedTuple):
    """Which keys belong to which span.

    Attributes:
        first: position of the first key that belongs to one.
        of_spans: (B, n, S), 1 where one of the n keys from there on belongs to a span, else 0.
    """

    first: int
    of_spans: Tensor


def blocked_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    scale: float,
    window: int | None = None,
    sinks: Tensor | None = None,
    members: Members | None = None,
) -> tuple[Tensor, Tensor | None]:
    """(B, H, Tq, Dv) output, and the (B, H, Tq, S) float32 mass that falls on spans of keys.

    Query i stands at key position Tk - Tq + i and sees the keys up to its own.

    Args:
        query: (B, H, Tq, D), after rotary embedding.
        key, value: (B, Hkv, Tk, D or Dv); H is a multiple of Hkv.
        scale: factor of the dot products.
        window: only the last so many keys, the query's own included, are seen.
        sinks: (H,), a score of each head's own that takes its share and gives nothing.
        members: of spans; without them there is no mass.
    """
    rows, heads, queries, width = query.shape
    shared, keys = key.shape[1:3]
    if sinks is None and key.dtype != torch.float32:  # a sink is not moved with the scores
        key = (key.float() - key.float().mean(dim=2, keepdim=True)).to(key.dtype)
    query = (query.float() * scale).to(query.dtype).view(rows, shared, -1, queries, width)
    transposed = key.transpose(2, 3)
    output = query.new_empty(*query.shape[:-1], value.shape[-1])
    members = None if members is None else Members(members.first, members.of_spans.to(query.dtype))
    masses = []
    for start in range(0, queries, _BLOCK):
        some = slice(start, min(start + _BLOCK, queries))
        own = keys - queries + start  # position of the block's first query
        # In whole blocks, as far as there are keys: oneDNN compiles products for each shape, and keeps them.
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
    """Make the scores of keys that a query does not see minus infinity; so many keys stand before the first query's."""
    queries, keys = scores.shape[2:]
    place = torch.arange(before, before + queries)[:, None]
    scores[..., before + 1 :].masked_fill_(torch.arange(before + 1, keys) > place, float("-inf"))
    if window is not None and keys > window:
        left = keys - window
        scores[..., :left].masked_fill_(torch.arange(left) <= place - window, float("-inf"))


def softmax(scores: Tensor, sinks: Tensor | None) -> Tensor:
    """(B, H, Tq, Tk) probabilities of the keys, beside a score of each head's own where there are (H,) sinks."""
    if sinks is None:
        return torch.softmax(scores, dim=-1)
    sink = sinks[:, None, None].to(scores.dtype).expand(len(scores), -1, scores.shape[2], 1)
    return torch.softmax(torch.cat([scores, sink], dim=-1), dim=-1)[..., :-1]


def _mass(probabilities: Tensor, first: int, members: Members) -> Tensor:
    """(B, H, q, S) float32 of a block's probabilities for the keys from ``first`` on."""
    start = max(first, members.first)
    end = min(first + probabilities.shape[-1], members.first + members.of_spans.shape[1])
    of_spans = members.of_spans[:, start - members.first : max(start, end) - members.first]
    owned = probabilities[..., start - first : max(start, end) - first]
    return (owned.flatten(1, 2) @ of_spans).unflatten(1, owned.shape[1:3]).float()
