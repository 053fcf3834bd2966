"""How fast a card can be: its memory and its products, by its data sheet and as measured.

It knows no model but its sizes. Invariant: a bound counts bytes and products that cannot be left out, so nothing that
is right reaches less than it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from ratios import Ratio
from transformers import PreTrainedModel

__all__ = ["DATA_SHEETS", "Card", "Load", "measure", "wait_for"]

DATA_SHEETS = {
    "H200": (4.8, 989.0),
    "H100 80GB HBM3": (3.35, 989.0),
    "A100-SXM4-80GB": (2.039, 312.0),
    "A100-SXM4-40GB": (1.555, 312.0),
    "RTX 4090": (1.008, 165.0),
    "RTX 3090": (0.936, 71.0),
}
"""What a card's name holds: TB/s of its memory, and dense bfloat16 TFLOP/s with float32 sums."""

_SECONDS = 0.5  # of each measurement, at least
_FEWEST, _MOST = 5, 50  # runs


@dataclass(frozen=True, slots=True)
class Card:
    """What bounds are reckoned with.

    Attributes:
        bandwidth: bytes a second.
        flops: of products of the model's format, a second.
        source: "data sheet" or "measured".
    """

    name: str
    memory: int
    bandwidth: float
    flops: float
    source: str


@dataclass(frozen=True, slots=True)
class Load:
    """What a network has to read and multiply.

    Attributes:
        weights: numbers that each token is multiplied by, the output layer apart.
        output: numbers of the output layer.
        layers, heads, width: of attention.
        cached: bytes of a token's keys and values.
    """

    weights: int
    output: int
    layers: int
    heads: int
    width: int
    cached: int
    number_bytes: int

    @classmethod
    def of(cls, network: PreTrainedModel) -> Load:
        """Of a network whose layers are all alike."""
        config = network.config.get_text_config()
        width = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        output = network.get_output_embeddings().weight
        embeddings = {id(weight): weight for weight in (output, network.get_input_embeddings().weight)}
        weights = sum(weight.numel() for weight in network.parameters() if id(weight) not in embeddings)
        keys = 2 * config.num_hidden_layers * config.num_key_value_heads * width
        return cls(
            weights, output.numel(), config.num_hidden_layers, config.num_attention_heads, width,
            keys * output.itemsize, output.itemsize,
        )  # fmt: skip

    def seconds_to_read(self, tokens: int, card: Card) -> float:
        """The least of one pass over so many tokens, with the logits of the last.

        >>> card = Card("none", 0, bandwidth=1e9, flops=1e9, source="")
        >>> Load(1000, 10, 1, 1, 2, 8, 2).seconds_to_read(100, card)  # 2 * (100 * 1000 + 10) + 2 * 100² * 2 products
        0.00024002
        """
        attention = 2 * self.layers * self.heads * self.width * tokens**2  # half of 2 products of T x T
        products = 2 * (tokens * self.weights + self.output) + attention
        return max(products / card.flops, self.number_bytes * (self.weights + self.output) / card.bandwidth)

    def seconds_of_step(self, rows: int, held: int, card: Card) -> float:
        """The least of one token for each of rows that hold so many."""
        read = self.number_bytes * (self.weights + self.output) + rows * held * self.cached
        return max(read / card.bandwidth, 2 * rows * (self.weights + self.output) / card.flops)


def measure(device: torch.device, dtype: torch.dtype, *, size: int) -> Iterator[Ratio | Card]:
    """A copy and a product of matrices of size x size, beside the data sheet where it is known; then the card."""
    numbers = torch.randn(size, size, device=device, dtype=dtype)
    others, product = torch.randn_like(numbers), torch.empty_like(numbers)
    held = torch.zeros(8 * size * size, device=device, dtype=dtype)
    target = torch.empty_like(held)
    copied = [2 * held.nbytes / seconds / 1e12 for seconds in _timed(lambda: target.copy_(held), device)]
    multiply = _timed(lambda: torch.mm(numbers, others, out=product), device)
    multiplied = [2 * size**3 / seconds / 1e12 for seconds in multiply]
    properties = torch.cuda.get_device_properties(device) if device.type == "cuda" else None
    name = properties.name if properties else "CPU"
    sheet = next((figures for part, figures in DATA_SHEETS.items() if part in name), None)
    how = f"{size} x {size} of {str(dtype).removeprefix('torch.')}"
    bandwidth, flops = sheet or (max(copied), max(multiplied))
    source = "data sheet" if sheet else "best"
    yield Ratio.of(f"device: copy / {source} of {name}", copied, [bandwidth], unit="TB/s", how=how)
    yield Ratio.of(f"device: product / {source} of {name}", multiplied, [flops], unit="TFLOP/s", how=how)
    memory = properties.total_memory if properties else 0
    yield Card(name, memory, bandwidth * 1e12, flops * 1e12, source if sheet else "measured")


def _timed(run: Callable[[], object], device: torch.device) -> list[float]:
    """Seconds of each of some runs, after three that are not counted."""
    for _ in range(3):
        run()
    seconds: list[float] = []
    while len(seconds) < _FEWEST or (sum(seconds) < _SECONDS and len(seconds) < _MOST):
        wait_for(device)
        started = time.perf_counter()
        run()
        wait_for(device)
        seconds.append(time.perf_counter() - started)
    return seconds


def wait_for(device: torch.device) -> None:
    """Until all that was begun there is done."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
