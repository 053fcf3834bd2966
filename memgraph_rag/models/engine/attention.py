"""How much each token looks at each span of others, measured while the model runs.

The model's attention function is replaced by one that gives the same output and, where a measurement is on, adds up
the probability mass that falls on each span. No attention matrix of a whole pass is ever kept: on a CPU, and of few
queries, plain products have the probabilities at hand (``blocked_attention.py``); a fused kernel of a GPU leaves a
log-sum-exp, which turns the scores of the wanted keys alone into probabilities (``span_mass.py``). It knows nothing of
documents or prompts.
Invariant: a measurement equals the mean over layers and heads of what ``output_attentions=True`` would give, summed
over the span (tested against ``reference.py`` on each architecture).

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
from memgraph_rag.models.engine.blocked_attention import Members, blocked_attention, softmax
from memgraph_rag.models.engine.cuda.varlen import Kernel, packed_attention, varlen_kernel
from memgraph_rag.models.engine.span_mass import span_mass

__all__ = [
    "IMPLEMENTATION",
    "AttentionMeter",
    "Look",
    "Spans",
    "StaticVisibility",
    "Visibility",
    "require_attention_interface",
]

IMPLEMENTATION = "measured"
"""The name under which the attention function and its mask are registered with transformers.

Neutral on purpose: transformers branches on names that contain "sdpa" or "flash"."""

_FEW_QUERIES = 96  # up to here plain products beat a GPU's fused kernel
_BLOCK_SCORES = 1 << 24  # scores of plain products held at once: 64 MB
_CPU_BLOCK_SCORES = 1 << 18  # so few stay in a CPU's cache

Span = tuple[int, int]


class Spans:
    """Half-open spans of key positions, one list for each row of a batch.

    Args:
        spans: those of each row; they do not overlap. Rows may have fewer than the longest list.
        length: no span reaches past this position.
        room: for at least so many spans a row.

    Raises:
        SpanError: a span is empty, or reaches past ``length``.
    """

    def __init__(self, spans: Sequence[Sequence[Span]], *, length: int, device: torch.device, room: int = 0) -> None:
        self.count = max(room, *map(len, spans))
        owner = torch.full((len(spans), length), -1, dtype=torch.int32)
        tokens = torch.ones(len(spans), self.count)
        for row, of_row in enumerate(spans):
            for number, (start, end) in enumerate(of_row):
                if not 0 <= start < end <= length:
                    raise SpanError(
                        f"Expected token spans within 0..{length} that hold a token, got ({start}, {end}).",
                        start=start, end=end, length=length,
                    )  # fmt: skip
                owner[row, start:end] = number
                tokens[row, number] = end - start
        self.owner = owner.to(device)  # (B, length): the span of each position, -1 where it has none
        self.tokens = tokens.to(device)  # (B, S)
        self._indicators = (self.owner[:, :, None] == torch.arange(self.count, device=device)).float()

    def become(self, others: Spans) -> None:
        """Take the values of other spans, of at most as many rows, positions and spans, into the same tensors."""
        rows, length, count = others._indicators.shape
        self.owner.fill_(-1)[:rows, :length] = others.owner
        self.tokens.fill_(1)[:rows, :count] = others.tokens
        self._indicators.zero_()[:rows, :length, :count] = others._indicators

    def members(self) -> Members:
        """Which keys belong to which span, from the first that does to the last."""
        places = (self.owner >= 0).any(dim=0).nonzero()
        first, end = (int(places[0]), int(places[-1]) + 1) if len(places) else (0, 0)
        return Members(first, self._indicators[:, first:end])

    def pool(self, probabilities: Tensor) -> Tensor:
        """(B, Tq, S) mass on each span from (B, Tq, Tk) float32 probabilities."""
        length = min(probabilities.shape[-1], self._indicators.shape[1])
        return probabilities[..., :length] @ self._indicators[:, :length]


class AttentionMeter:
    """Adds up the attention to spans over the layers of one forward pass.

    Args:
        spans: what is looked at.
        by_head: keep each head's mass, at the price of (L, B, H, Tq, S) numbers.
    """

    def __init__(self, spans: Spans, *, by_head: bool = False) -> None:
        self.spans = spans
        self.by_head = by_head
        self._sum: Tensor | None = None
        self._of_heads: list[Tensor] = []
        self._layers = 0

    @cached_property
    def members(self) -> Members:
        """Which keys belong to which span, the same in all layers."""
        return self.spans.members()

    def pool(self, probabilities: Tensor) -> Tensor:
        """(B, H, Tq, S) mass on the spans from (B, H, Tq, Tk) float32 probabilities; H is 1 unless heads are kept."""
        if not self.by_head:
            return self.spans.pool(probabilities.mean(dim=1))[:, None]
        return self.spans.pool(probabilities.flatten(1, 2)).unflatten(1, probabilities.shape[1:3])

    def add(self, mass: Tensor) -> None:
        """One layer: (B, H, Tq, S) float32 mass on the spans."""
        self._layers += 1
        of_all = mass.mean(dim=1)
        self._sum = of_all if self._sum is None else self._sum + of_all
        if self.by_head:
            self._of_heads.append(mass)

    def mean(self) -> Tensor:
        """(B, Tq, S) float32: attention of each query to each span, mean over layers, heads and the span's tokens."""
        if self._sum is None:
            raise ModelError(
                "Expected the model to call the measured attention, got one of which no layer did. Use a causal "
                "model whose "
                "attention goes through transformers' AttentionInterface."
            )
        return self._sum / self._layers / self.spans.tokens[:, None]

    def of_heads(self) -> Tensor:
        """(L, H, B, Tq, S) float32: as ``mean``, each head of each layer for itself."""
        return torch.stack(self._of_heads).transpose(1, 2) / self.spans.tokens[:, None]


