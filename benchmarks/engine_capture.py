"""What it costs to measure attention: a long forward pass and a decoding step, against transformers' SDPA."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import torch
from children import ChildError, in_child, peak_while
from engines import Weights
from ratios import Ratio, Target, in_turn
from setting import Setting, using
from transformers import AutoModelForCausalLM, DynamicCache

from memgraph_rag.models.engine.attention import AttentionMeter, Spans
from memgraph_rag.models.engine.kv_cache import RowCache, cache_argument
from memgraph_rag.models.engine.language_model import TransformersModel
from memgraph_rag.models.engine.sampling import greedy

__all__ = [
    "capture",
    "filled_rows",
    "forward_measured",
    "forward_sdpa",
    "forwards",
    "lookups",
    "measured_pass",
    "step_measured",
]

MiB = 2**20


def lookups(tokens: int) -> dict[str, list[tuple[int, int]]]:
    """What is looked at in a pass of so many tokens: a short question, or pieces that tile half of it.

    >>> lookups(2048)["8 spans that tile 1,024 tokens"][:2]
    [(64, 192), (192, 320)]
    """
    width = tokens // 16
    tiles = [(64 + width * number, 64 + width * (number + 1)) for number in range(8)]
    return {"a question of 20 tokens": [(60, 80)], f"8 spans that tile {tokens // 2:,} tokens": tiles}


def capture(setting: Setting) -> Iterator[Ratio]:
    """Forward passes with a meter against the same without; their memory; a step of many rows."""
    yield from forwards(setting)
    yield from _memory(setting)
    yield from _steps(setting)


def forwards(setting: Setting) -> Iterator[Ratio]:
    """A pass with a meter against one without."""
    model, ids = setting.model, setting.ids(setting.sizes.forward)
    runs = {"sdpa": partial(forward_sdpa, model, ids)}
    for name, spans in lookups(len(ids)).items():
        runs[name] = partial(forward_measured, model, ids, spans)
    for run in runs.values():
        run()  # warm
    seconds = in_turn(runs, setting.repeats, progress=partial(setting.bars, "capture: forward passes"))
    sdpa = seconds.pop("sdpa")
    for name, taken in seconds.items():
        yield Ratio.of(f"capture: forward of {len(ids):,} tokens, {name} / SDPA", taken, sdpa, target=Target("≤", 1.05))


@torch.inference_mode()
def forward_sdpa(model: TransformersModel, ids: Sequence[int]) -> None:
    """The same weights as transformers run them, up to a number that is there."""
    with using(model.network, "sdpa") as network:
        output = network(torch.tensor([ids], device=model.device), use_cache=True, logits_to_keep=1)
    output.logits[0, -1, 0].item()  # a GPU is waited for


def measured_pass(setting: Setting) -> Callable[[], object]:
    """A pass of the setting's length that measures the attention to a short question."""
    ids = setting.ids(setting.sizes.forward)
    return partial(forward_measured, setting.model, ids, next(iter(lookups(len(ids)).values())))


def forward_measured(model: TransformersModel, ids: Sequence[int], spans: list[tuple[int, int]]) -> None:
    """A pass that measures the attention to these spans, up to the mean."""
    meter = AttentionMeter(Spans([spans], length=max(end for _, end in spans), device=model.device))
    model.forward([ids], RowCache(), meter=meter)
    meter.mean().cpu()


# ── memory, and transformers' own way of telling attention ───────────────────────────────────────────────


def _memory(setting: Setting) -> Iterator[Ratio]:
    """Each pass in a process of its own; with the weights, and what comes on top of them."""
    ids = setting.ids(setting.sizes.forward)
    ways = {"sdpa": "sdpa", **lookups(len(ids)), "eager": "eager"}
    held: dict[str, tuple[int, int, float]] = {}
    for done, (name, way) in enumerate(ways.items()):
        setting.bars("capture: memory", done, len(ways))
        try:
            held[name] = in_child(_held_by, setting.weights, setting.dtype, ids, way)
        except ChildError as error:
            setting.say(f"capture, memory, {name}: left out, {error}")
    setting.bars("capture: memory", len(ways), len(ways))
    base = held.pop("sdpa")
    for name, (peak, added, seconds) in held.items():
        what = "output_attentions (eager)" if name == "eager" else name
        yield Ratio.of(
            f"capture: peak memory, {what} / SDPA", [peak / MiB], [base[0] / MiB], unit="MiB",
            target=None if name == "eager" else Target("≤", 1.1), how="whole process, weights included",
        )  # fmt: skip
        yield Ratio.of(f"capture: memory above the weights, {what} / SDPA", [added / MiB], [base[1] / MiB], unit="MiB")
        if name == "eager":
            yield Ratio.of(
                f"capture: forward of {len(ids):,} tokens, {what} / SDPA", [seconds], [base[2]],
                how="for information; each once, in a process of its own",
            )  # fmt: skip


