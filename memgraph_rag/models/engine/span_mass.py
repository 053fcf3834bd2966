"""The attention probability of each query on each span of keys, computed after a fused kernel has run.

A fused attention kernel returns its softmax denominators (log-sum-exp, LSE) with its output. With them, a second
pass over queries and keys computes every probability again and adds it to its span at once, so that no attention matrix
is kept. The module does not know models, layers or values, or how the LSE was computed (padding, attention sinks).
Invariant: the result equals the softmax matrix summed over the columns of each span, and the Triton kernel and the
plain path agree (the tests compare both with that matrix).
"""

from __future__ import annotations

import logging
from bisect import bisect_left, bisect_right
from importlib import import_module
from subprocess import SubprocessError
from typing import Any

import torch
from torch import Tensor

from memgraph_rag.errors import ModelError

triton: Any
tl: Any
try:
    triton, tl = import_module("triton"), import_module("triton.language")
    _REFUSALS = (RuntimeError, OSError, SubprocessError, import_module("triton.errors").TritonError)
except ImportError:  # torch for CPUs, macOS and Windows has no Triton
    triton = tl = None
    _REFUSALS = ()

logger = logging.getLogger(__name__)
_has_kernel = triton is not None  # False after Triton has failed to compile the kernel

BLOCK_ELEMENTS = 1 << 20
"""Scores in memory at a time on the plain path: 4 MB of float32. Smaller blocks are slower."""

COLUMNS_AT_ONCE = 1024
"""Keys of one block on the plain path. So few keys leave room for many queries and belong to few spans."""

SPANS_AT_ONCE = 64
"""Spans whose sums one program of the kernel holds in registers.

The kernel uses 64 even for fewer spans. With 16 or 32, the second product of the kernel reads foreign shared memory on
Hopper (seen with Triton 3.6 on an H100: wrong sums, then an illegal access).
"""


@torch.no_grad()
def span_mass(
    query: Tensor,
    key: Tensor,
    lse: Tensor,
    owner: Tensor,
    spans: int,
    *,
    scale: float,
    window: int | None = None,
) -> Tensor:
    """Return the attention mass of every query on every span of keys, without the attention matrix.

    Attention is causal: query i is at key position Tk - Tq + i and sees the keys up to its own.

    Args:
        query: (B, H, Tq, D), after rotary embedding; any strides.
        key: (B, Hkv, Tk, D); H is a multiple of Hkv, query head h reads key head h // (H // Hkv).
        lse: (B, H, Tq) float32, natural logarithm of each query's softmax denominator.
        owner: (B, Tk) int32 or int64, the span of each key; a value outside 0..spans-1 means no span.
        spans: the number of spans.
        scale: factor of the dot products.
        window: the number of last keys that a query sees, its own included; None means all.

    Returns:
        (B, H, Tq, spans) float32; rows sum to at most 1. In half precision each probability has a rounding error: on
        the plain path that of the scores, in the kernel that of the probabilities.

    Raises:
        ModelError: the shapes do not fit each other.

    Cost: O(Tq x keys in spans x D) time; one block of scores in memory, in addition to the result.
    """
    batch, heads, queries, width = query.shape
    _, key_heads, keys, _ = key.shape
    expected = ((batch, key_heads, keys, width), (batch, heads, queries), (batch, keys))
    if (key.shape, lse.shape, owner.shape) != expected or heads % key_heads or queries > keys:
        raise ModelError(
            "Expected query (B, H, Tq, D), key (B, Hkv, Tk, D), lse (B, H, Tq) and owner (B, Tk) with H a multiple of "
            f"Hkv and Tq at most Tk, got {tuple(query.shape)}, {tuple(key.shape)}, {tuple(lse.shape)} and "
            f"{tuple(owner.shape)}. Check the shapes that the caller passes."
        )
    if spans == 0 or queries == 0:
        return query.new_zeros(batch, heads, queries, spans, dtype=torch.float32)
    # In float32 the kernel needs too many registers (on sm_80 and sm_90); the plain path uses cuBLAS.
    fits = query.is_cuda and query.dtype in (torch.bfloat16, torch.float16)
    path = _compute_fused_or_plain if fits else _compute_plainly
    return path(query, key, lse, owner, spans, scale, window)


