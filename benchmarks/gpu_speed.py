"""How fast a device is: measuring attention, decoding, building, and a model of eight billion weights, beside bounds.

Bounds are reckoned from the card's memory and products (``cards.py``). Invariant: both sides of a ratio ran, or were
reckoned, in the same process.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from importlib.util import find_spec
from typing import TYPE_CHECKING

import torch
from cards import Card, Load, measure, wait_for
from engine_ask import QUESTIONS, nodes_of
from engine_build import Recorder, build_points, split_document
from engine_capture import filled_rows, forward_measured, forwards, lookups, measured_pass, step_measured
from gpu_setting import LeftOut, Options, captured, large_setting, packaged_setting, written_setting
from machine import peak_memory
from ratios import Ratio, Target, in_turn

from memgraph_rag.models.engine import shared_writing
from memgraph_rag.models.engine.cuda.cuda_graphs import GraphedDecoding
from memgraph_rag.models.engine.cuda.graphed_reading import GraphedReading
from memgraph_rag.models.engine.hardware import choose_dtype
from memgraph_rag.text.splitting import split
from memgraph_rag.types import as_line

if TYPE_CHECKING:
    from setting import Setting

    from memgraph_rag.models.engine.attention import Spans
    from memgraph_rag.models.engine.kv_cache import RowCache
    from memgraph_rag.models.engine.language_model import TransformersModel

__all__ = ["APPENDS_S", "build", "capture", "decoding", "device", "formats", "large"]

APPENDS_S = 0.15
"""Seconds that 20 appends to a model of 8 billion weights are to take."""

_HALF = Target("≥", 0.5)  # of what the card could do
_WRITTEN = 32  # tokens of an answer
_UNCOUNTED = 2  # runs: one as at first, and one in which what comes again is captured


def device(options: Options, _: str) -> Iterator[Ratio | Card]:
    """What the card does, and with what bounds are reckoned."""
    there = torch.device(options.device)
    yield from measure(there, choose_dtype(there), size=options.sizes.side)


def capture(options: Options, part: str) -> Iterator[Ratio]:
    """Passes of so many tokens that measure attention, against transformers' SDPA."""
    yield from forwards(_packaged(options).resized(forward=int(part)))


def decoding(options: Options, part: str) -> Iterator[Ratio]:
    """A step of so many rows: captured against run from Python, and against the least that it could take."""
    yield from _steps(options, _packaged(options), int(part))


def _steps(options: Options, setting: Setting, rows: int) -> Iterator[Ratio]:
    """The same for any model."""
    model = setting.model
    past, spans = filled_rows(setting, rows, is_even=True)
    decode, captures = captured(GraphedDecoding, options)
    token, held = setting.ids(1)[0], past.lengths[0]
    runs = {
        "captured": partial(_step, decode, model, token, past, spans),
        "run": partial(step_measured, model, token, past, spans),
    }
    for run in runs.values():
        run()
    seconds = in_turn(runs, options.sizes.steps)
    name = f"{setting.weights.name}: decoding step of {rows} rows of {held:,} tokens"
    made = f"{captures.made} of {captures.tried} captures, {captures.seconds:.2f} s"
    yield Ratio.of(f"{name}, captured / run from Python", seconds["captured"], seconds["run"], how=made)
    least = Load.of(model.network).seconds_of_step(rows, held, options.reckoned_with)
    yield Ratio.of(
        f"{name}, tokens a second / bound", [rows / taken for taken in seconds["captured"]], [rows / least],
        unit="tokens/s", target=_HALF, how=_reckoned(options),
    )  # fmt: skip


@torch.inference_mode()
def _step(decode: GraphedDecoding, model: TransformersModel, token: int, past: RowCache, spans: Spans) -> None:
    logits, paid = decode(model.network, [token] * len(past.lengths), past, spans)
    logits[:, -1].argmax(dim=-1).tolist()
    paid.cpu().numpy()
    past.take_back(1)