def _held_by(
    weights: Weights, dtype: str, ids: list[int], way: str | list[tuple[int, int]]
) -> tuple[int, int, float]:  # in a child
    """Peak of the process, what of it came with the pass, and its seconds."""
    from machine import memory_now

    model = TransformersModel(weights.folder, device="cpu", dtype=dtype)
    if way == "eager":
        network: Any = AutoModelForCausalLM.from_pretrained(
            weights.folder, dtype=model.dtype, attn_implementation="eager"
        )
        run = partial(_forward_eager, network, ids)
        _forward_eager(network, ids[:64])
    else:
        run = partial(forward_sdpa, model, ids) if way == "sdpa" else partial(forward_measured, model, ids, way)
        forward_sdpa(model, ids[:64])
    before = memory_now() or 0
    seconds: dict[str, list[float]] = {}
    peak = peak_while(lambda: seconds.update(in_turn({"": run}, 1)))
    return peak, peak - before, seconds[""][0]


@torch.inference_mode()
def _forward_eager(network: Any, ids: Sequence[int]) -> None:
    network(torch.tensor([ids]), use_cache=True, logits_to_keep=1, output_attentions=True)


# ── a decoding step ──────────────────────────────────────────────────────────────────────────────────────


def _steps(setting: Setting) -> Iterator[Ratio]:
    """One token for each of many rows that hold a prompt of two segments: all that a step does."""
    model, sizes = setting.model, setting.sizes
    (ragged, spans), (even, _) = (filled_rows(setting, sizes.rows, is_even=is_even) for is_even in (False, True))
    theirs = DynamicCache()
    for layer, (keys, values) in enumerate(even._buffers):
        length = even.lengths[0]
        theirs.update(keys[: sizes.rows, :, :length].clone(), values[: sizes.rows, :, :length].clone(), layer)
    token = setting.ids(1)[0]
    runs = {
        "without": partial(step_measured, model, token, ragged, None),
        "with": partial(step_measured, model, token, ragged, spans),
        "sdpa": partial(_step_sdpa, model, token, theirs, sizes.rows),
    }
    for run in runs.values():
        run()
    seconds = in_turn(runs, sizes.steps, progress=partial(setting.bars, "capture: decoding steps"))
    name = f"capture: decoding step of {sizes.rows} rows of about {sizes.row_tokens} tokens, measured"
    yield Ratio.of(f"{name} / not measured", seconds["with"], seconds["without"], target=Target("≤", 1.05))
    yield Ratio.of(f"{name} / transformers' SDPA", seconds["with"], seconds["sdpa"], how="SDPA: rows equally long")


def filled_rows(setting: Setting, rows: int, *, is_even: bool) -> tuple[RowCache, Spans]:
    """Rows that hold a prompt each, all equally long or none as the one before, and two spans of each."""
    model, tokens = setting.model, setting.sizes.row_tokens
    cache, filled = RowCache(), RowCache(rows=0)
    model.forward([setting.ids(tokens)], cache)
    for row in range(rows):
        filled.add_row(cache)
        cache.take_back(0 if is_even else row % 4)
    half = tokens // 2 - 10
    inputs = [(20, half), (half, 2 * half - 20)]
    return filled, Spans([inputs] * rows, length=tokens, device=model.device)


def step_measured(model: TransformersModel, token: int, past: RowCache, spans: Spans | None) -> None:
    """Read a token behind each row, with what it looks at where spans are given, and take it back."""
    meter = None if spans is None else AttentionMeter(spans)
    logits = model.forward([[token]] * len(past.lengths), past, meter=meter)
    greedy(logits[:, -1]).tolist()
    if meter is not None:
        meter.mean()[:, 0].cpu().numpy()
    past.take_back(1)


@torch.inference_mode()
def _step_sdpa(model: TransformersModel, token: int, past: DynamicCache, rows: int) -> None:
    with using(model.network, "sdpa") as network:
        ids = torch.full((rows, 1), token, device=model.device)
        logits = network(ids, use_cache=True, **{cache_argument(type(network)): past}).logits
    greedy(logits[:, -1]).tolist()
    past.crop(-1)
