"""On what ``gpu.py`` runs its steps, and how large: full on a GPU, tiny on a CPU.

Invariant: both run the same code; only sizes, and what the device is, differ.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import torch
from architectures import write_checkpoint
from cards import Card
from engines import Weights
from random_model import LLAMA_8B, QWEN_1_5B, TINY, RandomModel, write_shape
from samples import DATA, TEXT
from setting import FULL, QUICK, Setting, plain_format

from memgraph_rag.cli.progress import Bars
from memgraph_rag.errors import ModelNotFound
from memgraph_rag.models.engine.cuda.cuda_graphs import Graphed, Run, capture_on_gpu
from memgraph_rag.models.engine.hardware import free_bytes
from memgraph_rag.models.files.catalogue import find_language_model
from memgraph_rag.settings import Settings

__all__ = [
    "LARGE",
    "SMALL",
    "Captures",
    "GpuSizes",
    "LeftOut",
    "Options",
    "captured",
    "large_setting",
    "packaged_setting",
    "written_setting",
]


G = TypeVar("G", bound=Graphed)


class LeftOut(Exception):
    """This machine cannot do it: why."""


@dataclass(frozen=True, slots=True, eq=False)
class GpuSizes:
    """How much is done.

    Attributes:
        lengths: tokens of measured passes.
        rows: of decoding steps.
        repeats: of passes; ``steps`` of decoding steps.
        appends: nodes of about ``node_tokens`` tokens that are read one after another.
        side: of the matrices that are multiplied.
        shape: of the large model; ``layers`` are the fewest that stand for it.
        sets: of questions, so many of each, over so many documents.
    """

    lengths: tuple[int, ...]
    rows: tuple[int, ...]
    repeats: int
    steps: int
    appends: int
    node_tokens: int
    side: int
    shape: Mapping[str, Any]
    layers: int
    sets: tuple[str, ...]
    questions: int
    documents: int
    small: bool


SETS = ("hotpotqa", "2wiki", "musique", "locomo", "quality", "qasper")
LARGE = GpuSizes((2048, 8192, 32_768), (1, 16, 48), 5, 30, 20, 100, 8192, LLAMA_8B, 4, SETS, 200, 50, small=False)
SMALL = GpuSizes((128, 256), (1, 3), 1, 2, 4, 30, 256, TINY, 1, ("fairytaleqa",), 2, 1, small=True)


@dataclass(frozen=True, slots=True)
class Options:
    """What each step is told.

    Attributes:
        model: packaged, or a folder; weights of its size are made up where it is not there.
        scratch: a folder for checkpoints of tiny and of random models.
        sets: the folder of the sets of questions.
        out: a folder for what ``memgraph-rag evaluate`` keeps.
        card: None until it is measured.
    """

    device: str
    sizes: GpuSizes
    model: str
    scratch: Path
    sets: Path = DATA
    out: Path = Path("build/gpu-answers")
    card: Card | None = None

    @property
    def reckoned_with(self) -> Card:
        """The card; LeftOut where it was not measured."""
        if self.card is None:
            raise LeftOut("no bound without the step device")
        return self.card


def packaged_setting(options: Options) -> Setting:
    """The packaged model, or one of its size with random weights where it is not installed; tiny where all is."""
    if options.sizes.small:
        return _random(options, TINY, "random, tiny")
    try:
        name, folder = find_language_model(options.model, cache_dir=Settings.load().cache_dir)
    except ModelNotFound:
        return _random(options, QWEN_1_5B, "random weights of the 1.5B's size")
    return _setting(options, Weights(name, folder, None))


def written_setting(options: Options) -> Setting:
    """The packaged model, whose weights a quantizer can read; a tiny one's from a file where all is small.

    Raises:
        LeftOut: it is not installed.
    """
    if options.sizes.small:
        changes = {"intermediate_size": 128, "max_position_embeddings": 65_536}  # random weights write long points
        folder = write_checkpoint("llama", options.scratch / "written", **changes)
        return _setting(options, Weights("random, tiny", str(folder), None))
    setting = packaged_setting(options)
    if setting.kind is RandomModel:
        raise LeftOut(f"the weights of {options.model} are not installed")
    return setting


def large_setting(options: Options) -> tuple[Setting, int]:
    """A random model of the large shape, with as many of its layers as the device has memory for; and how many."""
    shape, most = options.sizes.shape, options.sizes.shape["num_hidden_layers"]
    free = free_bytes(torch.device(options.device))
    layers = most if free is None else min(most, layers_within(shape, free))
    if layers < options.sizes.layers:
        raise LeftOut(f"memory for {layers} layers of {most}, expected {options.sizes.layers} at least")
    name = f"{'tiny' if options.sizes.small else '8B'}{f' with {layers} of {most} layers' if layers < most else ''}"
    return _random(options, shape, name, num_hidden_layers=layers), layers


def layers_within(shape: Mapping[str, Any], free: int) -> int:
    """How many bfloat16 layers fit four fifths of so many bytes, beside input and output layers.

    >>> layers_within(LLAMA_8B, 140 * 10**9) > 32, layers_within(LLAMA_8B, 12 * 10**9), layers_within(LLAMA_8B, 10**9)
    (True, 17, 0)
    """
    hidden, width = shape["hidden_size"], shape["head_dim"]
    heads = 2 * shape["num_attention_heads"] + 2 * shape["num_key_value_heads"]
    of_layer = hidden * (heads * width + 3 * shape["intermediate_size"])
    return max(0, int(0.8 * free / 2 - 2 * shape["vocab_size"] * hidden) // of_layer)


def _random(options: Options, shape: Mapping[str, Any], name: str, **changes: Any) -> Setting:
    folder = write_shape(shape, options.scratch / name.replace(" ", "-"), **changes)
    return replace(_setting(options, Weights(name, str(folder), None)), kind=RandomModel)


def _setting(options: Options, weights: Weights) -> Setting:
    sizes = QUICK if options.sizes.small else FULL
    return Setting(
        weights=weights, text_path=TEXT, store=None, sizes=sizes, repeats=options.sizes.repeats, bars=Bars(),
        say=partial(print, file=sys.stderr, flush=True),
        device=options.device, dtype=plain_format(options.device),
    )  # fmt: skip


class Captures:
    """Captures: how many were tried and made, and their seconds."""

    def __init__(self) -> None:
        self.tried = self.made = 0
        self.seconds = 0.0

    def __call__(self, run: Run, device: torch.device) -> Run:
        """As ``capture_on_gpu``."""
        self.tried += 1
        started = time.perf_counter()
        try:
            replay = capture_on_gpu(run, device)
        finally:
            self.seconds += time.perf_counter() - started
        self.made += 1
        return replay


def captured(kind: type[G], options: Options) -> tuple[G, Captures]:
    """What captures, as on a GPU, and what is known of its captures; on a CPU all is run from Python."""
    captures = Captures()
    return kind(captures if torch.device(options.device).type == "cuda" else None), captures
