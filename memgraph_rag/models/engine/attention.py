"""Attention from each token to spans of other tokens, measured while the model runs.

The module replaces the model's attention function. The new function gives the same output, and it also adds up the
probability that falls on each span, if a meter asks for it. It never keeps the attention matrix of a whole pass. On a
CPU, and for few queries, plain matrix products give the probabilities (``blocked_attention.py``). On a GPU, a fused
kernel returns a log-sum-exp, which turns the scores of the measured keys into probabilities (``span_mass.py``). The
module does not know documents or prompts.
Invariant: a measurement equals the mean over layers and heads of the attention that ``output_attentions=True`` gives,
summed over the span (the tests compare it with ``reference.py`` on each architecture).

Source: PECAN, section 3.1 (attention averaged over all layers and heads, accumulated layer by layer).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention
from transformers import AttentionInterface, PreTrainedModel
from transformers.masking_utils import AttentionMaskInterface

from memgraph_rag.errors import ModelError, SpanError
from memgraph_rag.models.engine.blocked_attention import Members, attend_in_blocks, softmax
from memgraph_rag.models.engine.cuda.varlen import Kernel, attend_packed, varlen_kernel
from memgraph_rag.models.engine.span_mass import span_mass

IMPLEMENTATION = "measured"
"""The name under which transformers knows the attention function and its mask.

