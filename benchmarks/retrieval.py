"""How much of the evidence does a search find, and how fast?

    python benchmarks/retrieval.py DIR… [--modes graph hybrid keywords vector] [--store PATH_OR_URL] [--limit N]
                                        [--json FILE] [--k N N] [--openie FILE] [--embedder NAME]

Each DIR holds ``docs.jsonl`` and ``questions.jsonl``, perhaps ``turns.jsonl``. Its documents are added with the
entities layer, without a language model; then each question is searched in each mode. Measured is, over the questions
that have evidence:

- conversations (``turns.jsonl``): turn recall@5 and @10, each question within its ``doc_ids``; also by the questions'
  ``type``, and of chats with a machine by whose turns hold the evidence;
- else ``evidence_doc_ids``: recall@2 (@1 where each question has one), recall@5 and all@5 over documents, each at the
  rank of its first segment;
- else ``evidence_spans``: the share of their characters within the first 2,000 tokens of what was found.

Printed: each figure with its bootstrap interval of 95 %, the paired differences of graph, the default, to the other
modes, and what adding and searching cost; the tables are Markdown. Where on some set graph is significantly below
another mode, a line says so, and the exit status is 2. With --store the documents stay there, in a namespace for each
folder, and a second run adds nothing; a Neo4j's password comes from NEO4J_PASSWORD or MEMGRAPH_RAG_NEO4J_PASSWORD.
With --openie the triples of that file are added as the layer triples, which the modes hipporag and hipporag2 then walk.

Data: benchmarks/data has a sample of each set, 20 questions, to see that it runs; its README.md names the full sets.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from machine import header, peak_memory
from samples import folder_parser, keep_with_evidence, kept_or_temporary
from sides import evidence_sides

from memgraph_rag import Memory
from memgraph_rag.cli.progress import Bars
from memgraph_rag.contracts import MODES, Layer
from memgraph_rag.errors import DocumentError, MemgraphRagError
from memgraph_rag.evaluation.dataset import Folder, read_folder
from memgraph_rag.evaluation.metrics import RESAMPLES, SEED, interval
from memgraph_rag.evaluation.retrieval import CUTOFFS, evidence_shares, find_pieces
from memgraph_rag.evaluation.runs import take_receipts
from memgraph_rag.search.modes import list_known_modes
from memgraph_rag.systems.hipporag import TriplesLayer
from memgraph_rag.types import Action

COSTS = (
    *("set", "segments", "added a second: segments · 100 words", "seconds in all · names and embedding, at once"),
    *("first graph search, s", "index, MiB", "peak so far, MiB"),
)


@dataclass(frozen=True, slots=True)
class Adding:
    """What a run added of a folder, in how many seconds; ``held`` are the segments that are then there."""

    held: int
    segments: int
    words: int
    seconds: float
    by_phase: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Searching:
    """The searches of one folder in one mode.

    Attributes:
        first_s: seconds of the first search, which reads what the later ones hold in memory.
        seconds: (n,) of the later ones, one for each question.
        shares: by metric, (n,) for the same questions.
    """

    first_s: float
    seconds: np.ndarray
    shares: Mapping[str, np.ndarray]

    def only(self, chosen: np.ndarray) -> Searching:
        """Of the questions that are chosen, (n,) of bool."""
        shares = {metric: values[chosen] for metric, values in self.shares.items()}
        return replace(self, seconds=self.seconds[chosen], shares=shares)


@dataclass(frozen=True, slots=True)
class Report:
    """All that was measured of one folder; ``partitions`` are labels of its questions, empty where one has none."""

    dataset: str
    adding: Adding
    by_mode: Mapping[str, Searching]
    index_bytes: int
    peak_bytes: int
    partitions: Sequence[Sequence[str]]

    def parts(self) -> Iterator[list[Report]]:
        """For each partition the same of the questions of each label; of two or more, for an interval."""
        for labels in self.partitions:
            counts = Counter(label for label in labels if label)
            yield [self._part(labels, label) for label, count in sorted(counts.items()) if count > 1]

    def _part(self, labels: Sequence[str], label: str) -> Report:
        chosen = np.array([own == label for own in labels])
        by_mode = {mode: searching.only(chosen) for mode, searching in self.by_mode.items()}
        return replace(self, dataset=f"{self.dataset}, {label}", by_mode=by_mode)

    def rows(self) -> list[dict[str, Any]]:
        """One row for each mode and metric, as they are written as JSON; shares in percent."""
        return [
            {"dataset": self.dataset, "mode": mode, "metric": metric, **interval(100 * shares)._asdict()}
            | {"n": len(shares), **dict(zip(("ms_p50", "ms_p99"), _milliseconds(searching), strict=True))}
            for mode, searching in self.by_mode.items()
            for metric, shares in searching.shares.items()
        ]

    def differences(self, mode: str, metric: str) -> np.ndarray:
        """(n,) the share that graph finds less that of another mode, for each question, in percent."""
        return 100 * (self.by_mode["graph"].shares[metric] - self.by_mode[mode].shares[metric])

    def beaten(self) -> list[str]:
        """A line for each mode and metric in which graph is below, with its whole interval of 95 %."""
        modes = self.by_mode.keys() - {"graph"} if "graph" in self.by_mode else ()
        compared = {
            (mode, metric): interval(self.differences(mode, metric))
            for mode in sorted(modes)
            for metric in self.by_mode[mode].shares
        }
        return [
            f"{self.dataset}: {metric} of graph is significantly below that of {mode}: {difference:+.1f}."
            for (mode, metric), difference in compared.items()
            if difference.high < 0
        ]


class Stopwatch:
    """A ``Progress`` of the library that draws nothing and adds up the seconds of each phase."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self._started: dict[str, float] = {}

    def __call__(self, what: str, done: int, total: int) -> None:
        """A phase lasts from its first word to the one that says that all is done."""
        now = time.perf_counter()
        self._started.setdefault(what, now)
        if done >= total:
            self.seconds[what] += now - self._started.pop(what)


