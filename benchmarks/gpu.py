"""What a GPU does with this library, in one command: is it right, is it fast; each step in a process of its own.

    PYTHONPATH=tests python benchmarks/gpu.py [--device cuda] [--steps NAME …] [--minutes N] [--model NAME]
                                              [--sets DIR] [--json FILE]

Steps, in the order of their worth; a part of one that fails, dies or hangs is told, and the next goes on in a new
process. The file, and a table beside it (.md), are written anew after each result: a run that is cut off is worth
what it reached.

- device: its memory's and products' speed, with which bounds are reckoned.
- kernels: prefill by torch's varlen kernel and span mass by Triton's, against plain products on the CPU.
- models: nine tiny models, captured decoding and reading, against the plain twin on the CPU.
- recovery: decoding after a capture that failed. integers: bitsandbytes' 8 and 4 bits, against their plain twin.
- answers: 200 questions of each set, by ``memgraph-rag evaluate``. tables: two tables of PECAN, with points over 50
  documents of each set. vllm: tokens a second of writing points, beside vLLM's.
- decoding: steps that are captured against steps run from Python. capture: measured passes against SDPA.
- build: the points of a document. large: a random model of Llama-3.1-8B's shape.
- formats: 8-bit integers and 4-bit weights against the card's own format.

Nothing is fetched. The weights are the packaged model's where it is installed, else random ones of its size. With
``--device cpu`` all is tiny, and no figure of speed means anything: it shows that the command itself runs.
The exit status is 1 where a step failed, or the device computes what it should not.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path

import torch
from architectures import ARCHITECTURES
from cards import Card
from children import ChildError, yielded
from engine import MODEL
from gpu_answers import TABLES, answers, beside_vllm, tables
from gpu_checks import PREFILLS, integers, kernels, models, recovery
from gpu_setting import LARGE, SMALL, GpuSizes, Options
from gpu_speed import build, capture, decoding, device, formats, large
from machine import machine_line
from ratios import COLUMNS, Ratio, table_row
from samples import DATA

from memgraph_rag.errors import SettingsError
from memgraph_rag.evaluation.machine import version_line
from memgraph_rag.models.engine.hardware import INT4, INT8, find_device

RESULTS = Path(__file__).parent / "results" / "gpu.json"
SMALL_RESULTS = Path("build/gpu-cpu.json")
CHECKS = ("kernels", "models", "recovery", "integers")
"""Steps of which a missed target is an error, not a slow machine."""

_HEAD = tuple(f"| {' | '.join(cells)} |" for cells in (COLUMNS, ["---"] * len(COLUMNS)))
_OFFLINE = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "HF_HUB_DISABLE_PROGRESS_BARS": "1"}
_LEFT_OUT = ("LeftOut", "OutOfMemoryError", "ModelError: Expected enough memory")


@dataclass(frozen=True, slots=True)
class Step:
    """Work in parts.

    Attributes:
        silence_s: a part is ended after so many seconds without a result; loading included.
    """

    run: Callable[[Options, str], Iterator[Ratio | Card]]
    parts: tuple[str, ...]
    silence_s: float


def steps_of(sizes: GpuSizes) -> dict[str, Step]:
    """All of them, the most worth first."""
    lengths, rows = (tuple(map(str, numbers)) for numbers in (sizes.lengths, sizes.rows))
    few_bits = (INT4,) if sizes.small else (INT8, INT4)
    of_large = ("appends", *(f"decoding {count}" for count in rows), *(f"reading {count}" for count in lengths))
    return {
        "device": Step(device, ("",), 60),
        "kernels": Step(kernels, tuple(PREFILLS)[: 3 if sizes.small else None], 60),
        "models": Step(models, tuple(ARCHITECTURES), 60),
        "recovery": Step(recovery, ("",), 60),
        "integers": Step(integers, few_bits, 60),
        "answers": Step(answers, sizes.sets, 300),
        "tables": Step(tables, TABLES[-1:] if sizes.small else TABLES, 300),
        "vllm": Step(beside_vllm, ("",), 120),
        "decoding": Step(decoding, rows, 90),
        "capture": Step(capture, lengths, 90),
        "large": Step(large, of_large, 90),
        "build": Step(build, ("a beginning",) if sizes.small else ("a beginning", "whole"), 300),
        "formats": Step(formats, few_bits, 120),
    }


@dataclass(slots=True)
class Results:
    """What came so far, as a file and as a table.

    Attributes:
        parts: of each, how it ended.
    """

    path: Path
    header: str
    is_small: bool
    card: Card | None = None
    ratios: list[Ratio] = field(default_factory=list)
    parts: list[dict[str, str | float]] = field(default_factory=list)

    def add(self, ratio: Ratio) -> None:
        """Show a ratio and keep it; of what is tiny, speed has no target."""
        if self.is_small and not ratio.name.startswith(CHECKS):
            ratio = replace(ratio, target=None)
        if not self.ratios:
            print("\n".join(_HEAD))
        self.ratios.append(ratio)
        print(table_row(ratio), flush=True)
        self.write()

    def end(self, step: str, part: str, outcome: str, seconds: float) -> None:
        """Keep how a part ended: "done", "left out: …" or "failed: …"."""
        self.parts.append({"step": step, "part": part, "outcome": outcome, "seconds": round(seconds, 1)})
        print(f"{step} {part}: {outcome}, {seconds:.0f} s", file=sys.stderr, flush=True)
        self.write()

    def write(self) -> None:
        """As it is now, for programs and for people; a reader never sees half of it."""
        kept = {
            "measured": f"{datetime.now(timezone.utc):%Y-%m-%d %H:%M} UTC",
            "header": self.header,
            "card": asdict(self.card) if self.card else None,
            "parts": self.parts,
            "ratios": [
                ratio.record() | {"medians": ratio.medians, "runs": ratio.runs, "how": ratio.how}
                for ratio in self.ratios
            ],
        }
        self.path.parent.mkdir(parents=True, exist_ok=True)
        texts = {".json": json.dumps(kept, indent=1, ensure_ascii=False), ".md": self.table()}
        for suffix, text in texts.items():
            scratch = self.path.with_suffix(".part")
            scratch.write_text(text + "\n", encoding="utf-8")
            scratch.replace(self.path.with_suffix(suffix))

    def table(self) -> str:
        """For ``measurements.md``: a line for the checks of a step, a row for each other ratio, what lacks."""
        lines = [*self.header.splitlines(), ""]
        for step in CHECKS:
            checks = [ratio for ratio in self.ratios if ratio.name.startswith(f"{step}:")]
            if checks:
                worst, met = max(checks, key=_nearness), sum(check.is_met is True for check in checks)
                nearest = f"nearest to its limit {worst.name}: {worst.ratio:.3g}"
                lines.append(f"- {step}: {met} of {len(checks)} met; {nearest}")
        rows = [table_row(ratio) for ratio in self.ratios if not ratio.name.startswith(CHECKS)]
        lines += ["", *_HEAD, *rows] if rows else []
        missing = [
            f"- {part['step']} {part['part']}: {part['outcome']}" for part in self.parts if part["outcome"] != "done"
        ]
        return "\n".join([*lines, *([""] if missing else []), *missing])

    @property
    def is_good(self) -> bool:
        """Whether nothing failed, and what is checked was right."""
        wrong = [ratio for ratio in self.ratios if ratio.name.startswith(CHECKS) and not ratio.is_met]
        return not wrong and not any(str(part["outcome"]).startswith("failed") for part in self.parts)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the steps; 1 where one failed or computes wrong numbers."""
    options = _options(arguments)
    os.environ.update(_OFFLINE)  # of the steps' processes
    try:
        found = find_device(options.device)
    except SettingsError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    sizes = SMALL if found.type == "cpu" else LARGE
    steps = steps_of(sizes)
    results = Results(options.json or (SMALL_RESULTS if sizes.small else RESULTS), _header(found, sizes), sizes.small)
    print(results.header + "\n")
    deadline = time.monotonic() + 60 * options.minutes
    with tempfile.TemporaryDirectory(prefix="gpu-") as scratch:
        out = results.path.parent.absolute() / "gpu-answers"
        told = Options(options.device, sizes, options.model, Path(scratch), options.sets.absolute(), out)
        for name in options.steps or steps:
            run_step(name, steps[name], told, results, deadline)
    print(f"\n{results.table()}\n\n{results.path}")
    return 0 if results.is_good else 1


