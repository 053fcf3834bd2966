"""How fast and in how much memory a summary graph is built: against the plain twin and engines that only write."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from statistics import median
from types import SimpleNamespace
from typing import Any

from children import Child, ChildError, in_child, peak_while
from engines import ENGINES, Engine, Weights
from ratios import Ratio, Target, in_turn, sampled
from setting import Setting, beginning

from memgraph_rag.contracts import Progress, SplitDocument
from memgraph_rag.layers.points import INSTRUCTION, PointsLayer
from memgraph_rag.models.engine import shared_writing
from memgraph_rag.models.engine.language_model import TransformersModel
from memgraph_rag.models.engine.reference import PlainModel
from memgraph_rag.settings import Settings
from memgraph_rag.text.splitting import split
from memgraph_rag.types import Generation, Prompt, Segment, as_line, make_id

__all__ = ["Recorder", "build", "build_points", "memory", "split_document"]

MiB = 2**20


class Recorder:
    """A language model that keeps what it was asked, in one list for each level, and how many tokens it wrote."""

    def __init__(self, model: TransformersModel) -> None:
        self._model = model
        self.levels: list[list[tuple[Prompt, int]]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def generate(
        self,
        prompts: Sequence[Prompt],
        *,
        max_tokens: int,
        stop: Callable[[Prompt, str], bool] | None = None,
        progress: Progress | None = None,
    ) -> list[Generation]:
        """As the model does."""
        written = self._model.generate(prompts, max_tokens=max_tokens, stop=stop, progress=progress)
        self.levels.append(
            [(prompt, generation.usage.generated_tokens) for prompt, generation in zip(prompts, written, strict=True)]
        )
        return written


def build(setting: Setting) -> Iterator[Ratio]:
    """The points layer of a document's beginning against what else could have written its points.

    At most two rounds; in the second only the engine that was the fastest runs again.
    """
    model, document = setting.model, split_document(setting)
    recorder = Recorder(model)
    warm = Prompt(INSTRUCTION, ("Alice was beginning to get very tired.",))
    model.generate([warm] * 2, max_tokens=4)
    wanted = [engine for engine in ENGINES if any(part in engine.name for part in setting.engines)]
    engines = [engine for engine in wanted if _can_run(engine, setting)]
    ours: list[float] = []
    theirs: dict[Engine, list[float]] = {engine: [] for engine in engines}
    for number in range(min(setting.repeats, 2)):
        recorder.levels.clear()
        ours += in_turn({"": partial(build_points, recorder, document, setting)}, 1)[""]
        setting.say(f"build, points layer: {ours[-1]:.0f} s")
        for engine in [_fastest(theirs)] * bool(theirs) if number else engines:
            try:
                theirs[engine].append(_run(engine, setting, recorder.levels))
                setting.say(f"build, {engine.label}: {theirs[engine][-1]:.0f} s")
            except ChildError as error:
                setting.say(f"build, {engine.label}: left out, {error}")
                del theirs[engine]
    asked = [pair for level in recorder.levels for pair in level]
    how = (
        f"{len(asked)} prompts on {len(recorder.levels)} levels, "
        f"{sum(len(model.tokens.prompt(prompt)[0]) for prompt, _ in asked):,} tokens read, "
        f"{sum(written for _, written in asked):,} written"
    )
    for engine, seconds in theirs.items():
        part = f", every {_ordinal(setting.sizes.every)} prompt, by tokens written" if engine.is_sampled else ""
        yield Ratio.of(f"build: points layer / {engine.label}", ours, seconds, how=how + part)
    if theirs:
        best = _fastest(theirs)
        yield Ratio.of(
            f"build: points layer / the fastest, {best.name}", ours, theirs[best], target=Target("≤", 1.3), how=how
        )
    setting.bars("build: plain twin", 0, 1)
    plain = in_child(_run_plain, setting.weights, asked, setting.sizes.every)
    setting.bars("build: plain twin", 1, 1)
    yield Ratio.of(
        "build: plain twin / points layer", [plain], ours, target=Target("≥", 8),
        how=f"{how}; twin: every {_ordinal(setting.sizes.every)} prompt, by tokens written",
    )  # fmt: skip


def _fastest(theirs: Mapping[Engine, Sequence[float]]) -> Engine:
    return min(theirs, key=lambda engine: median(theirs[engine]))


def _ordinal(number: int) -> str:
    return {1: "single", 2: "second", 3: "third", 5: "fifth"}.get(number, f"{number}th")


def split_document(setting: Setting) -> SplitDocument:
    """The first chapters, in segments as the library makes them."""
    sizes = setting.sizes
    text = beginning(setting.text, chapters=sizes.chapters, characters=sizes.characters)
    spans = split(text, count_tokens=setting.model.count_tokens, max_tokens=Settings.load().segment_tokens)
    segments = tuple(
        Segment(
            make_id("bench", "segment", at),
            "document",
            at,
            text[span.start : span.end],
            span.start,
            span.end,
            span.tokens,
        )
        for at, span in enumerate(spans)
    )
    return SplitDocument("document", "", segments)


def build_points(recorder: Recorder, document: SplitDocument, setting: Setting) -> None:
    """The document's points; what was asked for them is with the recorder."""
    layer = PointsLayer(batch_tokens=setting.sizes.batch_tokens)
    models: Any = SimpleNamespace(language=recorder)
    layer.build([document], namespace="bench", models=models, progress=setting.bars)


