"""What a question costs: a cached session against reading again, and a walk against reading the whole document."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from statistics import median

import torch
from children import in_child
from engine_capture import forward_sdpa
from engines import Weights
from ratios import Ratio, Target, in_turn
from setting import Setting, using
from transformers import DynamicCache

from memgraph_rag import Memory
from memgraph_rag.lexical.sentences import sentences
from memgraph_rag.models.engine.kv_cache import cache_argument
from memgraph_rag.models.engine.language_model import TransformersModel
from memgraph_rag.models.engine.reference import PlainModel
from memgraph_rag.models.engine.session import KVSession
from memgraph_rag.settings import Settings
from memgraph_rag.text.splitting import split
from memgraph_rag.types import as_line

__all__ = ["QUESTIONS", "ask", "seconds_of_whole", "session", "sharing"]

QUESTIONS = (
    "What was written on the bottle?",
    "Why was the Queen of Hearts angry with the gardeners?",
    "Who is accused of stealing the tarts?",
)
"""Asked of Alice's Adventures in Wonderland; ``--question`` asks others."""

AT_ONCE = 4
"""Questions that are asked at the same time, where they are."""


# ── reading node after node ──────────────────────────────────────────────────────────────────────────────


def session(setting: Setting) -> Iterator[Ratio]:
    """Nodes read one after another, each with its probe."""
    model, sizes, question = setting.model, setting.sizes, QUESTIONS[0]
    nodes = nodes_of(setting)
    tokens = sum(model.count_tokens(nodes))
    _read(model, question, nodes[:1])
    forward_sdpa(model, setting.ids(64))
    runs = {"cached": partial(_read, model, question, nodes), "again": partial(_read_again, model, question, nodes)}
    seconds = in_turn(runs, 1, progress=partial(setting.bars, "session: whole"))
    seconds["cached"] += in_turn({"": runs["cached"]}, setting.repeats - 1)[""] if setting.repeats > 1 else []
    yield Ratio.of(
        f"session: all read again at each step (SDPA) / cached, {len(nodes)} nodes",
        seconds["again"], seconds["cached"], target=Target("≥", 6),
        how=f"segments and sentences in turn, {tokens:,} tokens; a probe after each",
    )  # fmt: skip
    few = nodes[: sizes.plain_nodes]
    ours = in_turn({"": partial(_read, model, question, few)}, setting.repeats)[""]
    setting.bars("session: plain twin", 0, 1)
    plain = in_child(_seconds_of_plain, setting.weights, question, few)
    setting.bars("session: plain twin", 1, 1)
    yield Ratio.of(f"session: plain twin / cached, the first {len(few)} nodes", [plain], ours)
    yield _one_append(setting, question, nodes)


def nodes_of(setting: Setting) -> list[str]:
    """Whole segments of the text and sentences (as long as points are), in turn."""
    count = setting.sizes.nodes
    text = setting.text[: 4_000 + 2_000 * count]
    spans = split(text, count_tokens=setting.model.count_tokens, max_tokens=Settings.load().segment_tokens)
    segments = [text[span.start : span.end] for span in spans[:count]]
    return [
        as_line(segment if number % 2 == 0 else _longest_sentence(segment)) for number, segment in enumerate(segments)
    ]


def _longest_sentence(text: str) -> str:
    return max((text[start:end] for start, end in sentences(text)), key=len)


def _read(model: TransformersModel | PlainModel, question: str, nodes: Sequence[str]) -> None:
    with model.open_session(question) as reading:
        for node in nodes:
            reading.append([node])
            reading.probability_of_yes()


def _read_again(model: TransformersModel, question: str, nodes: Sequence[str]) -> None:
    """What a session would do without a cache: one whole pass with the probe for each node."""
    held, _ = model.tokens.question(question)
    for node in nodes:
        held = [*held, *model.tokens.nodes([node])[0]]
        forward_sdpa(model, [*held, *model.tokens.turns.reply])


def _seconds_of_plain(weights: Weights, question: str, nodes: Sequence[str]) -> float:  # in a child
    model = PlainModel(weights.folder, device="cpu")
    _read(model, question, ["A word."])
    return in_turn({"": partial(_read, model, question, nodes)}, 1)[""][0]


def _one_append(setting: Setting, question: str, nodes: Sequence[str]) -> Ratio:
    """One node with its probe, on top of the others, against a bare pass of as many tokens on as long a cache."""
    model = setting.model
    *before, last = nodes
    new = len(model.tokens.nodes([last])[0]) + len(model.tokens.turns.reply)
    with model.open_session(question) as reading:
        reading.append(before)
        held = reading._cache.get_seq_length()
        theirs = DynamicCache()
        _pass_sdpa(model, setting.ids(held), theirs)
        ids = setting.ids(new)
        runs = {"append": partial(_append_once, reading, last, held), "bare": partial(_bare, model, ids, theirs)}
        for run in runs.values():
            run()
        seconds = in_turn(runs, 2 * setting.repeats + 1, progress=partial(setting.bars, "session: one append"))
    return Ratio.of(
        f"session: append and probe of {new} tokens / bare SDPA pass, {held:,} held", seconds["append"],
        seconds["bare"], target=Target("≤", 1.25),
    )  # fmt: skip


