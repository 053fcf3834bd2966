"""Fused causal attention on a GPU that also returns its log-sum-exp.

``torch.nn.attention.varlen`` reads sequences packed one after another. This module packs rows of equal length and
unpacks the result. It does not know spans, caches or models. Invariant: the result equals that of plain products and
their ``logsumexp``, with the last query at the last key. Tests on a CPU use a double that follows the documentation of
the kernel; ``benchmarks/gpu.py`` tests on a GPU.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from importlib import import_module
from inspect import signature
from typing import Any

import torch
from torch import Tensor

_WIDEST = 256  # head dimension

Kernel = Callable[..., tuple[Tensor, Tensor]]


def varlen_kernel(query: Tensor, value: Tensor) -> Kernel | None:
    """Return torch's fused attention kernel for queries and values of shape (batch, heads, tokens, width).

    None if the kernel does not serve them: not on a GPU of compute capability 8 or more, not in 16 bits, or a width
    that is too large or no multiple of 8.
    """
    width = query.shape[-1]
    if not query.is_cuda or query.dtype not in (torch.bfloat16, torch.float16) or value.shape[-1] != width:
        return None
    is_served = width % 8 == 0 and width <= _WIDEST and torch.cuda.get_device_capability(query.device) >= (8, 0)
    return _load_kernel() if is_served else None


@cache
def _load_kernel() -> Kernel | None:
    """Return torch's kernel with its log-sum-exp.

    It is None if torch is too old to have the kernel, its window or its scale.
    """
    try:
        varlen = import_module("torch.nn.attention.varlen")
    except ImportError:
        return None
    known = signature(varlen.varlen_attn).parameters.keys()
    if not known >= {"return_aux", "scale", "window_size"}:
        return None
    kernel = partial(varlen.varlen_attn, return_aux=varlen.AuxRequest(lse=True))
    return partial(kernel, enable_gqa=True) if "enable_gqa" in known else partial(_call_with_repeated_heads, kernel)


def _call_with_repeated_heads(
    kernel: Kernel, query: Tensor, key: Tensor, value: Tensor, *more: Any, **options: Any
) -> tuple[Tensor, Tensor]:
    """Call the kernel of a torch before 2.12, which needs as many key heads as query heads."""
    groups = query.shape[1] // key.shape[1]
    return kernel(query, *(states.repeat_interleave(groups, dim=1) for states in (key, value)), *more, **options)


def attend_packed(
    query: Tensor, key: Tensor, value: Tensor, *, scale: float, window: int | None, kernel: Kernel
) -> tuple[Tensor, Tensor]:
    """Compute causal attention of rows of equal length by a fused kernel on a GPU.

    Args:
        query: (B, H, Tq, D); query i is at key position Tk - Tq + i.
        key, value: (B, Hkv, Tk, D); H is a multiple of Hkv.
        window: the number of last keys that a query sees, its own included; None means all.

    Returns:
        (B, H, Tq, D) output, and the (B, H, Tq) float32 log-sum-exp of the scores.
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
