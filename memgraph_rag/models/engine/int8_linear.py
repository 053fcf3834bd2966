"""Linear layers that multiply 8-bit integers on a CPU, with one scale for each weight channel and each input token.

The module knows linear layers, but no model and no tokens. A processor with VNNI multiplies bytes twice as fast as
bfloat16 and reads half as much. A processor with only AVX2 multiplies bytes twice as fast as float32. The layers
between the linear layers (norms, attention, activations) do not change, so that attention is measured in the same way.
Invariants: the output of a token depends on no other token of its pass; values that are not finite stay so; no sum
    overflows; the same packed weights serve passes of one token and of thousands.

Sources: SmoothQuant (Xiao et al., 2023), section 2, per-channel weights and per-token inputs; QuaRot (Ashkboos et al.,
2024), section 4: a Hadamard matrix rotates inputs and weights. This spreads the few large inputs, which would otherwise
take the digits of the others. Here each layer rotates its own inputs in short blocks, so that no other layer changes.
"""

from __future__ import annotations

import ctypes
from contextlib import suppress
from functools import cache
from typing import NamedTuple

import torch
from scipy.linalg import hadamard
from torch import Tensor, nn

from memgraph_rag.models.engine.hardware import MARGIN, measure_thread_seconds

_AT_ONCE = 1 << 21  # numbers converted at a time: more cause page faults, fewer keep cores waiting
_EXACT_ROWS = 16  # rows whose likeliest logits are computed exactly at a time: 3 MB of the 1.5B's weights
_LIKELIEST = 64  # tokens; with integers, the 1.5B's logits are wrong by at most 0.1
_TURNED = 64  # the largest number of inputs in a rotated block
_TRIED_ROWS = (4, 64)  # the rows of a writing step and of a reading pass; one row only waits for memory
_LEAST_SHARE = 20  # layers smaller than this part of the largest gain nothing, such as keys of few heads


class _Range(NamedTuple):
    """The integers that represent a row.

    Attributes:
        levels: the integer of the row's largest absolute value.
        zero: the unsigned integer that represents 0 in the inputs; oneDNN is fast only for unsigned inputs.
    """

    levels: float
    zero: int


# A scale, rounded to bfloat16, may be too small by 1/256, and the largest value of a byte is 127.
_WHOLE = _Range(126.5, 128)
# Without VNNI the processor sums two products in 16 bits: 2 x 181 x 90 still fits.
_SHORT = _Range(90.0, 91)


