"""Do runs of neighbouring segments cover more of the evidence than the same tokens of single ones?

    python benchmarks/segment_runs.py DIR… [--store FILE] [--limit N] [--layers LAYER …]

Each DIR holds ``docs.jsonl`` and ``questions.jsonl`` whose evidence is spans. Its documents are added without a
language model, then each question is searched in mode "graph", the default, and in mode "segments" with each preset.
Measured is the share of the evidence's characters that is covered by the first 300, 600, 1,000 and 2,000 tokens. Where
runs end before that, the other segments follow in the order of the graph search, so that all read as much. "Whole"
compares what a preset returns with as many tokens of the graph search, over the questions to which it returns some.

Printed: a table in Markdown; each difference to the graph search is paired by question, with a bootstrap interval of
95 %.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from machine import header
from take_sample import DATA_HELP

from memgraph_rag import Evidence, Memory
from memgraph_rag.cli.progress import Bars
from memgraph_rag.errors import DocumentError, MemgraphRagError
from memgraph_rag.evaluation.dataset import Folder, Question, read_folder
from memgraph_rag.evaluation.metrics import coverage, interval, within_budget
from memgraph_rag.evaluation.retrieval import Piece
from memgraph_rag.evaluation.runs import added
from memgraph_rag.systems.sprag import RUN_PRESETS, Runs

BUDGETS = (300, 600, 1_000, 2_000)
RANKED = 200


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one search of one question gives.

    Attributes:
        shares: (budgets,) of the evidence, in percent.
        tokens: of what it returns.
        whole: the share that all of that covers, and the share that as much of the graph search does.
    """

    shares: list[float]
    tokens: int
    whole: tuple[float, float]


def main(arguments: Sequence[str] | None = None, **given: Any) -> int:
    """Run the benchmark; 0 where it came to its end, 1 where it failed. ``given``: of ``Memory``, for tests."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("directories", type=Path, nargs="+", metavar="DIR", help=DATA_HELP)
    parser.add_argument("--store", help="a file that is kept; by default a temporary one")
    parser.add_argument("--limit", type=int, help="most questions of each folder, at even distances")
    parser.add_argument("--layers", nargs="+", default=["entities"], help="what is built beyond segments")
    options = parser.parse_args(arguments)
    try:
        with tempfile.TemporaryDirectory() if options.store is None else nullcontext() as temporary:
            store = options.store or Path(str(temporary)) / "runs.lbug"
            for number, path in enumerate(options.directories):
                folder = read_folder(path).with_evidence().limited(options.limit)
                if folder.kind != "span":
                    raise DocumentError(f"Expected spans as evidence in {folder.name}, got {folder.kind}s.")
                with Memory(store, namespace=folder.name, layers=options.layers, **given) as memory:
                    if not number:
                        print(f"{header(memory)}\n")
                        _print_row(["set (questions)", "search", *map(str, BUDGETS), "tokens", "none", "whole"])
                        _print_row(["---"] * 9)
                    measure(memory, folder)
    except MemgraphRagError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    return 0


def measure(memory: Memory, folder: Folder) -> None:
    """Add a folder's documents, search its questions, and print a row for each way of searching."""
    asked = {key for question in folder.questions for key in question.documents or ()}
    documents = [document for document in folder.documents if not asked or document.key in asked]
    with Bars() as bars:
        for done, _ in enumerate(added(memory, documents), 1):
            bars(f"adding {folder.name}", done, len(documents))
        outcomes: dict[str, list[Outcome]] = {name: [] for name in ("graph", *RUN_PRESETS)}
        for done, question in enumerate(folder.questions, 1):
            for name, outcome in _searched(memory, question).items():
                outcomes[name].append(outcome)
            bars(f"searching {folder.name}", done, len(folder.questions))
    graph = np.array([outcome.shares for outcome in outcomes["graph"]])
    means = [f"{mean:.1f}" for mean in graph.mean(axis=0)]
    _print_row([f"{folder.name} ({len(graph)})", "graph", *means, "", "", ""])
    for name in RUN_PRESETS:
        _print_row(["", f"segments, {name}", *_compared(outcomes[name], graph)])


def _searched(memory: Memory, question: Question) -> dict[str, Outcome]:
    ranked = memory.search(question.text, k=RANKED, documents=question.documents)
    outcomes = {"graph": _outcome(question, [], ranked)}
    for preset in RUN_PRESETS:
        runs = memory.search(question.text, k=RANKED, mode=Runs(preset), documents=question.documents)
        outcomes[preset] = _outcome(question, runs, ranked)
    return outcomes


def _outcome(question: Question, runs: Sequence[Evidence], ranked: Sequence[Evidence]) -> Outcome:
    in_runs = {segment.id for run in runs for segment in run.segments}
    own = [*_pieces(runs)]
    single = [*_pieces(ranked)]
    rest = _pieces(item for item in ranked if item.segment.id not in in_runs)
    filled = [*own, *rest]
    tokens = sum(count for _, count in own)
    shares = [100 * coverage(question.spans, within_budget(filled, budget)) for budget in BUDGETS]
    whole = [100 * coverage(question.spans, within_budget(pieces, tokens)) for pieces in (own, single)]
    return Outcome(shares, tokens, (whole[0], whole[1]))


def _pieces(evidence: Iterable[Evidence]) -> Iterable[Piece]:
    for item in evidence:
        for segment in item.segments:
            yield (item.document_key, segment.start, segment.end), segment.tokens


def _compared(outcomes: Sequence[Outcome], graph: np.ndarray) -> list[str]:
    differences = np.array([outcome.shares for outcome in outcomes]) - graph
    cells = [f"{interval(column):+.1f}" for column in differences.T]
    returned = [outcome for outcome in outcomes if outcome.tokens]
    tokens = f"{np.mean([outcome.tokens for outcome in returned]):,.0f}" if returned else "–"
    wholes = [outcome.whole[0] - outcome.whole[1] for outcome in returned]
    whole = (
        f"{np.mean([outcome.whole[0] for outcome in returned]):.1f}, {interval(wholes):+.1f}"
        if len(wholes) > 1
        else "–"
    )
    return [*cells, tokens, str(len(outcomes) - len(returned)), whole]


def _print_row(cells: Sequence[str]) -> None:
    print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    sys.exit(main())
