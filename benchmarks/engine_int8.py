"""What 8-bit integers gain on a CPU: the same weights in the format under test, and with ``dtype="int8"``."""

from __future__ import annotations

import collections
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from children import in_child
from engine_ask import QUESTIONS, nodes_of
from engine_capture import filled_rows, forward_measured, measured_pass, step_measured
from engines import Weights
from machine import memory_now
from ratios import Ratio, Target, in_turn
from setting import Setting

from memgraph_rag.errors import SettingsError
from memgraph_rag.models.engine.hardware import INT8
from memgraph_rag.models.engine.language_model import TransformersModel

__all__ = ["int8"]

MiB = 2**20
_AT_LENGTH = f"Answer in three long sentences.\n\nQuestion: {QUESTIONS[0]}"  # so that both formats write as much
_READ = 256  # tokens of the pass after which memory is looked at: by then all weights have been touched


def int8(setting: Setting) -> Iterator[Ratio]:
    """A long pass, decoding steps, a question read and answered, memory, loading; left out where it cannot run."""
    ours, sizes = replace(setting, dtype=INT8), setting.sizes
    try:
        formats = f"{setting.model.number_format} / {ours.model.number_format}"
    except SettingsError as error:
        setting.say(f"int8: left out, {error}")
        return

    def ratio(
        name: str, run: Callable[[Setting], Callable[[], object]], times: int, aim: float, how: str = ""
    ) -> Ratio:
        runs = {"theirs": run(setting), "ours": run(ours)}
        for warm in runs.values():
            warm()
        seconds = in_turn(runs, times, progress=partial(setting.bars, f"int8: {name}"))
        return Ratio.of(
            f"int8: {name}, {formats}", seconds["theirs"], seconds["ours"], target=Target("≥", aim), how=how
        )

    yield ratio(f"forward of {sizes.forward:,} tokens, measured", measured_pass, setting.repeats, 1.7)
    for rows, aim in ((1, 2.0), (sizes.rows, 1.9)):
        name = f"decoding step, measured, rows of about {sizes.row_tokens} tokens: {rows}"
        yield ratio(name, partial(_step, rows=rows), sizes.steps, aim)
    tokens = min(_answered(one.model, _few_nodes(one), 24) for one in (setting, ours))
    how = f"{sizes.plain_nodes} nodes, a probe after each, and the first {tokens} tokens of an answer"
    yield ratio("a question", partial(_question, tokens=tokens), setting.repeats, 1 / 0.55, how)
    setting.bars("int8: loading", 0, 1)
    (held, loading), (our_held, our_loading) = (
        in_child(_loaded, setting.weights, dtype, setting.ids(_READ)) for dtype in (setting.dtype, INT8)
    )
    setting.bars("int8: loading", 1, 1)
    yield Ratio.of(
        f"int8: memory, {formats}", [held / MiB], [our_held / MiB], target=Target("≥", 1 / 0.6), unit="MiB",
        how=f"what a process holds more after loading and a pass of {_READ} tokens",
    )  # fmt: skip
    yield Ratio.of(f"int8: loading, {formats}", [loading], [our_loading])


def _step(setting: Setting, *, rows: int) -> Callable[[], object]:
    past, spans = filled_rows(setting, rows, is_even=False)
    return partial(step_measured, setting.model, setting.ids(1)[0], past, spans)


def _question(setting: Setting, *, tokens: int) -> Callable[[], object]:
    return partial(_answered, setting.model, _few_nodes(setting), tokens)


def _few_nodes(setting: Setting) -> Sequence[str]:
    return nodes_of(setting)[: setting.sizes.plain_nodes]


def _answered(model: TransformersModel, nodes: Sequence[str], max_tokens: int) -> int:
    """How many tokens the answer has."""
    with model.open_session(QUESTIONS[0]) as reading:
        for node in nodes:
            reading.append([node])
            reading.probability_of_yes()
        before = reading.usage.generated_tokens
        collections.deque(reading.answer(max_tokens=max_tokens, request=_AT_LENGTH), maxlen=0)
        return reading.usage.generated_tokens - before


def _loaded(weights: Weights, dtype: str, ids: list[int]) -> tuple[int, float]:  # in a child
    """Bytes that the process holds more once the model has read, and the seconds of loading alone."""
    model = TransformersModel(weights.folder, device="cpu", dtype=dtype)
    before, started = memory_now() or 0, time.perf_counter()
    assert model.network  # which loads them
    seconds = time.perf_counter() - started
    forward_measured(model, ids, [(0, 20)])
    return (memory_now() or 0) - before, seconds
