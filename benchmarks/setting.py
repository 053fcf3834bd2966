"""What one run of the engine's benchmark works on: the model, the text, how large and how often.

Invariant: all rows of a run share it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from engines import Weights

from memgraph_rag.cli.progress import Bars
from memgraph_rag.models.engine.hardware import choose_dtype
from memgraph_rag.models.engine.language_model import TransformersModel

__all__ = ["FULL", "QUICK", "Say", "Setting", "Sizes", "beginning", "plain_format", "using"]

Say = Callable[[str], None]
"""Tells what is left out and why, and how far a long row is."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much is done.

    Attributes:
        forward: tokens of one measured forward pass.
        rows: of a decoding step; ``row_tokens`` is what each holds.
        steps: decoding steps measured.
        chapters: from the beginning of the text, of which the graph is built; ``characters`` is the most.
        batch_tokens: the setting of that name.
        every: one by one run prompts are measured so often, and the others counted as if they were like them.
        nodes: read by a session; ``plain_nodes`` by the plain twin.
        whole: two lengths of a text that is read whole.
        texts: added before a question.
        prompts: documents of so many prompts, for the memory of building with ``prompts_together`` rows at once.
    """

    forward: int = 2048
    rows: int = 16
    row_tokens: int = 700
    steps: int = 20
    chapters: int = 2
    characters: int = 30_000
    batch_tokens: int = 1024
    every: int = 5
    nodes: int = 16
    plain_nodes: int = 6
    whole: tuple[int, int] = (2048, 8192)
    texts: int = 60
    prompts: tuple[int, ...] = (16, 48)
    prompts_together: tuple[int, ...] = (4, 12)


FULL = Sizes()
QUICK = Sizes(
    forward=256, rows=4, row_tokens=100, steps=3, characters=1_500, batch_tokens=512, nodes=4, plain_nodes=2,
    whole=(256, 512), texts=12, prompts=(4, 8), prompts_together=(2, 3),
)  # fmt: skip


def plain_format(device: str) -> str:
    """The number format of what the engine is compared with: "auto", which on a CPU may be 8-bit integers, without."""
    return str(choose_dtype(torch.device("cpu"))).removeprefix("torch.") if device == "cpu" else "auto"


@dataclass(frozen=True)
class Setting:
    """What rows are given.

    Attributes:
        engines: only those are compared with whose name holds one of these.
        dtype: the number format, as for ``Memory``.
        kind: of the model.
    """

    weights: Weights
    text_path: Path
    store: Path | None
    sizes: Sizes
    repeats: int
    bars: Bars
    say: Say
    dtype: str
    engines: tuple[str, ...] = ("",)
    device: str = "cpu"
    kind: type[TransformersModel] = TransformersModel

    @cached_property
    def model(self) -> TransformersModel:
        """The engine under test; one for all rows."""
        return self.kind(self.weights.folder, name=self.weights.name, device=self.device, dtype=self.dtype)

    @cached_property
    def text(self) -> str:
        """The document."""
        return self.text_path.read_text(encoding="utf-8-sig")

    def resized(self, **sizes: Any) -> Setting:
        """The same with other sizes, and the same model."""
        other = replace(self, sizes=replace(self.sizes, **sizes))
        other.__dict__["model"] = self.model
        return other

    def ids(self, tokens: int) -> list[int]:
        """So many tokens from the text's beginning."""
        ids = self.model.tokens.encode(self.text[: 8 * tokens]).ids
        if len(ids) < tokens:
            raise ValueError(f"Expected a text of at least {tokens:,} tokens, got {len(ids):,}: {self.text_path}")
        return ids[:tokens]


def beginning(text: str, *, chapters: int, characters: int) -> str:
    r"""The first chapters, where lines begin with CHAPTER; at most so many characters.

    >>> beginning("CHAPTER I\nOne.\nCHAPTER II\nTwo.\nCHAPTER III\nThree.", chapters=2, characters=100)
    'CHAPTER I\nOne.\nCHAPTER II\nTwo.\n'
    """
    starts = [match.start() for match in re.finditer(r"^CHAPTER\b", text, re.MULTILINE)]
    first, end = (starts[0], starts[chapters]) if len(starts) > chapters else (0, len(text))
    return text[first : min(end, first + characters)]


@contextmanager
def using(network: Any, implementation: str) -> Iterator[Any]:
    """The same weights with an attention implementation of transformers' own."""
    before = network.config._attn_implementation
    network.set_attn_implementation(implementation)
    try:
        yield network
    finally:
        network.set_attn_implementation(before)