def run_step(name: str, step: Step, options: Options, results: Results, deadline: float) -> None:
    """All parts of a step in one process, or, behind a part that ended one, in the next."""
    waiting = list(step.parts)
    while waiting:
        started = time.monotonic()
        if started >= deadline:
            results.end(name, ", ".join(waiting), "left out: no time", 0)
            return
        told, silence_s = replace(options, card=results.card), min(step.silence_s, deadline - started)
        try:
            for item in yielded(run_parts, step.run, told, tuple(waiting), silence_s=silence_s):
                if isinstance(item, Card):
                    results.card = item
                elif isinstance(item, Ratio):
                    results.add(item)
                else:  # the part's end
                    results.end(name, waiting.pop(0), "done", time.monotonic() - started)
                    started = time.monotonic()
                    if started >= deadline:
                        break
        except ChildError as error:
            is_left_out = str(error).startswith(_LEFT_OUT)
            outcome = f"{'left out' if is_left_out else 'failed'}: {error}"
            results.end(name, waiting.pop(0), outcome, time.monotonic() - started)


def run_parts(
    run: Callable[[Options, str], Iterator[Ratio | Card]], options: Options, parts: Sequence[str]
) -> Iterator[Ratio | Card | None]:  # in a child
    """What each part gives, and None behind it."""
    for part in parts:
        yield from run(options, part)
        yield None


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    names = tuple(steps_of(LARGE))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda", help="as the setting of that name; on a CPU all is tiny")
    parser.add_argument("--steps", nargs="+", choices=names, metavar="STEP", help=", ".join(names))
    parser.add_argument("--sets", type=Path, default=DATA, help="folder of the sets of questions; by default a sample")
    parser.add_argument("--minutes", type=float, default=15, help="after which no part begins, and one is ended")
    parser.add_argument("--model", default=MODEL, help="a packaged model; random weights of its size without it")
    parser.add_argument("--json", type=Path, help=f"by default {RESULTS.name} beside the others; {SMALL_RESULTS}")
    return parser.parse_args(arguments)


def _header(found: torch.device, sizes: GpuSizes) -> str:
    """Versions and date, the machine, the card: three lines."""
    card = "no GPU; TINY: no figure of speed means anything" if sizes.small else _card_line(found)
    return f"{version_line('torch', 'triton', 'transformers')}\n{machine_line()}\n{card}"


def _card_line(found: torch.device) -> str:
    properties = torch.cuda.get_device_properties(found)
    asked = shutil.which("nvidia-smi")
    command = [asked or "", "--query-gpu=driver_version", "--format=csv,noheader"]
    drivers = subprocess.run(command, capture_output=True, text=True, check=False).stdout.split() if asked else []
    return (
        f"{properties.name}, {properties.total_memory / 2**30:.0f} GiB, compute capability {properties.major}."
        f"{properties.minor}, CUDA {torch.version.cuda}, driver {drivers[0] if drivers else 'unknown'}"
    )


def _nearness(ratio: Ratio) -> float:
    """How near a ratio is to its bound, above 1 behind it."""
    assert ratio.target is not None
    return ratio.ratio / ratio.target.bound if ratio.target.sign == "≤" else ratio.target.bound / max(ratio.ratio, 1e-9)


if __name__ == "__main__":
    sys.exit(main())