class Int8Linear(nn.Module):
    """A linear layer that computes with products of integers.

    ``y = s_x s_w (q_x q_w^T) + b`` with ``q = round(H row / s)``. The Hadamard matrix H rotates blocks of 64 inputs (or
    of the largest power of 4 that divides the number of inputs). It is its own inverse, so that ``H x`` times ``H w``
    is ``x`` times ``w``. The largest absolute value of a rotated row is 126.5 ``s``, or 90 ``s`` on a processor without
    VNNI.

    Args:
        linear: the layer to replace; its weights are copied.

    Attributes:
        levels: 126.5 or 90.
    """

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        self.in_features, self.out_features = linear.in_features, linear.out_features
        self.levels, self._zero = _find_range()
        self._hadamard_matrix = _hadamard_matrix(linear.in_features).to(linear.weight.dtype)
        integers, scales = self._integers(linear.weight.detach())
        self.weight = nn.Parameter(_pack(integers), requires_grad=False)  # a parameter, so that it counts as such
        self._scales = scales[:, 0].float()
        self._zeros = torch.zeros(linear.out_features, dtype=torch.int32)
        self.bias = linear.bias

    def forward(self, states: Tensor) -> Tensor:
        """Return the (..., out_features) output for (..., in_features) inputs, in the dtype of the input."""
        integers, scales = self._integers(states.reshape(-1, self.in_features))
        unsigned = integers.view(torch.uint8).add_(self._zero)
        output = _product(unsigned, self.weight, self._scales, self._zeros, zero=self._zero, dtype=states.dtype)
        if self.bias is None:
            output.mul_(scales)
        else:
            torch.addcmul(self.bias, output, scales, out=output)
        return output.view(*states.shape[:-1], self.out_features)

    def _integers(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Rotate (n, d) rows and convert them to integers.

        Returns:
            (n, d) int8, and (n, 1) scales in the dtype of the rows; their product is close to the rotated rows.
        """
        integers, scales = torch.empty(rows.shape, dtype=torch.int8), rows.new_empty(len(rows), 1)
        turn, least = self._hadamard_matrix.to(rows.dtype), torch.finfo(rows.dtype).tiny
        at_once = max(1, _AT_ONCE // rows.shape[1])
        parts = zip(rows.split(at_once), integers.split(at_once), scales.split(at_once), strict=True)
        for some, some_integers, some_scales in parts:
            turned = (some.reshape(-1, len(turn)) @ turn).view_as(some)
            torch.amax(turned, dim=1, keepdim=True, out=some_scales)
            torch.maximum(some_scales, -turned.amin(dim=1, keepdim=True), out=some_scales)  # abs would copy the rows
            some_scales.mul_(1 / self.levels).clamp_min_(least)
            some_integers.copy_(turned.div_(some_scales).round_())
        return integers, scales


class Int8Output(nn.Module):
    """The output layer of a network: integers compute all logits, and the weights compute the largest logits again.

    So the chosen tokens and their probabilities are as exact as the weights, although a pass reads few rows of the
    weights. If the weights are mapped from a file, only these rows are in memory.

    Args:
        linear: the output layer. Its weights are kept too, because the input embedding may share them.
    """

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        self.weight, self.bias = linear.weight, linear.bias
        # A bound method is no submodule: the network would count the weights of a submodule twice.
        self._roughly = Int8Linear(linear).__call__

    def forward(self, states: Tensor) -> Tensor:
        """Return (..., tokens) logits from (..., in_features) states; the largest of each row are exact."""
        logits = self._roughly(states)
        rows = zip(states.flatten(0, -2).split(_EXACT_ROWS), logits.flatten(0, -2).split(_EXACT_ROWS), strict=True)
        for some_states, some_logits in rows:
            likeliest = some_logits.topk(min(_LIKELIEST, logits.shape[-1]), dim=-1, sorted=False).indices
            exact = (self.weight[likeliest] @ some_states[..., None])[..., 0]
            some_logits.scatter_(-1, likeliest, exact if self.bias is None else exact + self.bias[likeliest])
        return logits


def use_int8(network: nn.Module, *, output: nn.Module | None = None) -> None:
    """Replace each linear layer that gains from integers by an ``Int8Linear``, one after another, in place.

    A layer much smaller than the largest gains nothing and stays. So does a layer of a subclass of ``nn.Linear``.

    Args:
        output: the layer that computes the logits; if it is large enough, an ``Int8Output`` replaces it.
    """
    linears = {name: layer for name, layer in network.named_modules() if type(layer) is nn.Linear}
    least = max((layer.weight.numel() for layer in linears.values() if layer is not output), default=0) / _LEAST_SHARE
    for name in [name for name, layer in linears.items() if layer.weight.numel() >= least]:
        place, _, own_name = name.rpartition(".")
        layer = linears.pop(name)
        replacement = Int8Output(layer) if layer is output else Int8Linear(layer)
        setattr(network.get_submodule(place), own_name, replacement)
    # Return the freed weights to the system: 29 % of the memory of a 0.5B. Only glibc has this call.
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


@cache
@torch.inference_mode()
def is_faster(inputs: int, outputs: int, dtype: torch.dtype) -> bool:
    """Measure whether this processor computes a linear layer of a shape faster by a fifth with 8-bit integers.

    Later calls of this process for the same shape and dtype return the first result. A measurement takes 0.4 s on one
    core for 14 M weights.

    Args:
        inputs, outputs: the shape of the layer.
        dtype: the format of the layer to compare with.
    """
    linear = nn.Linear(inputs, outputs, bias=False, dtype=dtype, device="meta").to_empty(device="cpu")
    nn.init.ones_(linear.weight)
    integers = Int8Linear(linear)
    return all(MARGIN * _seconds(integers, rows, dtype) < _seconds(linear, rows, dtype) for rows in _TRIED_ROWS)


def _seconds(layer: Int8Linear | nn.Linear, rows: int, dtype: torch.dtype) -> float:
    states = torch.ones(rows, layer.in_features, dtype=dtype)
    return measure_thread_seconds(lambda: layer(states))


@cache
def _hadamard_matrix(features: int) -> Tensor:
    """Return the (n, n) float32 Hadamard matrix for layers with so many inputs.

    n is a power of 4, because only then 1 / sqrt(n) is exact in every number format.
    """
    size = _TURNED
    while features % size:
        size //= 4
    return torch.tensor(hadamard(size) / size**0.5, dtype=torch.float32)


@cache
def _find_range() -> _Range:
    """Measure which integers this processor adds up without loss, with products of which two do not fit in 16 bits."""
    largest, weights = torch.full((64, 64), 255, dtype=torch.uint8), torch.full((64, 64), 127, dtype=torch.int8)
    packed = _pack(weights)
    scales, zeros = torch.ones(64), torch.zeros(64, dtype=torch.int32)
    total = _product(largest, packed, scales, zeros, zero=0, dtype=torch.float32)
    return _WHOLE if (total == 64 * 255 * 127).all() else _SHORT


def _pack(integers: Tensor) -> Tensor:
    """Return (outputs, inputs) int8 in the form that ``onednn.qlinear_pointwise`` takes."""
    return torch.ops.onednn.qlinear_prepack(integers, None)


def _product(
    unsigned: Tensor, packed: Tensor, scales: Tensor, zeros: Tensor, *, zero: int, dtype: torch.dtype
) -> Tensor:
    return torch.ops.onednn.qlinear_pointwise(
        unsigned, 1.0, zero, packed, scales, zeros, None, 1.0, 0, dtype, "none", [], ""
    )
