"""Fused causal attention on a GPU that leaves its log-sum-exp behind.

``torch.nn.attention.varlen`` reads sequences packed end to end; here equally long rows are laid out that way, and its
answer is laid back. It knows nothing of spans, caches or models. Invariant: what comes back is what plain products
and their ``logsumexp`` give, the last query standing at the last key. Tested on a CPU with a double that does what the
kernel's documentation says; on a card by ``benchmarks/gpu.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from importlib import import_module
from inspect import signature
from typing import Any

import torch
from torch import Tensor

__all__ = ["Kernel", "packed_attention", "varlen_kernel"]

_WIDEST = 256  # head dimension

Kernel = Callable[..., tuple[Tensor, Tensor]]


def varlen_kernel(query: Tensor, value: Tensor) -> Kernel | None:
    """What ``packed_attention`` needs for such queries and values, (B, H, T, D); None where nothing can do it."""
    width = query.shape[-1]
    if not query.is_cuda or query.dtype not in (torch.bfloat16, torch.float16) or value.shape[-1] != width:
        return None
    is_served = width % 8 == 0 and width <= _WIDEST and torch.cuda.get_device_capability(query.device) >= (8, 0)
    return _loaded() if is_served else None


@cache
def _loaded() -> Kernel | None:
    """Torch's kernel, asked for the log-sum-exp; None where torch is too old to have it, or its window and scale."""
    try:
        varlen = import_module("torch.nn.attention.varlen")
    except ImportError:
        return None
    known = signature(varlen.varlen_attn).parameters.keys()
    if not known >= {"return_aux", "scale", "window_size"}:
        return None
    kernel = partial(varlen.varlen_attn, return_aux=varlen.AuxRequest(lse=True))
    return partial(kernel, enable_gqa=True) if "enable_gqa" in known else partial(_with_heads_repeated, kernel)


def _with_heads_repeated(
    kernel: Kernel, query: Tensor, key: Tensor, value: Tensor, *more: Any, **options: Any
) -> tuple[Tensor, Tensor]:
    """For a torch before 2.12, whose kernel wants a key head for each of (T, H, D) queries."""
    groups = query.shape[1] // key.shape[1]
    return kernel(query, *(states.repeat_interleave(groups, dim=1) for states in (key, value)), *more, **options)


def packed_attention(
    query: Tensor, key: Tensor, value: Tensor, *, scale: float, window: int | None, kernel: Kernel
) -> tuple[Tensor, Tensor]:
    """Causal attention of equally long rows: (B, H, Tq, D) output, (B, H, Tq) float32 log-sum-exp of the scores.

    Args:
        query: (B, H, Tq, D); query i stands at key Tk - Tq + i.
        key, value: (B, Hkv, Tk, D); H is a multiple of Hkv.
        window: only the last so many keys, the query's own included, are seen.
    """
    rows, _, queries, _ = query.shape
    keys = key.shape[2]
    packed = (states.transpose(1, 2).flatten(0, 1) for states in (query, key, value))  # (B * T, H, D)
    # Two tensors even where both say the same: for one that is given twice torch may take cuDNN instead of Flash.
    ends = (
        torch.arange(0, rows * count + 1, count, dtype=torch.int32, device=query.device) for count in (queries, keys)
    )
    left = -1 if window is None else window - 1  # of the query's own key
    output, lse = kernel(*packed, *ends, queries, keys, scale=scale, window_size=(left, 0))
    return output.unflatten(0, (rows, queries)).transpose(1, 2), lse.unflatten(1, (rows, queries)).transpose(0, 1)
