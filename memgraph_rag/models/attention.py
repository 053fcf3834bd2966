"""How much each token looks at each span of others, measured while the model runs.

The model's attention function is replaced by one that computes the same output and, where a measurement is on, a
second product of the same attention probabilities with indicator columns instead of values: the column of a
span then holds the probability mass that falls on it. No attention matrix is ever kept. It knows nothing of
documents, prompts or caches. Invariant: a measurement equals the mean over layers and heads of what
``output_attentions=True`` would give, summed over the span (tested against it).

Source: PECAN, section 3.1 (attention averaged over all layers and heads, accumulated layer by layer).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from transformers import AttentionInterface, PreTrainedModel
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import AttentionMaskInterface, sdpa_mask

from memgraph_rag.errors import ModelError, SpanError

__all__ = ["IMPLEMENTATION", "AttentionMeter", "require_attention_interface", "span_indicators"]

IMPLEMENTATION = "measured"
"""The name under which the attention function and its mask are registered with transformers.

Neutral on purpose: transformers branches on names that contain "sdpa" or "flash"."""

Span = tuple[int, int]


class AttentionMeter:
    """Sums attention mass per span over the layers of one forward pass.

    Args:
        indicators: (B, Tk, S), 1 where a key position belongs to a span; later key positions belong to none.
    """

    def __init__(self, indicators: Tensor) -> None:
        self._indicators = indicators
        self._tokens = indicators.sum(dim=1, dtype=torch.float32).clamp_min(1.0)
        self._sum: Tensor | None = None
        self._layers = 0

    def observe(self, module: torch.nn.Module, query: Tensor, key: Tensor, mask: Tensor | None, kwargs: Any) -> None:
        """Add one layer: query (B, H, Tq, D), key (B, Hkv, Tk, D)."""
        width = query.shape[-1]  # the fused kernels want values as wide as keys
        masses = []
        for chunk in self._indicators.split(width, dim=2):
            columns = key.new_zeros(chunk.shape[0], 1, key.shape[2], width)
            columns[:, 0, : chunk.shape[1], : chunk.shape[2]] = chunk
            values = columns.expand(-1, key.shape[1], -1, -1)
            mass, _ = sdpa_attention_forward(module, query, key, values, mask, **kwargs)  # (B, Tq, H, D)
            masses.append(mass[..., : chunk.shape[2]].float().mean(dim=2))
        layer = torch.cat(masses, dim=2)
        self._sum = layer if self._sum is None else self._sum + layer
        self._layers += 1

    def mean(self) -> Tensor:
        """(B, Tq, S) float32: attention of each query token to each span, mean over layers, heads and span tokens."""
        if self._sum is None:
            raise ModelError(
                "Expected the model to call the measured attention, but no layer did. Use a causal model whose "
                "attention goes through transformers' AttentionInterface."
            )
        return self._sum / self._layers / self._tokens[:, None, :]


def span_indicators(
    spans: Sequence[Sequence[Span]], *, length: int, dtype: torch.dtype, device: torch.device
) -> Tensor:
    """(B, length, S) indicator columns of half-open token spans, one list of spans per batch row.

    Rows with fewer spans than the longest list get empty columns.

    Raises:
        SpanError: a span is empty, or reaches past ``length``.
    """
    columns = torch.zeros(len(spans), length, max(map(len, spans)), dtype=dtype, device=device)
    for row, row_spans in enumerate(spans):
        for column, (start, end) in enumerate(row_spans):
            if not 0 <= start < end <= length:
                raise SpanError(
                    f"Expected token spans within 0..{length} that hold a token, got ({start}, {end}).",
                    start=start, end=end, length=length,
                )  # fmt: skip
            columns[row, start:end, column] = 1
    return columns


def require_attention_interface(model: PreTrainedModel) -> None:
    """Check that the model's attention can be measured.

    Raises:
        ModelError: its architecture does not go through ``AttentionInterface``, or caps its logits.
    """
    name = type(model).__name__
    if not getattr(model, "_supports_attention_backend", False):
        raise ModelError(
            f"Expected an architecture whose attention goes through transformers' AttentionInterface, got {name}. "
            "Llama, Qwen and Mistral models do.",
            architecture=name,
        )
    if getattr(model.config, "attn_logit_softcapping", None) is not None:
        raise ModelError(
            f"Expected plain softmax attention, got {name} with capped attention logits, which the fused kernel "
            "cannot compute. Use a Llama, Qwen or Mistral model.",
            architecture=name,
        )


def _measured_attention(
    module: torch.nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    *,
    meter: AttentionMeter | None = None,
    **kwargs: Any,
) -> tuple[Tensor, None]:
    """Scaled dot-product attention; tells ``meter`` (a keyword of the model's forward) what it looked at."""
    output, _ = sdpa_attention_forward(module, query, key, value, attention_mask, **kwargs)
    if meter is not None:
        meter.observe(module, query, key, attention_mask, kwargs)
    return output, None


AttentionInterface.register(IMPLEMENTATION, _measured_attention)
AttentionMaskInterface.register(IMPLEMENTATION, sdpa_mask)
