"""How fast is the engine: capture, building, reading, asking; as ratios that are measured in one run.

    python benchmarks/engine.py [--rows capture build …] [--model NAME] [--text FILE] [--store FILE] [--question TEXT …]
                                [--chapters N] [--engines NAME …] [--dtype FORMAT] [--repeats N] [--json FILE] [--quick]

Each row measures two things in turn (A B A B) on this machine and tells their ratio: the median over the runs, the
smallest and the largest, and the target where there is one. Rows:

- capture: forward passes and decoding steps that measure attention, against transformers without (SDPA).
- build: the points layer of the text's first two chapters against its plain twin, and against engines that only write
  as many tokens to the same prompts (``pip install "memgraph_rag[bench]"``; those that are missing are left out).
- session: nodes read one after another with a cache, against reading all again at each step.
- ask: questions to a store (--store) that holds the text with its points, against reading the whole text.
- question: where the seconds of questions to the store go, and after how many an answer begins.
- adding: a question after documents were added in the same process, against one in a fresh process.
- sharing: questions asked at the same time.
- memory: of building, as the document grows.
- int8: 8-bit integers, where the processor multiplies them.

With --dtype the names of the rows end in it: ours is in that format, what it is compared with as before.

The text is by default Alice's Adventures in Wonderland, whole, from benchmarks/data.
With --quick all is small and no figure means anything. Peak memory is that of processes of their own.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # before torch: idle threads of one engine take no time of another
if __name__ == "__main__":  # a test that imports this module has a host's bars
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")

import torch
from engine_adding import adding
from engine_ask import QUESTIONS, ask, session, sharing
from engine_build import build, memory
from engine_capture import capture
from engine_int8 import int8
from engine_question import question
from engines import ENGINES, find_weights
from machine import machine_line
from ratios import COLUMNS, Ratio, table_row, write_json
from samples import TEXT
from setting import FULL, QUICK, Setting, plain_format

from memgraph_rag import __version__
from memgraph_rag.cli.progress import Bars
from memgraph_rag.errors import MemgraphRagError
from memgraph_rag.models.files.catalogue import CATALOGUE, find_language_model
from memgraph_rag.settings import Settings

MODEL = "qwen2.5-coder-1.5b-instruct"
PLAIN = plain_format("cpu")
ROWS = ("capture", "build", "session", "ask", "question", "adding", "sharing", "memory", "int8")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; 0 where it came to its end, whatever the ratios are."""
    options = _options(arguments)
    cache_dir = Settings.load().cache_dir
    ratios: list[Ratio] = []
    try:
        with Bars() as bars:
            name, folder = find_language_model(options.model, cache_dir=cache_dir, progress=bars)
            setting = Setting(
                weights=find_weights(name, folder, cache_dir),
                text_path=options.text,
                store=options.store,
                sizes=QUICK if options.quick else replace(FULL, chapters=options.chapters),
                repeats=options.repeats,
                engines=tuple(options.engines),
                dtype=options.dtype,
                bars=bars,
                say=partial(print, file=sys.stderr, flush=True),
            )
            print(_header(setting, quick=options.quick))
            for line in (COLUMNS, ["---"] * len(COLUMNS)):
                print(f"| {' | '.join(line)} |", flush=True)
            for ratio in _measured(setting, options):
                ratios.append(ratio)
                print(table_row(ratio), flush=True)
    except (MemgraphRagError, OSError, ValueError) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    finally:
        if ratios and options.json is not None:
            write_json(options.json, ratios, keep=len(options.rows) < len(ROWS))
    return 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", nargs="+", choices=ROWS, default=ROWS, metavar="ROW", help=", ".join(ROWS))
    parser.add_argument("--model", default=MODEL, help=f"a packaged model ({', '.join(CATALOGUE)}), or as for Memory")
    parser.add_argument("--text", type=Path, default=TEXT, help="the document; by default Alice, in benchmarks/data")
    parser.add_argument("--store", type=Path, help="a Ladybug file that holds the text with its points; it is copied")
    parser.add_argument("--question", nargs="+", default=QUESTIONS, help="asked of the store")
    parser.add_argument("--chapters", type=int, default=FULL.chapters, help="of the text, of which the graph is built")
    parser.add_argument(
        "--dtype", default=PLAIN, help=f"number format of the engine; what it is compared with is {PLAIN}"
    )
    parser.add_argument("--repeats", type=int, default=3, choices=range(1, 100), metavar="N")
    parser.add_argument(
        "--engines", nargs="+", default=[""], metavar="NAME", help="build: only engines whose name holds one of these"
    )
    parser.add_argument("--json", type=Path, help="where to write the ratios; with --rows the others in it stay")
    parser.add_argument("--quick", action="store_true", help="tiny sizes: only to see whether everything runs")
    return parser.parse_args(arguments)


def _measured(setting: Setting, options: argparse.Namespace) -> Iterator[Ratio]:
    rows: dict[str, Callable[[Setting], Iterator[Ratio]]] = {
        "capture": capture,
        "build": build,
        "session": session,
        "ask": partial(ask, questions=options.question),
        "question": partial(question, questions=options.question),
        "adding": adding,
        "sharing": sharing,
        "memory": memory,
        "int8": int8,
    }
    for name in options.rows:
        for ratio in rows[name](setting):
            yield ratio if setting.dtype == PLAIN else replace(ratio, name=f"{ratio.name} [{setting.dtype}]")


def _header(setting: Setting, *, quick: bool) -> str:
    """Versions and date, the machine, the model: three lines."""
    packages = dict.fromkeys(("torch", "transformers", *(engine.package for engine in ENGINES)))
    return (
        f"memgraph_rag {__version__}, Python {platform.python_version()}, {', '.join(map(_version, packages))}; "
        f"{datetime.now().astimezone():%Y-%m-%d %H:%M %Z}\n"
        f"{machine_line()}, {torch.get_num_threads()} threads of torch\n"
        f"{setting.weights.name} in {setting.model.number_format}, {setting.text_path.name}; greedy, so without a seed"
        f"{'; QUICK: no figure means anything' if quick else ''}\n"
    )


def _version(package: str) -> str:
    try:
        return f"{package} {version(package)}"
    except PackageNotFoundError:
        return f"no {package}"


if __name__ == "__main__":
    sys.exit(main())