def _compute_plainly(
    query: Tensor,
    key: Tensor,
    lse: Tensor,
    owner: Tensor,
    spans: int,
    scale: float,
    window: int | None,
) -> Tensor:
    """Compute the mass by plain products of blocks of queries and blocks of the keys that belong to a span."""
    batch, heads, queries, width = query.shape
    key_heads, keys = key.shape[1:3]
    mass = query.new_zeros(batch, heads, queries, spans, dtype=torch.float32)
    owner = owner.where((owner >= 0) & (owner < spans), -1)
    for columns in (owner >= 0).any(dim=0).nonzero().squeeze(1).split(COLUMNS_AT_ONCE):
        if len(columns) == 0:
            break
        owned = owner[:, columns]
        first_span, end_span = int(owned.where(owned >= 0, spans).min()), int(owned.max()) + 1
        members = (owned[:, :, None] == torch.arange(first_span, end_span, device=owned.device)).float()
        transposed = key[:, :, columns].flatten(0, 1).transpose(1, 2)  # (B * Hkv, D, K)
        places = columns.tolist()  # ascending key positions
        block = max(1, BLOCK_ELEMENTS // (batch * heads * len(places)))
        for start in range(0, queries, block):
            stop = min(start + block, queries)
            first, last = keys - queries + start, keys - queries + stop - 1  # key positions of these queries
            low = 0 if window is None else bisect_left(places, first - window + 1)
            high = bisect_right(places, last)
            if low >= high:
                continue
            rows = query[:, :, start:stop].reshape(batch * key_heads, -1, width)  # all queries of a key head together
            scores = torch.bmm(rows, transposed[:, :, low:high]).float().mul_(scale)
            scores = scores.view(batch, heads, stop - start, high - low)
            # A value above 1 belongs to a masked key. It is clamped, because infinity times 0 is not 0.
            probability = scores.sub_(lse[:, :, start:stop, None]).clamp_(max=0).exp_()
            position = torch.arange(first, last + 1, device=key.device)[:, None]
            if (seen_by_all := max(low, bisect_right(places, first))) < high:
                probability[..., seen_by_all - low :].masked_fill_(columns[seen_by_all:high] > position, 0)
            if window is not None and places[low] <= last - window:
                probability.masked_fill_(columns[low:high] <= position - window, 0)
            added = torch.bmm(probability.view(batch, -1, high - low), members[:, low:high])
            mass[:, :, start:stop, first_span:end_span] += added.view(batch, heads, stop - start, -1)
    return mass


def _compute_fused_or_plain(query: Tensor, *more: Any) -> Tensor:
    """Compute the mass by the kernel, or by plain products if Triton cannot compile the kernel.

    Triton needs a C compiler and the headers of Python. A kernel runs on the current device, so this makes the device
    of the queries the current one.
    """
    global _has_kernel  # one try for the whole process, because a try takes seconds
    if _has_kernel:
        try:
            with torch.cuda.device(query.device):
                return _compute_fused(query, *more)
        except torch.OutOfMemoryError:
            raise
        except _REFUSALS as error:
            _has_kernel = False
            logger.warning("Triton could not make a kernel, so attention is summed by plain products: %s", error)
    return _compute_plainly(query, *more)


def _compute_fused(
    query: Tensor,
    key: Tensor,
    lse: Tensor,
    owner: Tensor,
    spans: int,
    scale: float,
    window: int | None,
) -> Tensor:
    """Run the Triton kernel on a grid of (blocks of queries, batch rows x heads, blocks of spans)."""
    batch, heads, queries, width = query.shape
    key_heads, keys = key.shape[1:3]
    mass = query.new_empty(batch, heads, queries, spans, dtype=torch.float32)
    padded_width = max(16, triton.next_power_of_2(width))
    block = 64 if padded_width * query.element_size() <= 256 else 32  # both operands in 48 KB of shared memory
    _fused_kernel[triton.cdiv(queries, block), batch * heads, triton.cdiv(spans, SPANS_AT_ONCE)](
        query, key, lse, owner, mass,
        *query.stride(), *key.stride(), *lse.stride(), *owner.stride(),
        heads, heads // key_heads, queries, keys, spans, scale,
        window=window, width=width,
        block_d=padded_width, block_q=block, block_k=block, block_s=SPANS_AT_ONCE,
        enable_fp_fusion=True,  # Triton 3.9 warns without this argument
    )  # fmt: skip
    return mass


if triton is not None:

    @triton.jit
    def _fused_kernel(
        query, key, lse, owner, mass,
        query_b, query_h, query_t, query_d, key_b, key_h, key_t, key_d, lse_b, lse_h, lse_t, owner_b, owner_t,
        heads, groups, queries, keys, spans, scale,
        window: tl.constexpr, width: tl.constexpr,  # pyright: ignore[reportInvalidTypeForm]
        block_d: tl.constexpr, block_q: tl.constexpr,  # pyright: ignore[reportInvalidTypeForm]
        block_k: tl.constexpr, block_s: tl.constexpr,  # pyright: ignore[reportInvalidTypeForm]
    ):  # fmt: skip
        """Add up the mass of one block of queries of one head on one block of spans."""
        first_row = tl.program_id(0) * block_q
        head = tl.program_id(1).to(tl.int64)
        b, h = head // heads, head % heads
        row = first_row + tl.arange(0, block_q)
        span = tl.program_id(2) * block_s + tl.arange(0, block_s)
        d = tl.arange(0, block_d)
        offset = keys - queries
        position = offset + row
        real = row < queries
        key_base = key + b * key_b + (h // groups) * key_h
        owner_base = owner + b * owner_b
        row_offset = row.to(tl.int64)[:, None] * query_t + d[None, :] * query_d
        query_base = query + b * query_b + h * query_h
        q = tl.load(query_base + row_offset, mask=real[:, None] & (d < width)[None, :], other=0.0)
        denominator = tl.load(lse + b * lse_b + h * lse_h + row * lse_t, mask=real, other=0.0)
        total = tl.full((block_q, block_s), 0.0, tl.float32)
        start = 0
        if window is not None:
            start = tl.maximum(0, offset + first_row - window + 1) // block_k * block_k
        for first_key in range(start, tl.minimum(keys, offset + first_row + block_q), block_k):
            column = first_key + tl.arange(0, block_k)
            owned = tl.load(owner_base + column * owner_t, mask=column < keys, other=-1)
            member = owned[:, None] == span[None, :]
            if tl.max(tl.max(member.to(tl.int32), 1), 0) > 0:
                column_offset = column.to(tl.int64)[None, :] * key_t + d[:, None] * key_d
                k = tl.load(key_base + column_offset, mask=(column < keys)[None, :] & (d < width)[:, None], other=0.0)
                score = tl.dot(q, k, input_precision="ieee") * scale
                seen = column[None, :] <= position[:, None]
                if window is not None:
                    seen = seen & (column[None, :] > position[:, None] - window)
                probability = tl.exp(tl.minimum(score - denominator[:, None], 0.0))  # at most 1, as on the plain path
                probability = tl.where(seen, probability, 0.0).to(q.dtype)
                total = tl.dot(probability, member.to(q.dtype), total, input_precision="ieee")
        mass_offset = (head * queries + row)[:, None] * spans + span[None, :]
        tl.store(mass + mass_offset, total, mask=real[:, None] & (span < spans)[None, :])