def main(arguments: Sequence[str] | None = None, **given: Any) -> int:
    """Run the benchmark; 0 where it came to its end, 2 where the default mode is beaten, 1 where it failed.

    ``given`` are further arguments of ``Memory``, for tests.
    """
    options = _options(arguments)
    given = {"embedder": options.embedder, **given}
    try:
        folders = [
            keep_with_evidence(read_folder(path)).sample_questions(options.limit) for path in options.directories
        ]
        _check(folders)
        with kept_or_temporary(options.store) as store:
            reports: list[Report] = []
            for folder in folders:
                layers = ("entities", TriplesLayer(options.openie)) if options.openie else ("entities",)
                reports.append(
                    measure(folder, store, options.modes, options.k, is_first=not reports, layers=layers, **given)
                )
                if options.json:
                    _write(options.json, reports)  # after each, so that an interrupted run leaves what it had
    except MemgraphRagError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    _print_tables(reports)
    for parts in (parts for report in reports for parts in report.parts() if parts):
        _print_shares(parts)
    beaten = [line for report in reports for line in report.beaten()]
    print("\n".join(beaten or ["On no set is graph significantly below another mode."]))
    return 2 if beaten else 0


def _cutoffs(folder: Folder) -> tuple[int, int]:
    """Return the cut-offs of recall of a folder; the first is 1 where each question has one document of evidence."""
    is_single = folder.kind == "document" and all(len(question.units) == 1 for question in folder.questions)
    return (1, 5) if is_single else CUTOFFS[folder.kind]


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = folder_parser(__doc__)
    parser.add_argument("--modes", nargs="+", choices=list_known_modes(), default=list(MODES))
    parser.add_argument("--embedder", default="all-MiniLM-L6-v2", help="its name; that of the tables by default")
    parser.add_argument("--limit", type=_counted, help="most questions of each folder, at even distances")
    parser.add_argument("--json", type=Path, help="where to write the figures")
    parser.add_argument("--openie", help="triples of the passages (a file of HippoRAG's OpenIE), as the layer triples")
    parser.add_argument("--k", type=_counted, nargs=2, help="cut-offs of recall in place of 2 5 (turns: 5 10)")
    return parser.parse_args(arguments)


