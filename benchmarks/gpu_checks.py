"""Whether a device computes what it should: its kernels against plain products, tiny models against their plain twin.

Each error is told as a ratio to what is allowed. Invariant: what is compared with is computed on the CPU in float32.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from operator import eq
from pathlib import Path
from typing import Any

import numpy as np
import torch
from architectures import write_checkpoint
from gpu_setting import LeftOut, Options, captured
from prefills import Prefill, attended, plainly_attended
from ratios import Ratio, Target
from twins import PROMPTS

from memgraph_rag.models.engine import attention, span_mass
from memgraph_rag.models.engine.cuda.cuda_graphs import GraphedDecoding, Run, capture_on_gpu
from memgraph_rag.models.engine.cuda.graphed_reading import GraphedReading
from memgraph_rag.models.engine.cuda.varlen import varlen_kernel
from memgraph_rag.models.engine.hardware import choose_dtype
from memgraph_rag.models.engine.language_model import TransformersModel
from memgraph_rag.models.engine.reference import PlainModel
from memgraph_rag.types import Generation

__all__ = ["PREFILLS", "integers", "kernels", "models", "recovery"]

PREFILLS = {
    "causal": Prefill(queries=130, slots=192, width=64),
    "grouped heads behind a cache": Prefill(held=70, queries=130, groups=3, slots=256, width=128),
    "window": Prefill(held=70, queries=300, window=33, slots=512, width=64),
    "sinks and window": Prefill(held=11, queries=200, window=64, has_sinks=True, groups=2, slots=256, width=64),
    "three rows": Prefill(rows=3, held=30, queries=130, groups=2, slots=256, width=80),
    "150 spans": Prefill(held=200, queries=150, pieces=150, slots=384, width=96),
    "heads of 256": Prefill(queries=200, slots=256, width=256),
    "3,000 queries": Prefill(held=1000, queries=3000, groups=4, slots=4096, width=128, pieces=9),
}
"""Passes that a GPU's kernels are for, by what is special about each."""

_ALLOWED = {torch.float32: (1e-4, 1e-5), torch.bfloat16: (3e-2, 1e-2), torch.float16: (4e-3, 2e-3)}
"""Largest error of the output (values of a normal distribution), and of what lies on a span (at most 1)."""
_ROUNDED_SCORES = 2  # times the error of the output is allowed where a CPU's products give scores in bfloat16

_MOST = Target("≤", 1.0)
_WRITTEN = 24
_QUESTION = "What did Peter eat?"
_NODES = ["Peter ate lettuces, French beans and radishes in Mr. McGregor's garden.", "Mrs. Rabbit bought five buns."]


def kernels(options: Options, part: str) -> Iterator[Ratio]:
    """Output and mass of one pass by the device's kernels, against plain products of the same states."""
    device, case = torch.device(options.device), PREFILLS[part]
    for dtype in (torch.bfloat16, torch.float16) if device.type == "cuda" else (torch.float32, torch.bfloat16):
        query, _, value = (states.to(device, dtype) for states in case.tensors)
        if device.type == "cuda" and varlen_kernel(query, value) is None:
            raise LeftOut("no varlen_attn for this card or in this torch: plain products are taken")
        output, meter = attended(case, device, dtype)
        expected, expected_meter = plainly_attended(case, dtype)
        if device.type == "cuda" and not span_mass._has_kernel:
            raise LeftOut("Triton makes no kernel here: plain products are taken")
        of_output, of_mass = _ALLOWED[dtype]
        of_output *= _ROUNDED_SCORES if device.type == "cpu" and dtype == torch.bfloat16 else 1
        name = f"kernels: {part}, {_short(dtype)}"
        yield _error(f"{name}, output", output.float().cpu(), expected, of_output)
        yield _error(f"{name}, mass", meter.mean_by_head().cpu(), expected_meter.mean_by_head(), of_mass)


def models(options: Options, architecture: str) -> Iterator[Ratio]:
    """One tiny model of that architecture: what it writes, reads and says Yes to, and its passes in half precision."""
    attention._FEW_QUERIES = 4  # so that short prompts go through the kernels for long ones
    folder = write_checkpoint(architecture, options.scratch / architecture)
    fast = TransformersModel(folder, dtype="float32", device=options.device)
    twin = PlainModel(folder, dtype="float32", device="cpu")
    fast._decoding, _ = captured(GraphedDecoding, options)
    prompts = [*PROMPTS, *reversed(PROMPTS)]
    ours, theirs = (model.generate(prompts, max_tokens=_WRITTEN) for model in (fast, twin))
    equal = [pair for pair in zip(ours, theirs, strict=True) if pair[0].text == pair[1].text]
    name = f"models: {architecture}"
    yield Ratio.of(
        f"{name}, texts as the twin's", [float(len(equal))], [float(len(prompts))], target=Target("≥", 1), unit="texts"
    )
    if equal:
        written, expected = (_attention([pair[side] for pair in equal]) for side in (0, 1))
        yield _error(f"{name}, attention while it writes", written, expected, 1e-3 * expected.max())
    fast._reading, captures = captured(GraphedReading, options)
    _told(fast)  # what comes for the second time is captured
    (paid, p_yes, answer), (expected, expected_p_yes, expected_answer) = _told(fast), _told(twin)
    yield _error(f"{name}, attention of nodes", paid, expected, 1e-3 * expected.max())
    yield _error(f"{name}, P(Yes)", p_yes, expected_p_yes, 1e-3)
    yield Ratio.of(
        f"{name}, answer as the twin's", [float(answer == expected_answer)], [1.0], target=Target("≥", 1), unit="texts",
        how=f"{captures.made} of {captures.tried} captures",
    )  # fmt: skip
    yield from _in_half_precision(options, folder, twin, [generation.text for generation in theirs], name)


