"""Linear layers that multiply 8-bit integers on a CPU: weights with a scale a channel, inputs with a scale a token.

It knows linear layers, no model and no tokens. A processor with VNNI multiplies bytes twice as fast as bfloat16 and
reads half as much; one with AVX2 alone multiplies them twice as fast as float32. Everything between the linear layers
(norms, attention, activations) stays as it was, so what is measured of attention is measured in the same way.
Invariants: a token's output depends on no other token of its pass; what is not finite stays so; no sum overflows; one
packed form of the weights serves passes of one token and of thousands.

Sources: SmoothQuant (Xiao et al., 2023), section 2, per-channel weights and per-token inputs; QuaRot (Ashkboos et al.,
2024), section 4: inputs and weights are turned by a Hadamard matrix, which spreads the few large inputs that would
take the others' digits. Here each layer turns its own inputs, in short blocks, so that nothing else has to change.
"""

from __future__ import annotations

import ctypes
import time
from contextlib import suppress
from functools import cache
from typing import NamedTuple

import torch
from scipy.linalg import hadamard
from threadpoolctl import threadpool_limits
from torch import Tensor, nn

__all__ = ["Int8Linear", "Int8Output", "is_faster", "use_int8"]

_AT_ONCE = 1 << 21  # numbers made integers together: more are page faults, fewer keep cores waiting for each other
_EXACT_ROWS = 16  # whose likeliest logits are computed in full together: 3 MB of the 1.5B's weights
_LIKELIEST = 64  # tokens; by integers the 1.5B's logits are off by 0.1 at most
_TURNED = 64  # inputs that are turned together, at most
_TRIED_ROWS = (4, 64)  # a step that writes, a pass that reads; one row waits for memory, in integers never longer
_TRIED_TIMES = 5
_MARGIN = 1.2  # by which integers must be faster
_LEAST_SHARE = 20  # smaller layers than this part of the largest win nothing: keys and values of few heads


class _Range(NamedTuple):
    """Which integers stand for a row: its largest is so many levels; oneDNN is fast where inputs are unsigned."""

    levels: float
    zero: int  # what stands for 0 in the inputs


# A scale, rounded to bfloat16, may be too small by 1/256, and 127 is the most that a byte holds.
_WHOLE = _Range(126.5, 128)
# Without VNNI two products are summed in 16 bits: 2 x 181 x 90 still fits.
_SHORT = _Range(90.0, 91)