def _append_once(reading: KVSession, node: str, held: int) -> None:
    reading.append([node])
    reading.probability_of_yes()
    reading._cache.take_back(reading._cache.get_seq_length() - held)


@torch.inference_mode()
def _pass_sdpa(model: TransformersModel, ids: Sequence[int], past: DynamicCache) -> None:
    with using(model.network, "sdpa") as network:
        ids_there = torch.tensor([ids], device=model.device)
        network(ids_there, use_cache=True, logits_to_keep=1, **{cache_argument(type(network)): past})


def _bare(model: TransformersModel, ids: Sequence[int], past: DynamicCache) -> None:
    _pass_sdpa(model, ids, past)
    past.crop(-len(ids))


# ── a question, against reading the whole ────────────────────────────────────────────────────────────────


def ask(setting: Setting, questions: Sequence[str] = QUESTIONS) -> Iterator[Ratio]:
    """Tokens and seconds of walks over a stored document against one pass over all of it."""
    if setting.store is None or not setting.store.is_file():
        setting.say(
            "ask: left out; name a store that holds the text with its points: --store FILE. To build one takes a "
            f"quarter of an hour: memgraph-rag add {setting.text_path} --layers entities,points --store FILE"
        )
        return
    with tempfile.TemporaryDirectory() as scratch:
        copy = shutil.copy(setting.store, Path(scratch) / "ask.lbug")
        with Memory(copy, model=setting.model) as memory:
            counts = memory.status()["counts"]
            if not counts["InformationPoint"]:
                raise ValueError(
                    f"Expected a store with points, got {setting.store} without. Delete it, so that it is built anew."
                )
            tokens = sum(
                segment.tokens
                for record in memory.documents()
                for segment in memory._parts.store.list_segments(record.id)
            )
            memory.embedder.embed(["warm"])
            forward_sdpa(setting.model, setting.ids(64))
            answers = []
            for done, question in enumerate(questions):
                setting.bars("ask: walks", done, len(questions))
                answers.append(memory.ask(question, strategy="pecan"))
            setting.bars("ask: walks", len(questions), len(questions))
    said = f"{counts['Segment']} segments, {counts['InformationPoint']} points; questions: {len(questions)}"
    used = [float(answer.usage.prompt_tokens + answer.usage.generated_tokens) for answer in answers]
    yield Ratio.of(
        "ask: tokens of a walk with its answer / of the document", used, [float(tokens)], unit="tokens",
        target=Target("≤", 1 / 15), how=said,
    )  # fmt: skip
    short, long = setting.sizes.whole
    runs = {str(size): partial(forward_sdpa, setting.model, setting.ids(size)) for size in (short, long)}
    seconds = in_turn(runs, 1, progress=partial(setting.bars, "ask: reading whole"))
    whole = seconds_of_whole(tokens, (short, median(seconds[str(short)])), (long, median(seconds[str(long)])))
    yield Ratio.of(
        "ask: seconds of a walk with its answer / of reading whole",
        [answer.usage.seconds for answer in answers], [whole], target=Target("≤", 1 / 10),
        how=f"whole: one SDPA pass over {tokens:,} tokens, without an answer, extrapolated from passes of "
        f"{short:,} and {long:,} tokens as an² + bn",
    )  # fmt: skip


def seconds_of_whole(tokens: int, short: tuple[int, float], long: tuple[int, float]) -> float:
    """Seconds of one pass over so many tokens, from two (tokens, seconds): an² + bn, with neither below 0.

    >>> round(seconds_of_whole(8, (2, 2 * 3 + 4 * 0.5), (4, 4 * 3 + 16 * 0.5)), 6)
    56.0
    """
    (n, s), (m, t) = short, long
    square = max((t / m - s / n) / (m - n), 0.0)
    linear = max(s / n - square * n, 0.0) if square else (s + t) / (n + m)
    return square * tokens**2 + linear * tokens


# ── several questions at the same time ───────────────────────────────────────────────────────────────────


def sharing(setting: Setting) -> Iterator[Ratio]:
    """Questions in threads of their own, whose passes are run as one, against one question after another."""
    model, nodes = setting.model, nodes_of(setting)[: setting.sizes.plain_nodes]
    numbers = range(AT_ONCE)
    forward_sdpa(model, setting.ids(64))
    with ThreadPoolExecutor(AT_ONCE) as pool:
        runs = {
            "at once": lambda: list(pool.map(partial(_answered, model, nodes), numbers)),
            "one by one": lambda: list(map(partial(_answered, model, nodes), numbers)),
        }
        seconds = in_turn(runs, setting.repeats, progress=partial(setting.bars, "sharing"))
    yield Ratio.of(
        f"sharing: {AT_ONCE} questions at the same time / one after another", seconds["at once"],
        seconds["one by one"], how=f"{len(nodes)} nodes each, a probe after each, and the answer",
    )  # fmt: skip


def _answered(model: TransformersModel, nodes: Sequence[str], number: int) -> str:
    with model.open_session(QUESTIONS[number % len(QUESTIONS)]) as reading:
        for node in nodes[number:] + nodes[:number]:
            reading.append([node])
        return "".join(reading.answer(max_tokens=24))