def _counted(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number of at least 1, got {text!r}")
    return int(text)


def _check(folders: Sequence[Folder]) -> None:
    """Refuse what would only fail after the documents were added."""
    for folder in folders:
        if len(folder.questions) < 2:
            raise DocumentError(f"Expected at least 2 questions with evidence in {folder.name}, for an interval.")
    names = [folder.name for folder in folders]
    if len(set(names)) < len(names):
        raise DocumentError(f"Expected folders of different names, as each is a namespace, got {', '.join(names)}.")


# ── one folder ───────────────────────────────────────────────────────────────────────────────────────────


def measure(
    folder: Folder,
    store: str | Path,
    modes: Sequence[str],
    cutoffs: Sequence[int] | None = None,
    *,
    is_first: bool = True,
    layers: Sequence[str | Layer] = ("entities",),
    **given: Any,
) -> Report:
    """Add the folder to a namespace of its name, and search each question in each mode.

    Raises:
        DocumentError: the namespace holds other documents than the folder's.
        MemgraphRagError: the library failed otherwise.
    """
    stopwatch = Stopwatch()
    opened = Memory(store, namespace=folder.name, layers=layers, progress=stopwatch, **given)
    with Bars() as bars, opened as memory:
        # The models load before anything is timed: their loading belongs to the process, not to adding or searching.
        _warm_up(memory)
        if is_first:
            print(f"{header(memory)}\nbootstrap over questions: {RESAMPLES:,} resamples, seed {SEED}\n")
        adding = _add(memory, folder, stopwatch, bars)
        by_mode = {mode: _search_all(memory, folder, mode, cutoffs or _cutoffs(folder), bars) for mode in modes}
        index_bytes = memory._parts.search.index.nbytes
        return Report(folder.name, adding, by_mode, index_bytes, peak_memory(), _partitions(folder))


def _partitions(folder: Folder) -> list[list[str]]:
    """Of conversations, by whose turns hold the evidence and by the questions' type; of others, none."""
    if folder.kind != "turn":
        return []
    sides = [f"evidence: {side}" if side else "" for side in evidence_sides(folder)]
    return [sides, [question.type for question in folder.questions]]


def _warm_up(memory: Memory) -> None:
    """Load all that adding and searching need, by some hundred documents that are forgotten again."""
    for receipt in take_receipts(memory.add_many(f"Warming up, by Mr. Number {number}." for number in range(256))):
        memory.forget(receipt.document_id)


def _add(memory: Memory, folder: Folder, stopwatch: Stopwatch, bars: Bars) -> Adding:
    total, segments, words = len(folder.documents), 0, 0
    started = time.perf_counter()
    receipts = zip(folder.documents, take_receipts(memory.add_many(folder.documents)), strict=True)
    for done, (document, receipt) in enumerate(receipts, 1):
        if receipt.action is not Action.UNCHANGED:
            segments += receipt.counts["Segment"]
            words += len(document.text.split())
        bars(f"adding {folder.name}", done, total)
    seconds = time.perf_counter() - started
    held = memory.documents()
    if len(held) > total:
        raise DocumentError(
            f"Expected the {total} documents of {folder.name} in the namespace of that name, got {len(held)}. "
            "Name another --store."
        )
    return Adding(sum(record.segments for record in held), segments, words, seconds, dict(stopwatch.seconds))


def _search_all(memory: Memory, folder: Folder, mode: str, cutoffs: Sequence[int], bars: Bars) -> Searching:
    first_s = find_pieces(memory, folder, folder.questions[0], mode, cutoffs)[1]
    seconds, shares = [], defaultdict(list)
    for done, question in enumerate(folder.questions, 1):
        pieces, taken = find_pieces(memory, folder, question, mode, cutoffs)
        seconds.append(taken)
        for metric, share in evidence_shares(folder, question, pieces, cutoffs).items():
            shares[metric].append(share)
        bars(f"searching {folder.name}, {mode}", done, len(folder.questions))
    return Searching(first_s, np.array(seconds), {metric: np.array(values) for metric, values in shares.items()})


# ── what is told ─────────────────────────────────────────────────────────────────────────────────────────


def _milliseconds(searching: Searching) -> tuple[float, float]:
    """The median and the 99th percentile of a search."""
    p50, p99 = np.percentile(1000 * searching.seconds, [50, 99])
    return round(float(p50), 2), round(float(p99), 2)


def _write(path: Path, reports: Iterable[Report]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [row for report in reports for part in ([report], *report.parts()) for each in part for row in each.rows()]
    path.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


def _print_tables(reports: Sequence[Report]) -> None:
    _print_shares(reports)
    _print_table(COSTS, map(_cost, reports))


def _print_shares(reports: Sequence[Report]) -> None:
    for metrics, group in _by_metrics(reports).items():
        _print_table(
            ["set (questions)", "mode", *metrics, "ms p50 · p99"],
            (
                [f"{report.dataset} ({len(searching.seconds)})", mode]
                + [f"{interval(100 * searching.shares[metric]):.1f}" for metric in metrics]
                + [" · ".join(f"{value:.0f}" for value in _milliseconds(searching))]
                for report in group
                for mode, searching in report.by_mode.items()
            ),
        )
        others = [mode for mode in group[0].by_mode if mode != "graph"]
        if "graph" in group[0].by_mode and others:
            _print_differences(group, metrics, others)


def _by_metrics(reports: Iterable[Report]) -> dict[tuple[str, ...], list[Report]]:
    """The reports that share a table."""
    groups: dict[tuple[str, ...], list[Report]] = defaultdict(list)
    for report in reports:
        groups[tuple(next(iter(report.by_mode.values())).shares)].append(report)
    return groups


def _print_differences(reports: Sequence[Report], metrics: Sequence[str], others: Sequence[str]) -> None:
    """Graph less each other mode, paired by question; also over all sets together, where there are several."""
    sets = [(report.dataset, [report]) for report in reports]
    sets += [("all questions", list(reports))] if len(reports) > 1 else []
    _print_table(
        ["graph less", "mode", *metrics],
        (
            [name, mode]
            + [
                f"{interval(np.concatenate([report.differences(mode, metric) for report in of])):+.1f}"
                for metric in metrics
            ]
            for name, of in sets
            for mode in others
        ),
    )


def _cost(report: Report) -> list[str]:
    adding = report.adding
    if adding.segments:
        names, embedding = (adding.by_phase.get(phase, 0.0) for phase in ("finding names", "embedding"))
        rate = f"{adding.segments / adding.seconds:.0f} · {adding.words / 100 / adding.seconds:.0f}"
        parts = f"{adding.seconds:.0f} · {names:.0f} and {embedding:.0f}"
    else:
        rate = parts = "was there"
    first = f"{report.by_mode['graph'].first_s:.2f}" if "graph" in report.by_mode else "–"
    sizes = [f"{size / 2**20:.0f}" for size in (report.index_bytes, report.peak_bytes)]
    return [report.dataset, str(adding.held), rate, parts, first, *sizes]


def _print_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    for row in (columns, ["---"] * len(columns), *rows):
        print(f"| {' | '.join(row)} |")
    print()


if __name__ == "__main__":
    sys.exit(main())
