"""How much of the evidence do the strategies find that a model leads, beside plain search?

    python benchmarks/walks.py DIR… [--strategies walk qrmem pecan] [--limit N] [--nodes N] [--store PATH_OR_URL]
                                    [--layers entities …] [--numbers FILE] [--json FILE]

Each DIR holds ``docs.jsonl`` and ``questions.jsonl`` whose evidence are documents. Its documents are added with the
entities layer (``--layers`` for others: relations of thousands of passages take a model on a CPU hours). Then each
question is read by each strategy, at most ``--nodes`` nodes, without the answer. Measured is recall@2 and @5 of the
evidence documents, in the order in which the segments weigh for an answer (``segments_under``), beside graph search
alone; tokens read and written, seconds, nodes, and how often the model stopped the reading.

Printed, as Markdown: each figure with its bootstrap interval of 95 %, and the paired differences to search. With
--numbers the model's numbers are kept, and what was read once is not read again: an interrupted run goes on, and other
weights can be tried. Seconds are then those of the pass that gave the numbers.

Data: benchmarks/data has a sample of each set, 20 questions, to see that it runs; its README.md names the full sets.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from machine import header
from numbers_of_models import Numbers
from take_sample import DATA_HELP

from memgraph_rag import Memory
from memgraph_rag.answering.as_of import SearchWithin
from memgraph_rag.cli.progress import Bars
from memgraph_rag.contracts import ReadingContext, Strategy
from memgraph_rag.errors import DocumentError, MemgraphRagError
from memgraph_rag.evaluation.dataset import Folder, Question, read_folder
from memgraph_rag.evaluation.metrics import RESAMPLES, SEED, distinct, interval, recall
from memgraph_rag.evaluation.runs import added
from memgraph_rag.memory import known_layers
from memgraph_rag.strategies import find_strategy, known_strategies
from memgraph_rag.strategies.support import segments_under
from memgraph_rag.types import Extent, Limits, Segment, Step, StopReason, Usage

STRATEGIES = tuple(known_strategies())

SEARCH = "search"
CUTOFFS = (2, 5)


@dataclass(slots=True)
class Reading:
    """What one strategy made of the questions of one folder, question by question."""

    recall: dict[int, list[float]] = field(default_factory=lambda: {k: [] for k in CUTOFFS})
    nodes: list[int] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)
    written: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    answerable: list[bool] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Report:
    """All that was measured of one folder."""

    dataset: str
    by_strategy: Mapping[str, Reading]

    def rows(self) -> list[dict[str, Any]]:
        """One row for each strategy and cut-off, as they are written as JSON; shares in percent."""
        return [
            {"dataset": self.dataset, "strategy": name, "metric": f"recall@{k}", **_interval(reading.recall[k])}
            | {"less_search": _interval(_differences(self, name, k)), "n": len(reading.nodes)}
            | {
                figure: round(float(np.mean(getattr(reading, figure))), 2)
                for figure in ("nodes", "tokens", "written", "seconds", "answerable")
            }
            for name, reading in self.by_strategy.items()
            for k in CUTOFFS
        ]


def main(arguments: Sequence[str] | None = None, **given: Any) -> int:
    """Run the benchmark; 0 where it came to its end. ``given`` are further arguments of ``Memory``, for tests."""
    options = _options(arguments)
    reports: list[Report] = []
    try:
        folders = [_checked(read_folder(path).with_evidence().limited(options.limit)) for path in options.directories]
        with tempfile.TemporaryDirectory() if options.store is None else nullcontext() as temporary:
            store = options.store or Path(temporary) / "walks.lbug"
            for folder in folders:
                reports.append(measure(folder, store, options, is_first=not reports, **given))
                if options.json:
                    _write(options.json, reports)  # after each, so that an interrupted run leaves what it had
    except MemgraphRagError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    _print_tables(reports)
    return 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directories", type=Path, nargs="+", metavar="DIR", help=DATA_HELP)
    parser.add_argument("--strategies", nargs="+", choices=list(STRATEGIES), default=["walk", "qrmem", "pecan"])
    parser.add_argument("--limit", type=_counted, help="most questions of each folder, at even distances")
    parser.add_argument("--nodes", type=_counted, default=10, help="most nodes that are read for a question")
    parser.add_argument("--store", help="a file or a Neo4j address that is kept; by default a temporary file")
    parser.add_argument("--layers", nargs="+", choices=known_layers(), default=["entities"])
    parser.add_argument("--numbers", type=Path, help="where the model's numbers are kept")
    parser.add_argument("--json", type=Path, help="where to write the figures")
    return parser.parse_args(arguments)


def _counted(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number of at least 1, got {text!r}")
    return int(text)


def _checked(folder: Folder) -> Folder:
    """Refuse what would only fail after the documents were added."""
    if folder.kind != "document" or len(folder.questions) < 2:
        raise DocumentError(
            f"Expected at least 2 questions with evidence_doc_ids in {folder.name}, got {len(folder.questions)} "
            f"by {folder.kind}."
        )
    return folder


# ── one folder ───────────────────────────────────────────────────────────────────────────────────────────


def measure(
    folder: Folder, store: str | Path, options: argparse.Namespace, *, is_first: bool = True, **given: Any
) -> Report:
    """Add the folder to a namespace of its name, and read each question by each strategy.

    Raises:
        DocumentError: the namespace holds other documents than the folder's.
        MemgraphRagError: the library failed.
    """
    opened = Memory(store, namespace=folder.name, layers=tuple(options.layers), **given)
    with Bars() as bars, opened as memory:
        if is_first:
            print(f"{header(memory)}, model {memory.language_model.name}")
            print(f"bootstrap over questions: {RESAMPLES:,} resamples, seed {SEED}\n")
        add(memory, folder, bars)
        model = memory.language_model
        if options.numbers is not None:
            model = Numbers(options.numbers, model, getattr(model, "calibration", None))
        strategies = {name: find_strategy(name) for name in options.strategies}
        readings = {name: Reading() for name in (SEARCH, *strategies)}
        for done, question in enumerate(folder.questions, 1):
            _search(memory, question, readings[SEARCH])
            for name, strategy in strategies.items():
                _read(memory, model, strategy, question, options.nodes, readings[name])
            bars(f"reading {folder.name}", done, len(folder.questions))
        return Report(folder.name, readings)


def add(memory: Memory, folder: Folder, bars: Bars) -> None:
    """Add a folder's documents to a memory that holds no others.

    Raises:
        DocumentError: it holds others.
    """
    for done, _ in enumerate(added(memory, folder.documents), 1):
        bars(f"adding {folder.name}", done, len(folder.documents))
    if len(memory.documents()) > len(folder.documents):
        raise DocumentError(
            f"Expected the {len(folder.documents)} documents of {folder.name} in the namespace of that name, got "
            f"{len(memory.documents())}. Name another --store."
        )


def _search(memory: Memory, question: Question, reading: Reading) -> None:
    started = time.perf_counter()
    results = memory.search(question.text, k=4 * max(CUTOFFS), documents=question.documents)
    _count(reading, question, [evidence.document_key for evidence in results])
    reading.seconds.append(time.perf_counter() - started)
    reading.nodes.append(0)
    reading.tokens.append(0)
    reading.written.append(0)
    reading.answerable.append(False)


def read_question(
    memory: Memory, model: Any, strategy: Strategy, text: str, documents: Sequence[str] | None, nodes: int
) -> tuple[list[Step], list[Segment], Usage]:
    """The trace of one question, as ``Memory.ask`` drives it, without the answer; its segments by weight; what it cost.

    ``documents`` are ids; None is all.
    """
    trace: list[Step] = []
    with model.open_session(text) as session:
        passes = strategy.read(
            text,
            ReadingContext(
                graph=memory._parts.store,
                search=SearchWithin(memory._parts.search, Extent()),
                session=session,
                embedder=memory.embedder,
                limits=Limits(nodes=nodes),
                documents=documents,
            ),
        )
        for steps in passes:
            trace += steps
            if steps[-1].stop is not None or len(trace) >= nodes:
                break
        segments = segments_under(trace, memory._parts.store)
        return trace, [segment for segment, _ in segments], session.usage


def _read(memory: Memory, model: Any, strategy: Strategy, question: Question, nodes: int, reading: Reading) -> None:
    started = time.perf_counter()
    documents = memory._parts.document_ids(question.documents)
    trace, segments, usage = read_question(memory, model, strategy, question.text, documents, nodes)
    keys = {record.id: record.key for record in memory.documents()}
    _count(reading, question, [keys[segment.document_id] for segment in segments])
    reading.nodes.append(len(trace))
    reading.tokens.append(usage.prompt_tokens)
    reading.written.append(usage.generated_tokens)
    reading.seconds.append(usage.seconds if isinstance(model, Numbers) else time.perf_counter() - started)
    reading.answerable.append(bool(trace) and trace[-1].stop is StopReason.ANSWERABLE)


def _count(reading: Reading, question: Question, keys: Sequence[str]) -> None:
    ranked = distinct(keys)
    for k in CUTOFFS:
        reading.recall[k].append(recall(question.units, ranked, k))


# ── what is told ─────────────────────────────────────────────────────────────────────────────────────────


def _differences(report: Report, name: str, k: int) -> list[float]:
    """A strategy's recall less that of search, question by question."""
    pairs = zip(report.by_strategy[name].recall[k], report.by_strategy[SEARCH].recall[k], strict=True)
    return [share - other for share, other in pairs]