def _can_run(engine: Engine, setting: Setting) -> bool:
    reason = engine.missing(setting.weights)
    if reason:
        setting.say(f"build, {engine.name}: left out, {reason}")
    return not reason


def _run(engine: Engine, setting: Setting, levels: Sequence[Sequence[tuple[Prompt, int]]]) -> float:
    """Seconds to write as many tokens to the same prompts, level after level."""
    encode = setting.model.tokens.prompt
    jobs = [([encode(prompt)[0] for prompt, _ in level], [written for _, written in level]) for level in levels]
    most = max(len(ids) + length for level in jobs for ids, length in zip(*level, strict=True))
    with Child(engine.make, setting.weights, most + 64, engine.together) as child:
        child.call("timed", [jobs[0][0][0][:16]], [4])
        if not engine.is_sampled:
            return sum(child.call("timed", *level) for level in jobs)
        prompts, lengths = ([item for level in jobs for item in level[part]] for part in range(2))
        chosen, factor = sampled(lengths, setting.sizes.every)  # type: ignore[arg-type]
        return factor * child.call("timed", [prompts[index] for index in chosen], [lengths[index] for index in chosen])


def _run_plain(weights: Weights, asked: Sequence[tuple[Prompt, int]], every: int) -> float:  # in a child
    """Seconds of the plain twin; where it stops earlier, as if it had written all."""
    model = PlainModel(weights.folder, device="cpu")
    model.generate([Prompt("Write.", ("A word.",))], max_tokens=2)
    chosen, _ = sampled([written for _, written in asked], every)
    seconds, tokens = 0.0, 0
    for prompt, written in (asked[index] for index in chosen):
        (generation,) = model.generate([prompt], max_tokens=written)
        seconds += generation.usage.seconds
        tokens += generation.usage.generated_tokens
    return seconds * sum(written for _, written in asked) / tokens


# ── memory ───────────────────────────────────────────────────────────────────────────────────────────────


def memory(setting: Setting) -> Iterator[Ratio]:
    """Peak of summarising as the document grows, for several limits on rows at once; each in a process of its own."""
    sizes = setting.sizes
    inputs = _short_inputs(setting, max(sizes.prompts))
    runs = [(together, prompts) for together in sizes.prompts_together for prompts in sizes.prompts]
    peaks: dict[tuple[int, int], float] = {}
    for done, (together, prompts) in enumerate(runs):
        setting.bars("memory: building", done, len(runs))
        peaks[together, prompts] = (
            in_child(_peak_of_build, setting.weights, setting.dtype, inputs[:prompts], together) / MiB
        )
    setting.bars("memory: building", len(runs), len(runs))
    smallest, largest = min(sizes.prompts), max(sizes.prompts)
    for together in sizes.prompts_together:
        yield Ratio.of(
            f"memory: {largest} prompts / {smallest} prompts, {together} rows at once",
            [peaks[together, largest]], [peaks[together, smallest]], target=Target("≤", 1.1), unit="MiB",
            how="peak above the weights, prompts of about 220 tokens, 8 tokens written",
        )  # fmt: skip
    few, many = min(sizes.prompts_together), max(sizes.prompts_together)
    yield Ratio.of(
        f"memory: {many} rows at once / {few}", [peaks[many, largest]], [peaks[few, largest]], unit="MiB",
        how="peak above the weights",
    )  # fmt: skip


def _short_inputs(setting: Setting, count: int) -> list[str]:
    """So many consecutive pieces of the text, of about 100 tokens."""
    spans = split(setting.text[: 800 * count], count_tokens=setting.model.count_tokens, max_tokens=110)
    return [as_line(setting.text[span.start : span.end]) for span in spans[:count]]


def _peak_of_build(weights: Weights, dtype: str, inputs: Sequence[str], together: int) -> int:  # in a child
    from machine import memory_now

    shared_writing._MOST_ROWS = together
    model = TransformersModel(weights.folder, device="cpu", dtype=dtype)
    model.generate([Prompt(INSTRUCTION, (inputs[0],))], max_tokens=2)
    before = memory_now() or 0
    prompts = [Prompt(INSTRUCTION, (text,)) for text in inputs]
    return peak_while(lambda: model.generate(prompts, max_tokens=8)) - before