def recovery(options: Options, _: str) -> Iterator[Ratio]:
    """Whether a step that cannot be captured is run, and the device then captures others."""
    folder = write_checkpoint("llama", options.scratch / "recovery")
    fast = TransformersModel(folder, dtype="float32", device=options.device)
    expected = [generation.text for generation in PlainModel(folder, dtype="float32", device="cpu").generate(
        PROMPTS, max_tokens=_WRITTEN
    )]  # fmt: skip

    def failing(run: Run, device: torch.device) -> Run:
        def ask_for_a_number() -> tuple[torch.Tensor, torch.Tensor]:
            logits, paid = run()
            logits.max().item()  # what no graph can hold
            return logits, paid

        if device.type != "cuda":
            raise RuntimeError("there are no graphs here")
        return capture_on_gpu(ask_for_a_number, device)

    after, captures = captured(GraphedDecoding, options)
    for name, decode in {"a capture that fails": GraphedDecoding(failing), "one after it": after}.items():
        fast._decoding = decode
        texts = [generation.text for generation in fast.generate(PROMPTS, max_tokens=_WRITTEN)]
        equal = float(sum(map(eq, texts, expected)))
        yield Ratio.of(
            f"recovery: {name}, texts as the twin's", [equal], [float(len(expected))], target=Target("≥", 1),
            unit="texts", how=f"{captures.made} of {captures.tried} captures",
        )  # fmt: skip


def integers(options: Options, number_format: str) -> Iterator[Ratio]:
    """A tiny model whose layers bitsandbytes keeps in fewer bits: attention to inputs, against its plain twin's."""
    if find_spec("bitsandbytes") is None:
        raise LeftOut("bitsandbytes is not installed")
    folder = write_checkpoint("llama", options.scratch / number_format, intermediate_size=128)  # of whole blocks of 64
    fast, twin = (kind(folder, dtype=number_format, device=options.device) for kind in (TransformersModel, PlainModel))
    texts = [generation.text for generation in fast.generate(PROMPTS, max_tokens=_WRITTEN)]
    read, expected = (_attention(model.read_written(PROMPTS, texts)) for model in (fast, twin))
    yield _error(f"integers: {number_format}, attention of written texts", read, expected, 0.05 * expected.max())


def _told(model: TransformersModel | PlainModel) -> tuple[np.ndarray, np.ndarray, str]:
    """The attention of nodes, P(Yes) behind them, and an answer."""
    with model.open_session(_QUESTION) as session:
        attention = [session.append(nodes) for nodes in (_NODES, _NODES[:1], _NODES[1:])]
        p_yes = [session.probability_of_yes()]
        return np.concatenate(attention), np.array(p_yes), "".join(session.answer(max_tokens=_WRITTEN))


def _in_half_precision(
    options: Options, folder: Path, twin: PlainModel, texts: list[str], name: str
) -> Iterator[Ratio]:
    """What reading written texts in half precision costs in attention, against what it costs plain products.

    And whether steps of it are captured: experts' products, in float32, ask for numbers on the host.
    """
    device = torch.device(options.device)
    dtype = _short(choose_dtype(device)) if device.type == "cuda" else "bfloat16"
    half = TransformersModel(folder, dtype=dtype, device=options.device)
    rough = PlainModel(folder, dtype=dtype, device="cpu")
    prompts = [*PROMPTS, *reversed(PROMPTS)]
    half._decoding, captures = captured(GraphedDecoding, options)
    half.generate(prompts, max_tokens=4)
    if captures.tried:
        yield Ratio.of(
            f"{name}, captures made in {dtype}", [float(captures.made)], [float(captures.tried)],
            target=Target("≥", 1), unit="captures",
        )  # fmt: skip
    exact, by_half, by_rough = (_attention(model.read_written(prompts, texts)) for model in (twin, half, rough))
    errors = [float(np.abs(measured - exact).mean()) for measured in (by_half, by_rough)]
    yield Ratio.of(
        f"{name}, mean error of attention in {dtype} / plain twin's on the CPU", errors[:1], errors[1:],
        target=Target("≤", 2), unit="of attention",
    )  # fmt: skip


def _attention(generations: list[Generation]) -> np.ndarray:
    """What all tokens paid to their inputs, one after another."""
    return np.concatenate([generation.attention.ravel() for generation in generations])


def _error(name: str, got: Any, expected: Any, allowed: float) -> Ratio:
    """The largest error; what is no number is the worst."""
    error = float(np.nan_to_num(np.abs(np.asarray(got) - np.asarray(expected)), nan=np.inf).max())
    return Ratio.of(f"{name}, error / allowed", [error], [float(allowed)], target=_MOST, unit="")


def _short(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