class Int8Linear(nn.Module):
    """What a linear layer gives, from products of integers.

    ``y = s_x s_w (q_x q_w^T) + b`` with ``q = round(H row / s)``. H turns blocks of 64 inputs (of as large a power of
    4 as divides them where 64 does not) and is its own inverse, so that ``H x`` times ``H w`` is ``x`` times ``w``.
    The largest absolute value of a turned row is 126.5 ``s``, or 90 ``s`` on a processor without VNNI.

    Args:
        linear: the layer that it stands for; its weights are copied.

    Attributes:
        levels: 126.5 or 90.
    """

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        self.in_features, self.out_features = linear.in_features, linear.out_features
        self.levels, self._zero = _range()
        self._turn = _turn(linear.in_features).to(linear.weight.dtype)
        integers, scales = self._integers(linear.weight.detach())
        self.weight = nn.Parameter(_packed(integers), requires_grad=False)  # a parameter, so that it counts as such
        self._scales = scales[:, 0].float()
        self._zeros = torch.zeros(linear.out_features, dtype=torch.int32)
        self.bias = linear.bias

    def forward(self, states: Tensor) -> Tensor:
        """(..., out_features) from (..., in_features), in the format of the input."""
        integers, scales = self._integers(states.reshape(-1, self.in_features))
        unsigned = integers.view(torch.uint8).add_(self._zero)
        output = _product(unsigned, self.weight, self._scales, self._zeros, zero=self._zero, dtype=states.dtype)
        output.mul_(scales)
        if self.bias is not None:
            output.add_(self.bias)
        return output.view(*states.shape[:-1], self.out_features)

    def _integers(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """(n, d) int8 and (n, 1) scales of the rows' format, whose product is nearly the turned rows."""
        integers, scales = torch.empty(rows.shape, dtype=torch.int8), rows.new_empty(len(rows), 1)
        turn, least = self._turn.to(rows.dtype), torch.finfo(rows.dtype).tiny
        at_once = max(1, _AT_ONCE // rows.shape[1])
        parts = zip(rows.split(at_once), integers.split(at_once), scales.split(at_once), strict=True)
        for some, some_integers, some_scales in parts:
            turned = (some.reshape(-1, len(turn)) @ turn).view_as(some)
            torch.amax(turned.abs(), dim=1, keepdim=True, out=some_scales).mul_(1 / self.levels).clamp_min_(least)
            some_integers.copy_(turned.div_(some_scales).round_())
        return integers, scales


class Int8Output(nn.Module):
    """The logits of a network's output layer: of all tokens by integers, of the likeliest by the weights themselves.

    So what is written, and how sure the network is of it, are as exact as the weights, of which a pass reads few rows:
    where they are mapped from a file, only these are in memory.

    Args:
        linear: the output layer; its weights are kept as well, as they may be those of the input embedding.
    """

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        self.weight, self.bias = linear.weight, linear.bias
        self._roughly = Int8Linear(linear).__call__  # no part of the network: it would count weights twice

    def forward(self, states: Tensor) -> Tensor:
        """(..., tokens) logits from (..., in_features)."""
        logits = self._roughly(states)
        rows = zip(states.flatten(0, -2).split(_EXACT_ROWS), logits.flatten(0, -2).split(_EXACT_ROWS), strict=True)
        for some_states, some_logits in rows:
            likeliest = some_logits.topk(min(_LIKELIEST, logits.shape[-1]), dim=-1, sorted=False).indices
            exact = (self.weight[likeliest] @ some_states[..., None])[..., 0]
            some_logits.scatter_(-1, likeliest, exact if self.bias is None else exact + self.bias[likeliest])
        return logits


def use_int8(network: nn.Module, *, output: nn.Module | None = None) -> None:
    """Put an ``Int8Linear`` in the place of each linear layer that wins by it, one after another: no second network.

    Args:
        output: the layer that gives the logits, which becomes an ``Int8Output``.
    """
    linears = {name: layer for name, layer in network.named_modules() if type(layer) is nn.Linear}
    least = max((layer.weight.numel() for layer in linears.values() if layer is not output), default=0) / _LEAST_SHARE
    for name in [name for name, layer in linears.items() if layer.weight.numel() >= least]:
        place, _, own_name = name.rpartition(".")
        layer = linears.pop(name)
        replacement = Int8Output(layer) if layer is output else Int8Linear(layer)
        setattr(network.get_submodule(place), own_name, replacement)
    # Of what was freed between the layers glibc, which alone has the call, keeps some 500 MB.
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


@cache
@torch.inference_mode()
def is_faster(inputs: int, outputs: int, dtype: torch.dtype) -> bool:
    """Whether this processor, tried now, is faster by a fifth with integers, in a layer of that shape.

    It takes 0.4 s of a processor for 14 M weights, on one core and by the calling thread's own time: threads that share
    a product wait for each other on a busy machine, and what else runs would decide.

    Args:
        dtype: of the layer to compare with.
    """
    linear = nn.Linear(inputs, outputs, bias=False, dtype=dtype, device="meta").to_empty(device="cpu")
    nn.init.ones_(linear.weight)
    integers = Int8Linear(linear)
    with threadpool_limits(1, user_api="openmp"):  # OpenMP keeps a number for each thread: only this one's changes
        return all(_MARGIN * _seconds(integers, rows, dtype) < _seconds(linear, rows, dtype) for rows in _TRIED_ROWS)


def _seconds(layer: Int8Linear | nn.Linear, rows: int, dtype: torch.dtype) -> float:
    states, seconds = torch.ones(rows, layer.in_features, dtype=dtype), []
    for _ in range(_TRIED_TIMES):
        begun = time.thread_time()
        layer(states)
        seconds.append(time.thread_time() - begun)
    return min(seconds)


@cache
def _turn(features: int) -> Tensor:
    """(n, n) float32, n a power of 4: only then are its entries, 1 / sqrt(n), exact in every format."""
    size = _TURNED
    while features % size:
        size //= 4
    return torch.tensor(hadamard(size) / size**0.5, dtype=torch.float32)


@cache
def _range() -> _Range:
    """What this processor adds up without loss, found out by products of which two do not fit in 16 bits."""
    largest, weights = torch.full((64, 64), 255, dtype=torch.uint8), torch.full((64, 64), 127, dtype=torch.int8)
    packed = _packed(weights)
    scales, zeros = torch.ones(64), torch.zeros(64, dtype=torch.int32)
    total = _product(largest, packed, scales, zeros, zero=0, dtype=torch.float32)
    return _WHOLE if (total == 64 * 255 * 127).all() else _SHORT


def _packed(integers: Tensor) -> Tensor:
    """Return (outputs, inputs) int8 in the form that ``onednn.qlinear_pointwise`` takes."""
    return torch.ops.onednn.qlinear_prepack(integers, None)


def _product(
    unsigned: Tensor, packed: Tensor, scales: Tensor, zeros: Tensor, *, zero: int, dtype: torch.dtype
) -> Tensor:
    return torch.ops.onednn.qlinear_pointwise(
        unsigned, 1.0, zero, packed, scales, zeros, None, 1.0, 0, dtype, "none", [], ""
    )