def build(options: Options, part: str) -> Iterator[Ratio]:
    """The points of a text's beginning, or of all of it, against what reading and writing so much takes at least."""
    setting = _packaged(options)
    if part == "whole":
        setting = setting.resized(chapters=1000, characters=10**9)
    model, document = setting.model, split_document(setting)
    model._decoding, captures = captured(GraphedDecoding, options)
    recorder = Recorder(model)
    wait_for(model.device)
    seconds = in_turn({"": partial(build_points, recorder, document, setting)}, 1)[""]
    asked = [pair for level in recorder.levels for pair in level]
    read = [len(model.tokens.prompt(prompt)[0]) for prompt, _ in asked]
    written = sum(count for _, count in asked)
    rate = (sum(read) + written) / seconds[0]
    how = (
        f"{len(asked)} prompts, {sum(read):,} tokens read, {written:,} written: {rate:,.0f} tokens/s; "
        f"{captures.made} of {captures.tried} captures, {captures.seconds:.1f} s; {_reckoned(options)}"
    )
    load, card, rows = Load.of(model.network), options.reckoned_with, shared_writing._MOST_ROWS
    mean = sum(read) // max(len(read), 1)
    least = sum(load.seconds_to_read(tokens, card) for tokens in read)
    least += written / rows * load.seconds_of_step(rows, mean, card)
    yield Ratio.of(f"{setting.weights.name}: build of {part} / bound", seconds, [least], how=how)


def large(options: Options, part: str) -> Iterator[Ratio]:
    """A random model of the large shape: reading, decoding, appends, memory."""
    kind, _, number = part.partition(" ")
    setting, layers = _large(options)
    if kind == "reading":
        yield _reading(options, setting, int(number))
    elif kind == "decoding":
        yield from _steps(options, setting, int(number))
    else:
        yield from _appends(options, setting, is_whole=layers == options.sizes.shape["num_hidden_layers"])


def _reading(options: Options, setting: Setting, tokens: int) -> Ratio:
    ids = setting.ids(tokens)
    spans = next(iter(lookups(tokens).values()))
    run = partial(forward_measured, setting.model, ids, spans)
    run()
    seconds = in_turn({"": run}, options.sizes.repeats)[""]
    least = Load.of(setting.model.network).seconds_to_read(tokens, options.reckoned_with)
    return Ratio.of(
        f"{setting.weights.name}: reading {tokens:,} tokens, measured, tokens a second / bound",
        [tokens / taken for taken in seconds], [tokens / least], unit="tokens/s", target=_HALF, how=_reckoned(options),
    )  # fmt: skip


def _appends(options: Options, setting: Setting, *, is_whole: bool) -> Iterator[Ratio]:
    """Nodes of one question, one after another, each with its probe; and memory at its highest."""
    model, sizes = setting.model, options.sizes
    spans = split(setting.text[:60_000], count_tokens=model.count_tokens, max_tokens=sizes.node_tokens)
    nodes = [as_line(setting.text[span.start : span.end]) for span in spans[: sizes.appends]]
    tokens = sum(model.count_tokens(nodes)) // len(nodes)
    reading, captures = captured(GraphedReading, options)
    runs = {
        "captured": partial(_ask, model, nodes, reading),
        "python": partial(_ask, model, nodes, None),
    }
    written = {"captured": partial(_written, model, nodes, reading), "python": partial(_written, model, nodes, None)}
    taken: dict[str, list[float]] = {name: [] for name in runs}
    speeds: dict[str, list[float]] = {name: [] for name in written}
    for repeat in range(-_UNCOUNTED, sizes.repeats):
        for results, all_runs in ((taken, runs), (speeds, written)):
            for name, run in all_runs.items():
                figure = run()
                if repeat >= 0:
                    results[name].append(figure)
    name = f"{setting.weights.name}: {len(nodes)} appends of {tokens} tokens"
    target = Target("≤", 1) if is_whole and not sizes.small else None
    made = f"{captures.made} of {captures.tried} captures, {captures.seconds:.1f} s"
    how = f"aim {APPENDS_S * 1000:.0f} ms, on an H200; {made}"
    yield Ratio.of(f"{name}, one after another / aim", taken["captured"], [APPENDS_S], target=target, how=how)
    yield Ratio.of(f"{name}, captured / run from Python", taken["captured"], taken["python"])
    name = f"{setting.weights.name}: an answer of {_WRITTEN} tokens"
    unit = "tokens/s"
    yield Ratio.of(f"{name}, captured / run from Python", speeds["captured"], speeds["python"], unit=unit)
    least = Load.of(model.network).seconds_of_step(1, tokens * len(nodes), options.reckoned_with)
    yield Ratio.of(
        f"{name}, tokens a second / bound", speeds["captured"], [1 / least], unit=unit, target=_HALF,
        how=_reckoned(options),
    )  # fmt: skip
    of_weights = sum(weight.nbytes for weight in model.network.parameters())
    is_gpu = model.device.type == "cuda"
    peak = torch.cuda.max_memory_allocated(model.device) if is_gpu else peak_memory()
    yield Ratio.of(
        f"{setting.weights.name}: peak memory / weights", [peak / 2**30], [of_weights / 2**30], unit="GiB",
        how="the card's" if is_gpu else "of the whole process",
    )  # fmt: skip


