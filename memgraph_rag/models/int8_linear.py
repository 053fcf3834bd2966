"""Linear layers that multiply 8-bit integers on a CPU: weights with a scale a channel, inputs with a scale a token.

It knows linear layers, no model and no tokens. A processor with VNNI multiplies bytes twice as fast as bfloat16 and
reads half as much; one with AVX2 alone multiplies them twice as fast as float32. Everything between the linear layers
(norms, attention, activations) stays as it was, so what is measured of attention is measured in the same way.
Invariants: a token's output depends on no other token of its pass; what is not finite stays so; no sum overflows; one
packed form of the weights serves passes of one token and of thousands.

Source: SmoothQuant (Xiao et al., 2023), section 2, per-channel weights and per-token inputs; where SmoothQuant moves
outliers into the weights, which needs example texts, a layer of many inputs is cut in blocks with scales of their own.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import torch
from torch import Tensor, nn

__all__ = ["Int8Linear", "use_int8"]

_AT_ONCE = 1 << 21  # numbers made integers together: more are page faults, fewer keep cores waiting for each other
_BLOCKS = 4  # of a layer that narrows, as the last of an MLP, whose few large inputs would take the others' digits
_NARROWS = 2  # inputs for an output from which on a layer does
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

    ``y = sum over blocks of s_x s_w (q_x q_w^T), + b`` with ``q = round(row / s)``, the row's largest absolute value in
    the block being 126.5 ``s``, or 90 ``s`` on a processor without VNNI. One block, unless there are at least twice as
    many inputs as outputs: then 4.

    Args:
        linear: the layer that it stands for; its weights are copied.

    Attributes:
        levels: 126.5 or 90.
    """

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        self.in_features, self.out_features = linear.in_features, linear.out_features
        narrows = linear.in_features >= _NARROWS * linear.out_features and linear.in_features % _BLOCKS == 0
        self._blocks = _BLOCKS if narrows else 1
        self.levels, self._zero = _range()
        self.weights, self._scales = nn.ParameterList(), []
        for block in linear.weight.detach().chunk(self._blocks, dim=1):
            integers, scales = _integers(block, torch.float32, self.levels)
            packed = torch.ops.onednn.qlinear_prepack(integers, None)
            self.weights.append(nn.Parameter(packed, requires_grad=False))  # parameters, so that they count as such
            self._scales.append(scales[:, 0])
        self._zeros = torch.zeros(linear.out_features, dtype=torch.int32)
        self.bias = linear.bias

    def forward(self, states: Tensor) -> Tensor:
        """(..., out_features) from (..., in_features), in the format of the input."""
        rows = states.reshape(-1, self.in_features // self._blocks)  # (n x blocks, d)
        integers, scales = _integers(rows, states.dtype, self.levels)
        unsigned = integers.view(torch.uint8).add_(self._zero).view(-1, self._blocks, rows.shape[1])
        scales = scales.view(-1, self._blocks, 1)
        if self._blocks == 1:
            output = self._of_block(unsigned[:, 0], 0, states.dtype).mul_(scales[:, 0])
        else:
            total = self._of_block(unsigned[:, 0], 0, torch.float32).mul_(scales[:, 0])
            for place in range(1, self._blocks):
                total.addcmul_(self._of_block(unsigned[:, place], place, torch.float32), scales[:, place].float())
            output = total.to(states.dtype)
        if self.bias is not None:
            output.add_(self.bias)
        return output.view(*states.shape[:-1], self.out_features)

    def _of_block(self, unsigned: Tensor, place: int, dtype: torch.dtype) -> Tensor:
        """(n, out_features) from the (n, d) integers of a block and that block's weights, without inputs' scales."""
        weights, scales = self.weights[place], self._scales[place]
        return _product(unsigned, weights, scales, self._zeros, zero=self._zero, dtype=dtype)


def use_int8(network: nn.Module, *, but: nn.Module | None = None) -> None:
    """Put an ``Int8Linear`` in the place of each linear layer that wins by it, one after another: no second network.

    Args:
        but: a layer to be left as it is.
    """
    linears = {name: layer for name, layer in network.named_modules() if type(layer) is nn.Linear and layer is not but}
    least = max((layer.weight.numel() for layer in linears.values()), default=0) / _LEAST_SHARE
    for name in [name for name, layer in linears.items() if layer.weight.numel() >= least]:
        place, _, own_name = name.rpartition(".")
        setattr(network.get_submodule(place), own_name, Int8Linear(linears.pop(name)))
    for parameter in network.parameters():  # what stays is a view of the checkpoint's file, and keeps all of it mapped
        if not parameter.is_mkldnn:
            parameter.data = parameter.data.clone()


@cache
def _range() -> _Range:
    """What this processor adds up without loss, found out by products of which two do not fit in 16 bits."""
    largest, weights = torch.full((64, 64), 255, dtype=torch.uint8), torch.full((64, 64), 127, dtype=torch.int8)
    packed = torch.ops.onednn.qlinear_prepack(weights, None)
    scales, zeros = torch.ones(64), torch.zeros(64, dtype=torch.int32)
    total = _product(largest, packed, scales, zeros, zero=0, dtype=torch.float32)
    return _WHOLE if (total == 64 * 255 * 127).all() else _SHORT


def _product(
    unsigned: Tensor, packed: Tensor, scales: Tensor, zeros: Tensor, *, zero: int, dtype: torch.dtype
) -> Tensor:
    return torch.ops.onednn.qlinear_pointwise(
        unsigned, 1.0, zero, packed, scales, zeros, None, 1.0, 0, dtype, "none", [], ""
    )


def _integers(rows: Tensor, dtype: torch.dtype, levels: float) -> tuple[Tensor, Tensor]:
    """(n, d) int8 and (n, 1) scales of that format, whose product is nearly the rows."""
    at_once = max(1, _AT_ONCE // rows.shape[1])
    if len(rows) > at_once:
        parts = [_integers(some, dtype, levels) for some in rows.split(at_once)]
        return torch.cat([integers for integers, _ in parts]), torch.cat([scales for _, scales in parts])
    rows, tiny = rows.to(dtype), torch.finfo(dtype).tiny
    scales = rows.abs().amax(dim=1, keepdim=True).mul_(1 / levels).clamp_min_(tiny)
    return rows.div(scales).round_().to(torch.int8), scales