def _interval(shares: Sequence[float]) -> dict[str, float]:
    return {name: round(value, 2) for name, value in interval(100 * np.array(shares))._asdict().items()}


def _write(path: Path, reports: Sequence[Report]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [row for report in reports for row in report.rows()]
    path.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


def _print_tables(reports: Sequence[Report]) -> None:
    metrics = [f"recall@{k}" for k in CUTOFFS]
    rows = []
    for report in reports:
        for name, reading in report.by_strategy.items():
            shown = [f"{interval(100 * np.array(reading.recall[k])):.1f}" for k in CUTOFFS]
            less = "" if name == SEARCH else f"{interval(100 * np.array(_differences(report, name, 5))):+.1f}"
            means = [np.mean(of) for of in (reading.nodes, reading.tokens, reading.written, reading.seconds)]
            stopped = f"{100 * np.mean(reading.answerable):.0f} %"
            rows.append(
                [f"{report.dataset} ({len(reading.nodes)})", name, *shown, less]
                + [f"{mean:.{digits}f}" for mean, digits in zip(means, (1, 0, 0, 1), strict=True)]
                + [stopped]
            )
    columns = ["set (questions)", "strategy", *metrics, "recall@5 less search"]
    columns += ["nodes", "tokens read", "written", "s", "stopped by Yes"]
    for row in (columns, ["---"] * len(columns), *rows):
        print(f"| {' | '.join(row)} |")


if __name__ == "__main__":
    sys.exit(main())