class Visibility:
    """Which keys each new token sees; a token sees itself and what its row held before, unless told otherwise.

    Args:
        lengths: how many tokens each row held before the pass; the new ones lie behind them.
        among: (t, t) bool, which of the new tokens a new token sees; those up to itself where it is None.
    """

    def __init__(self, lengths: Sequence[int], *, among: Tensor | None = None) -> None:
        self._held = lengths
        self._among = among
        self._longest = max(lengths)
        self._masks: dict[tuple[int, int | None], Tensor | None] = {}

    @property
    def is_causal(self) -> bool:
        """Whether all rows are equally long, and each token sees all before it."""
        return self._among is None and min(self._held) == max(self._held)

    def is_square(self, queries: int, window: int | None) -> bool:
        """Whether nothing was held, and each token sees all up to itself: what kernels call causal."""
        return self.is_causal and self._held[0] == 0 and not self._leaves(queries, window)

    def reach(self, queries: int) -> int:
        """How many keys are real; a cache may show more."""
        return self._longest + queries

    def mask(self, queries: int, keys: int, window: int | None, device: torch.device) -> Tensor | None:
        """(B or 1, Tq, Tk) bool, True where a query sees a key; None where all see all. The same for many layers.

        Args:
            keys: how many there are, those that are not real included.
            window: a token sees only so many, itself included.
        """
        if (keys, window) not in self._masks:
            self._masks[keys, window] = self._made(queries, keys, window, device)
        return self._masks[keys, window]

    def _leaves(self, queries: int, window: int | None) -> bool:
        return window is not None and self._longest + queries > window

    def _made(self, queries: int, count: int, window: int | None, device: torch.device) -> Tensor | None:
        leaves = self._leaves(queries, window)
        if self.is_causal and queries == 1 and count == self.reach(1) and not leaves:
            return None
        lengths = torch.tensor([self._longest] if self.is_causal else list(self._held), device=device)
        return _seen(lengths, queries, count, window if leaves else None, self._among)


class StaticVisibility(Visibility):
    """The same by tensors that stay where they are; nothing is decided by their numbers but the mask's own.

    Args:
        lengths: (B,) int64 on the device, how many tokens each row held before the pass.
        among: (t, t) bool there.
    """

    def __init__(self, lengths: Tensor, among: Tensor | None = None) -> None:
        super().__init__([0], among=among)
        self._numbers = lengths

    @property
    def is_causal(self) -> bool:
        """Nobody knows, so no: rows may differ."""
        return False

    def _made(self, queries: int, count: int, window: int | None, device: torch.device) -> Tensor:  # noqa: ARG002
        return _seen(self._numbers, queries, count, window, self._among)


def _seen(lengths: Tensor, queries: int, count: int, window: int | None, among: Tensor | None) -> Tensor:
    """(B, Tq, Tk) bool: which of so many keys the new tokens see, behind rows of (B,) lengths."""
    device = lengths.device
    order = torch.arange(count, device=device) - lengths[:, None, None]  # (B, 1, Tk): among the new ones, or negative
    if among is None:
        number = torch.arange(queries, device=device)[:, None]
        seen, distance = order <= number, number - order
    else:
        inside = order.expand(-1, queries, -1).clamp(0, queries - 1)
        among = among.to(device)
        of_new = among.expand(len(lengths), -1, -1).gather(2, inside)
        seen = (order < 0) | (of_new & (order < queries))
        depth = among.sum(dim=1) - 1  # how many new tokens each has before it
        distance = depth[:, None] - torch.where(order < 0, order, depth[inside[:, :1]])
    return seen if window is None else seen & (distance < window)


def require_attention_interface(model: PreTrainedModel) -> None:
    """Check that the model's attention can be measured.

    Raises:
        ModelError: its architecture does not go through ``AttentionInterface``.
    """
    name = type(model).__name__
    if not getattr(model, "_supports_attention_backend", False):
        raise ModelError(
            f"Expected an architecture whose attention goes through transformers' AttentionInterface, got {name}. "
            "Llama, Qwen, Gemma, Mistral, Phi and gpt-oss models do.",
            architecture=name,
        )