The name is neutral because transformers treats names that contain "sdpa" or "flash" differently.
"""

_FEW_QUERIES = 96  # up to this number, plain products are faster than a GPU's fused kernel
_BLOCK_SCORES = 1 << 24  # scores in memory at a time: 64 MB
_CPU_BLOCK_SCORES = 1 << 18  # fewer scores, so that they fit in the cache of a CPU

Span = tuple[int, int]


class Spans:
    """The half-open spans of key positions whose attention is measured, one list for each row of a batch.

    Args:
        spans: a list for each row; spans of a row do not overlap. The lists may differ in length.
        length: the number of key positions; no span ends after it.
        room: the smallest number of spans that the tensors have room for in each row.

    Raises:
        SpanError: a span is empty, or ends after ``length``.
    """

    def __init__(self, spans: Sequence[Sequence[Span]], *, length: int, device: torch.device, room: int = 0) -> None:
        self.count = max(room, *map(len, spans))
        owner = torch.full((len(spans), length), -1, dtype=torch.int32)
        tokens = torch.ones(len(spans), self.count)
        for row, row_spans in enumerate(spans):
            for number, (start, end) in enumerate(row_spans):
                if not 0 <= start < end <= length:
                    raise SpanError(
                        f"Expected token spans within 0..{length} that hold a token, got ({start}, {end}).",
                        start=start, end=end, length=length,
                    )  # fmt: skip
                owner[row, start:end] = number
                tokens[row, number] = end - start
        self.owner = owner.to(device)  # (B, length): the span of each position, -1 for a position without a span
        self.tokens = tokens.to(device)  # (B, S)
        self._indicators = (self.owner[:, :, None] == torch.arange(self.count, device=device)).float()

    def copy_from(self, others: Spans) -> None:
        """Copy other spans into the tensors of these spans, in place. All other positions then belong to no span.

        Args:
            others: at most as many rows, positions and spans as these.
        """
        rows, length, count = others._indicators.shape
        self.owner.fill_(-1)[:rows, :length] = others.owner
        self.tokens.fill_(1)[:rows, :count] = others.tokens
        self._indicators.zero_()[:rows, :length, :count] = others._indicators

    def members(self) -> Members:
        """Return which keys of the cache belong to which span.

        The result covers the keys from the first key of any span to the last one; it is empty if there are no spans.
        """
        places = (self.owner >= 0).any(dim=0).nonzero()
        first, end = (int(places[0]), int(places[-1]) + 1) if len(places) else (0, 0)
        return Members(first, self._indicators[:, first:end])

    def pool(self, probabilities: Tensor) -> Tensor:
        """Add up (B, Tq, Tk) float32 probabilities over the keys of each span; return the (B, Tq, S) float32 sums."""
        length = min(probabilities.shape[-1], self._indicators.shape[1])
        return probabilities[..., :length] @ self._indicators[:, :length]


class AttentionMeter:
    """Adds up the attention to spans over the layers of one forward pass.

    Args:
        spans: the spans of keys whose attention is measured.
        by_head: also keep the mass of each head, which takes L x B x H x Tq x S numbers.
    """

    def __init__(self, spans: Spans, *, by_head: bool = False) -> None:
        self.spans = spans
        self.by_head = by_head
        self._sum: Tensor | None = None
        self._masses: list[Tensor] = []
        self._layers = 0

    @cached_property
    def members(self) -> Members:
        """Which keys of the cache belong to which span. All layers of the network have the same spans."""
        return self.spans.members()

    def pool(self, probabilities: Tensor) -> Tensor:
        """Add up (B, H, Tq, Tk) float32 probabilities over the keys of each span; return the sums, and store nothing.

        The shape is (B, H, Tq, S) if the meter keeps heads, else (B, 1, Tq, S) with the mean of the heads.
        """
        if not self.by_head:
            return self.spans.pool(probabilities.mean(dim=1))[:, None]
        return self.spans.pool(probabilities.flatten(1, 2)).unflatten(1, probabilities.shape[1:3])

    def add(self, mass: Tensor) -> None:
        """Store the (B, H, Tq, S) float32 attention mass of one layer. H is 1 for a mean of the heads."""
        self._layers += 1
        mean = mass.mean(dim=1)
        self._sum = mean if self._sum is None else self._sum + mean
        if self.by_head:
            self._masses.append(mass)

    def mean(self) -> Tensor:
        """Return the (B, Tq, S) float32 attention of each query to each span.

        It is the mean over layers, heads and the tokens of the span.

        Raises:
            ModelError: no layer of the model has called the measured attention.
        """
        if self._sum is None:
            raise ModelError(
                "Expected a model that calls the measured attention, got a model without a layer that calls it. Use "
                "a causal model whose attention goes through transformers' AttentionInterface."
            )
        return self._sum / self._layers / self.spans.tokens[:, None]

    def mean_by_head(self) -> Tensor:
        """Return the (L, H, B, Tq, S) float32 attention, ``mean`` of each head of each layer; only with ``by_head``."""
        return torch.stack(self._masses).transpose(1, 2) / self.spans.tokens[:, None]


class Visibility:
    """Which keys each new token sees. By default a token sees all tokens of its row up to itself.

    Args:
        lengths: the number of tokens that each row held before the pass. The new tokens follow them.
        among: (t, t) bool, which of the new tokens each new token sees; None means all new tokens up to itself.
    """

    def __init__(self, lengths: Sequence[int], *, among: Tensor | None = None) -> None:
        self._lengths = lengths
        self._among = among
        self._longest = max(lengths)
        self._masks: dict[tuple[int, int | None], Tensor | None] = {}

    @property
    def is_causal(self) -> bool:
        """Whether all rows have the same length, and each new token sees all tokens of its row up to itself."""
        return self._among is None and min(self._lengths) == max(self._lengths)

    def is_square(self, queries: int, window: int | None) -> bool:
        """Return whether the rows were empty and each token sees all tokens up to itself.

        Kernels call this case causal.
        """
        return self.is_causal and self._lengths[0] == 0 and not self._exceeds_window(queries, window)

    def reach(self, queries: int) -> int:
        """Return how many keys of the longest row hold a token after the pass. A cache may have more slots."""
        return self._longest + queries

    def mask(self, queries: int, keys: int, window: int | None, device: torch.device) -> Tensor | None:
        """Return a (B or 1, Tq, Tk) bool mask, True where a query sees a key; None only if every query sees every key.

        The mask is computed once for all layers with the same number of keys and the same window.

        Args:
            keys: the number of slots, empty ones included.
            window: the number of last keys that a token sees, itself included; None means all.
        """
        if (keys, window) not in self._masks:
            self._masks[keys, window] = self._build_mask(queries, keys, window, device)
        return self._masks[keys, window]

    def _exceeds_window(self, queries: int, window: int | None) -> bool:
        return window is not None and self._longest + queries > window

    def _build_mask(self, queries: int, count: int, window: int | None, device: torch.device) -> Tensor | None:
        leaves = self._exceeds_window(queries, window)
        if self.is_causal and queries == 1 and count == self.reach(1) and not leaves:
            return None
        lengths = torch.tensor([self._longest] if self.is_causal else list(self._lengths), device=device)
        return _find_visible(lengths, queries, count, window if leaves else None, self._among)


class StaticVisibility(Visibility):
    """A ``Visibility`` whose lengths are a tensor at a fixed address, for passes that a CUDA graph replays.

    The numbers in the tensor decide only the values of the mask, never which code runs.

    Args:
        lengths: (B,) int64 on the device, the number of tokens that each row held before the pass.
        among: (t, t) bool on the device, as in ``Visibility``.
    """

    def __init__(self, lengths: Tensor, among: Tensor | None = None) -> None:
        super().__init__([0], among=among)
        self._numbers = lengths

    @property
    def is_causal(self) -> bool:
        """Always False: the lengths are not known in Python, so that rows may differ."""
        return False

    def _build_mask(self, queries: int, count: int, window: int | None, device: torch.device) -> Tensor:  # noqa: ARG002
        return _find_visible(self._numbers, queries, count, window, self._among)


def _find_visible(lengths: Tensor, queries: int, count: int, window: int | None, among: Tensor | None) -> Tensor:
    """Return a (B, Tq, Tk) bool mask: which of ``count`` keys each new token sees after rows of (B,) lengths."""
    device = lengths.device
    order = torch.arange(count, device=device) - lengths[:, None, None]  # (B, 1, Tk): index of a new token, or negative
    if among is None:
        number = torch.arange(queries, device=device)[:, None]
        seen, distance = order <= number, number - order
    else:
        inside = order.expand(-1, queries, -1).clamp(0, queries - 1)
        among = among.to(device)
        of_new = among.expand(len(lengths), -1, -1).gather(2, inside)
        seen = (order < 0) | (of_new & (order < queries))
        depth = among.sum(dim=1) - 1  # the number of new tokens before each new token
        distance = depth[:, None] - torch.where(order < 0, order, depth[inside[:, :1]])
    return seen if window is None else seen & (distance < window)


def require_attention_interface(model: PreTrainedModel) -> None:
    """Check that the attention of a model can be measured.

    Raises:
        ModelError: the architecture does not use the ``AttentionInterface`` of transformers.
    """
    name = type(model).__name__
    if not getattr(model, "_supports_attention_backend", False):
        raise ModelError(
            f"Expected an architecture whose attention goes through transformers' AttentionInterface, got {name}. "
            "Llama, Qwen, Gemma, Mistral, Phi and gpt-oss models do.",
            architecture=name,
        )


class Look(NamedTuple):
    """How a pass computes the attention of the new tokens of one cache.

    Attributes:
        tokens: the number of new tokens.
        visibility: which keys they see.
        meter: measures the attention; None for no measurement.
    """

    tokens: int
    visibility: Visibility
    meter: AttentionMeter | None


@dataclass(frozen=True, slots=True)
class _Scoring:
    """The values with which an architecture computes the score of a key.

    Attributes:
        scale: factor of the dot products.
        window: the number of last keys that a token sees, itself included; None means all.
        softcap: Gemma 2 limits its scores to this value.
        sinks: (H,), one extra score for each head of gpt-oss. It takes a share of the probability and adds no output.
    """

    scale: float
    window: int | None
    softcap: float | None
    sinks: Tensor | None


def _attend_with_meters(
    module: torch.nn.Module,  # noqa: ARG001 - what transformers calls it with
    query: Tensor,
    key: Tensor | list[Tensor],
    value: Tensor | list[Tensor],
    attention_mask: Tensor | None,  # noqa: ARG001 - ``looks`` holds the same information
    *,
    looks: Sequence[Look],
    scaling: float | None = None,
    sliding_window: int | None = None,
    softcap: float | None = None,
    s_aux: Tensor | None = None,
    **_: Any,
) -> tuple[Tensor, None]:
    """Return the attention output of (B, H, Tq, D) queries to (B, Hkv, Tk, D) keys, and pass masses to the meters.

    The last keys may be empty slots, because plain products would copy all keys to remove them. With several
    ``looks`` (a keyword of the model's forward), B is 1, and each look has its own tokens, keys and values.
    """
    scale = query.shape[-1] ** -0.5 if scaling is None else scaling
    scoring = _Scoring(scale, sliding_window, softcap, s_aux)
    keys, values = (states if isinstance(states, list) else [states] for states in (key, value))
    parts = zip(query.split([look.tokens for look in looks], dim=2), keys, values, looks, strict=True)
    outputs = [_attend(*part, scoring) for part in parts]
    return (torch.cat(outputs, dim=2) if len(outputs) > 1 else outputs[0]).transpose(1, 2), None


def _attend(query: Tensor, key: Tensor, value: Tensor, look: Look, scoring: _Scoring) -> Tensor:
    """Return the (B, H, Tq, D) output for the new tokens of one cache."""
    queries, visibility, meter = query.shape[2], look.visibility, look.meter
    if scoring.softcap is None and visibility.is_causal and queries > 1:
        reach = visibility.reach(queries)
        real_keys, real_values = key[:, :, :reach], value[:, :, :reach]
        if queries > _FEW_QUERIES and (kernel := varlen_kernel(query, value)) is not None:
            return _attend_packed(query, real_keys, real_values, scoring, meter, kernel)
        if query.device.type == "cpu":
            return _attend_in_blocks(query, real_keys, real_values, scoring, meter)
        if queries > _FEW_QUERIES and meter is None and scoring.sinks is None:
            is_square = visibility.is_square(queries, scoring.window)
            mask = None if is_square else visibility.mask(queries, reach, scoring.window, query.device)
            return scaled_dot_product_attention(
                query, real_keys, real_values, attn_mask=None if mask is None else mask[:, None], is_causal=is_square,
                scale=scoring.scale, enable_gqa=True,
            )  # fmt: skip
    mask = visibility.mask(queries, key.shape[2], scoring.window, query.device)
    return _attend_plainly(query, key, value, mask, scoring, meter)


def _attend_in_blocks(
    query: Tensor, key: Tensor, value: Tensor, scoring: _Scoring, meter: AttentionMeter | None
) -> Tensor:
    """Return the (B, H, Tq, D) output of causal attention, computed on a CPU in blocks of queries."""
    members = None if meter is None else meter.members
    output, mass = attend_in_blocks(
        query, key, value, scale=scoring.scale, window=scoring.window, sinks=scoring.sinks, members=members
    )
    if meter is not None and mass is not None:
        meter.add(mass)
    return output


def _attend_packed(
    query: Tensor, key: Tensor, value: Tensor, scoring: _Scoring, meter: AttentionMeter | None, kernel: Kernel
) -> Tensor:
    """Return the (B, H, Tq, D) output of causal attention, computed by a fused kernel on a GPU."""
    output, lse = attend_packed(query, key, value, scale=scoring.scale, window=scoring.window, kernel=kernel)
    if scoring.sinks is not None:
        with_sink = torch.logaddexp(lse, scoring.sinks.float()[:, None])
        output = output * torch.exp(lse - with_sink)[..., None].to(output.dtype)
        lse = with_sink
    if meter is not None:
        owner = meter.spans.owner
        owner = torch.nn.functional.pad(owner, (0, key.shape[2] - owner.shape[1]), value=-1)  # keys after the last span
        meter.add(span_mass(query, key, lse, owner, meter.spans.count, scale=scoring.scale, window=scoring.window))
    return output


def _attend_plainly(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, scoring: _Scoring, meter: AttentionMeter | None
) -> Tensor:
    """Return the (B, H, Tq, D) output of plain matrix products, in blocks of queries.

    All query heads that share a key head are multiplied together.
    """
    rows, heads, total, width = query.shape
    shared, keys = key.shape[1], key.shape[2]
    most = _CPU_BLOCK_SCORES if query.device.type == "cpu" else _BLOCK_SCORES
    block = max(1, most // (rows * heads * keys))
    outputs, masses = [], []
    for start in range(0, total, block):
        some = slice(start, min(start + block, total))
        packed = query[:, :, some].reshape(rows, shared, -1, width)
        scores = (packed @ key.transpose(-1, -2)).float().mul_(scoring.scale).view(rows, heads, -1, keys)
        if scoring.softcap is not None:
            scores = scores.div_(scoring.softcap).tanh_().mul_(scoring.softcap)
        if mask is not None:
            scores = scores.masked_fill_(~mask[:, None, some], float("-inf"))
        probabilities = softmax(scores, scoring.sinks)
        if meter is not None:
            masses.append(meter.pool(probabilities))
        output = probabilities.to(value.dtype).reshape(rows, shared, -1, keys) @ value
        outputs.append(output.view(rows, heads, -1, value.shape[-1]))
    if meter is not None:
        meter.add(torch.cat(masses, dim=2))
    return torch.cat(outputs, dim=2) if len(outputs) > 1 else outputs[0]


AttentionInterface.register(IMPLEMENTATION, _attend_with_meters)
AttentionMaskInterface.register(IMPLEMENTATION, lambda **_: None)