def _ask(model: TransformersModel, nodes: Sequence[str], reading: GraphedReading | None) -> float:
    """Seconds of reading them in a session that holds a question."""
    model._reading = reading
    with model.open_session(QUESTIONS[0]) as session:
        session.probability_of_yes()  # the question is read
        wait_for(model.device)
        started = time.perf_counter()
        for node in nodes:
            session.append([node])
        wait_for(model.device)
        return time.perf_counter() - started


def _written(model: TransformersModel, nodes: Sequence[str], reading: GraphedReading | None) -> float:
    """Tokens a second of an answer, from its request on."""
    model._reading = reading
    with model.open_session(QUESTIONS[0]) as session:
        session.append(nodes)
        before = session.usage.generated_tokens
        started = time.perf_counter()
        for _ in session.answer(max_tokens=_WRITTEN):
            pass
        return (session.usage.generated_tokens - before) / (time.perf_counter() - started)


def formats(options: Options, number_format: str) -> Iterator[Ratio]:
    """Linear layers in fewer bits against the card's own format: reading, a question, points, memory."""
    if find_spec("bitsandbytes") is None:
        raise LeftOut("bitsandbytes is not installed")
    theirs = written_setting(options)
    ours = replace(theirs, dtype=number_format)
    for what, run in {"reading": measured_pass, "a question": _question, "points of a beginning": _points}.items():
        runs = {setting.dtype: run(setting) for setting in (ours, theirs)}
        for warm in (*runs.values(), *runs.values()):
            warm()
        seconds = in_turn(runs, options.sizes.repeats if what != "points of a beginning" else 1)
        yield Ratio.of(
            f"formats: {what}, {number_format} / {theirs.model.number_format}", seconds[ours.dtype],
            seconds[theirs.dtype],
        )  # fmt: skip
    held = [sum(weight.nbytes for weight in setting.model.network.parameters()) / 2**20 for setting in (ours, theirs)]
    yield Ratio.of(f"formats: weights, {number_format} / {theirs.model.number_format}", held[:1], held[1:], unit="MiB")


def _question(setting: Setting) -> Callable[[], object]:
    return partial(_written, setting.model, nodes_of(setting)[: setting.sizes.plain_nodes], setting.model._reading)


def _points(setting: Setting) -> Callable[[], object]:
    return partial(build_points, Recorder(setting.model), split_document(setting), setting)


def _reckoned(options: Options) -> str:
    card = options.reckoned_with
    return f"bound: {card.bandwidth / 1e12:.3g} TB/s, {card.flops / 1e12:.3g} TFLOP/s ({card.source})"


@cache  # one model a process
def _packaged(options: Options) -> Setting:
    return packaged_setting(options)


@cache
def _large(options: Options) -> tuple[Setting, int]:
    return large_setting(options)