class Look(NamedTuple):
    """How the new tokens of one cache look at its keys.

    Attributes:
        tokens: the number of new tokens.
        meter: takes what they look at.
    """

    tokens: int
    visibility: Visibility
    meter: AttentionMeter | None


@dataclass(frozen=True, slots=True)
class _Scoring:
    """How an architecture scores a key.

    Gemma 2 caps its scores, gpt-oss has a sink, a score of each head's own (H,) that takes its share and gives nothing.
    """

    scale: float
    window: int | None
    softcap: float | None
    sinks: Tensor | None


def _measured_attention(
    module: torch.nn.Module,  # noqa: ARG001 - what transformers calls it with
    query: Tensor,
    key: Tensor | list[Tensor],
    value: Tensor | list[Tensor],
    attention_mask: Tensor | None,  # noqa: ARG001 - ``looks`` says what it would say
    *,
    looks: Sequence[Look],
    scaling: float | None = None,
    sliding_window: int | None = None,
    softcap: float | None = None,
    s_aux: Tensor | None = None,
    **_: Any,
) -> tuple[Tensor, None]:
    """Attention of (B, H, Tq, D) queries to (B, Hkv, Tk, D) keys; tells meters what was looked at.

    The last keys may be those of empty slots: plain products would copy all keys to leave them out. With several
    ``looks``, which are a keyword of the model's forward, B is 1, and each has its own tokens, keys and values.
    """
    scale = query.shape[-1] ** -0.5 if scaling is None else scaling
    scoring = _Scoring(scale, sliding_window, softcap, s_aux)
    keys, values = (states if isinstance(states, list) else [states] for states in (key, value))
    parts = zip(query.split([look.tokens for look in looks], dim=2), keys, values, looks, strict=True)
    outputs = [_attended(*part, scoring) for part in parts]
    return (torch.cat(outputs, dim=2) if len(outputs) > 1 else outputs[0]).transpose(1, 2), None


def _attended(query: Tensor, key: Tensor, value: Tensor, look: Look, scoring: _Scoring) -> Tensor:
    """(B, H, Tq, D) output of one cache's new tokens."""
    queries, visibility, meter = query.shape[2], look.visibility, look.meter
    if scoring.softcap is None and visibility.is_causal and queries > 1:
        reach = visibility.reach(queries)
        real_keys, real_values = key[:, :, :reach], value[:, :, :reach]
        if queries > _FEW_QUERIES and (kernel := varlen_kernel(query, value)) is not None:
            return _packed(query, real_keys, real_values, scoring, meter, kernel)
        if query.device.type == "cpu":
            return _in_blocks(query, real_keys, real_values, scoring, meter)
        if queries > _FEW_QUERIES and meter is None and scoring.sinks is None:
            is_square = visibility.is_square(queries, scoring.window)
            mask = None if is_square else visibility.mask(queries, reach, scoring.window, query.device)
            return scaled_dot_product_attention(
                query, real_keys, real_values, attn_mask=None if mask is None else mask[:, None], is_causal=is_square,
                scale=scoring.scale, enable_gqa=True,
            )  # fmt: skip
    mask = visibility.mask(queries, key.shape[2], scoring.window, query.device)
    return _plain(query, key, value, mask, scoring, meter)


def _in_blocks(query: Tensor, key: Tensor, value: Tensor, scoring: _Scoring, meter: AttentionMeter | None) -> Tensor:
    """(B, H, Tq, D) output of causal attention on a CPU."""
    members = None if meter is None else meter.members
    output, mass = blocked_attention(
        query, key, value, scale=scoring.scale, window=scoring.window, sinks=scoring.sinks, members=members
    )
    if meter is not None and mass is not None:
        meter.add(mass)
    return output


def _packed(
    query: Tensor, key: Tensor, value: Tensor, scoring: _Scoring, meter: AttentionMeter | None, kernel: Kernel
) -> Tensor:
    """(B, H, Tq, D) output of causal attention by a fused kernel of a GPU."""
    output, lse = packed_attention(query, key, value, scale=scoring.scale, window=scoring.window, kernel=kernel)
    if scoring.sinks is not None:
        with_sink = torch.logaddexp(lse, scoring.sinks.float()[:, None])
        output = output * torch.exp(lse - with_sink)[..., None].to(output.dtype)
        lse = with_sink
    if meter is not None:
        owner = _widened(meter.spans.owner, key)
        meter.add(span_mass(query, key, lse, owner, meter.spans.count, scale=scoring.scale, window=scoring.window))
    return output


def _plain(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    scoring: _Scoring,
    meter: AttentionMeter | None,
) -> Tensor:
    """(B, H, Tq, D) output by plain products, heads of one key head packed together, in blocks of queries."""
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


def _widened(owner: Tensor, key: Tensor) -> Tensor:
    """(B, Tk) owners where positions behind the last span belong to none."""
    return torch.nn.functional.pad(owner, (0, key.shape[2] - owner.shape[1]), value=-1)


AttentionInterface.register(IMPLEMENTATION, _measured_attention)
AttentionMaskInterface.register(IMPLEMENTATION, lambda **_: None)
