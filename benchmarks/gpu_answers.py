"""What answers and graphs cost on a GPU: questions of a set, tables of a paper, and writing points beside vLLM.

All but vLLM is ``memgraph-rag evaluate``, as users run it. Invariant: outcomes, figures and tables of a part are kept
in ``options.out``, and a second run does only what is missing.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from functools import partial
from importlib.util import find_spec
from unittest.mock import patch

from engine_build import Recorder, build_points, split_document
from gpu_setting import LeftOut, Options, written_setting
from ratios import Ratio, in_turn

from memgraph_rag.cli import main as run_command
from memgraph_rag.models.files.catalogue import MINILM

__all__ = ["TABLES", "answers", "beside_vllm", "tables"]

TABLES = ("pecan-1", "pecan-ablation")
TABLE_SETS = {"quality", "qasper", "fairytaleqa"}
METRICS = ("accuracy", "F1")
"""The quality of a method: the first of these that its set has."""


def answers(options: Options, part: str) -> Iterator[Ratio]:
    """Answer questions of one set by the walk, and by the best passages of a graph search."""
    asked = ["--strategies", "walk", "--set", "top_k.mode=graph"]
    yield from _evaluate(options, [part], part, asked)


def tables(options: Options, part: str) -> Iterator[Ratio]:
    """Make a table of PECAN, whose points are built first. Both tables read the same points."""
    names = [name for name in options.sizes.sets if name in TABLE_SETS]
    yield from _evaluate(options, names, "tables", ["--table", part])


def _evaluate(options: Options, names: Sequence[str], out: str, asked: Sequence[str]) -> Iterator[Ratio]:
    """Run ``memgraph-rag evaluate``, and yield the seconds of each method against those of the last one."""
    missing = [name for name in names if not (options.sets / name).is_dir()]
    if missing:
        raise LeftOut(f"{', '.join(missing)}: not in {options.sets}")
    folders = [argument for name in names for argument in ("--data", str(options.sets / name))]
    command = [
        "memgraph-rag", "evaluate", *folders, *asked, "--model", written_setting(options).weights.folder,
        "--embedder", MINILM, "--limit", str(options.sizes.questions), "--documents", str(options.sizes.documents),
        "--out", str(options.out / out),
    ]  # fmt: skip
    with patch.object(sys, "argv", command), patch.dict(os.environ, {"MEMGRAPH_RAG_DEVICE": options.device}):
        try:
            run_command()
        except SystemExit as end:
            if end.code:
                raise RuntimeError(f"memgraph-rag evaluate ended with {end.code}") from end
    table = asked[1] if asked[0] == "--table" else ""
    rows = json.loads((options.out / out / f"{table or 'summary'}.json").read_text("utf-8"))
    for name in dict.fromkeys(row["dataset"] for row in rows):
        methods: dict[str, dict[str, dict]] = {}
        for row in rows:
            if row["dataset"] == name:
                methods.setdefault(row["strategy"], {})[row["metric"]] = row
        last = [row["seconds"] for row in [*methods.values()][-1].values()][:1]
        for method, metrics in methods.items():
            row = next(metrics[metric] for metric in (*METRICS, *metrics) if metric in metrics)
            quality = f"{row['metric']} {row['value']:.1f} [{row['low']:.1f}, {row['high']:.1f}], n {row['n']}"
            label = f"{table or 'answers'}: {name}, a question by {method} / {[*methods][-1]}"
            yield Ratio.of(label, [row["seconds"]], last, how=quality)


def beside_vllm(options: Options, _: str) -> Iterator[Ratio]:
    """Write the points of a beginning, and have vLLM write as many tokens to the same prompts."""
    if find_spec("vllm") is None:
        raise LeftOut("vllm is not installed")
    from vllm import LLM, SamplingParams  # type: ignore[import-not-found]

    setting = written_setting(options)
    recorder = Recorder(setting.model)
    ours = in_turn({"": partial(build_points, recorder, split_document(setting), setting)}, 1)[""]
    asked = [pair for level in recorder.levels for pair in level]
    prompts = [{"prompt_token_ids": setting.model.tokens.prompt(prompt)[0]} for prompt, _ in asked]
    lengths = [SamplingParams(temperature=0, max_tokens=count, ignore_eos=True) for _, count in asked]
    engine = LLM(setting.weights.folder, gpu_memory_utilization=0.5)
    engine.generate(prompts[:1], lengths[:1])
    started = time.perf_counter()
    engine.generate(prompts, lengths)
    theirs = [time.perf_counter() - started]
    tokens = sum(len(prompt["prompt_token_ids"]) for prompt in prompts) + sum(count for _, count in asked)
    yield Ratio.of(
        "points of a beginning, tokens a second / vLLM", [tokens / each for each in ours],
        [tokens / each for each in theirs], unit="tokens/s", how="vLLM has all prompts at once",
    )  # fmt: skip
