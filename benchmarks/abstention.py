"""Does the model's Yes tell a memory that answers a question from one that does not?

    python benchmarks/abstention.py DIR… [--strategy walk] [--limit N] [--nodes N] [--store PATH_OR_URL]
                                         [--numbers FILE]

Each question of a folder, as for ``walks.py``, is read twice: with all documents, and without those that hold its
evidence. Measured is the largest P(Yes) of each reading, by which ``ask`` abstains, and the last: how often that with
the evidence is above that without (AUC, with the bootstrap interval of 95 % over questions); and how often ``ask``
would abstain in either case. A question counts only where all of its evidence was read: with part of it the model is
right to say No.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
from machine import header
from numbers_of_models import Numbers
from walks import add, read_question

from memgraph_rag import Memory
from memgraph_rag.cli.progress import Bars
from memgraph_rag.contracts import Strategy
from memgraph_rag.errors import DocumentError, MemgraphRagError
from memgraph_rag.evaluation.folders import Question, read_folder
from memgraph_rag.evaluation.metrics import auc
from memgraph_rag.strategies import STRATEGIES, find_strategy
from memgraph_rag.types import Step, StopReason


def main(arguments: Sequence[str] | None = None, **given: Any) -> int:
    """Run the benchmark; 0 where it came to its end. ``given`` are further arguments of ``Memory``, for tests."""
    options = _options(arguments)
    try:
        with tempfile.TemporaryDirectory() if options.store is None else nullcontext() as temporary:
            store = options.store or Path(temporary) / "abstention.lbug"
            for place, path in enumerate(options.directories):
                _measure(path, store, options, is_first=not place, **given)
    except MemgraphRagError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    return 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directories", type=Path, nargs="+", metavar="DIR")
    parser.add_argument("--strategy", choices=list(STRATEGIES), default="walk")
    parser.add_argument("--limit", type=int, default=20, help="most questions of each folder, at even distances")
    parser.add_argument("--nodes", type=int, default=10, help="most nodes that are read for a question")
    parser.add_argument("--store", help="a file or a Neo4j address that is kept; by default a temporary file")
    parser.add_argument("--numbers", type=Path, help="where the model's numbers are kept")
    return parser.parse_args(arguments)


def _measure(path: Path, store: str | Path, options: argparse.Namespace, *, is_first: bool, **given: Any) -> None:
    folder = read_folder(path).with_evidence().limited(options.limit)
    if folder.kind != "document":
        raise DocumentError(
            f"Expected questions with evidence_doc_ids in {folder.name}, got evidence by {folder.kind}."
        )
    strategy = find_strategy(options.strategy)
    with Bars() as bars, Memory(store, namespace=folder.name, layers=("entities",), **given) as memory:
        if is_first:
            print(f"{header(memory)}, model {memory.language_model.name}\n")
            print("| set (answerable of) | AUC, largest | AUC, last | abstains with evidence | without |")
            print("| --- | --- | --- | --- | --- |")
        add(memory, folder, bars)
        model: Any = memory.language_model
        bound = model.calibration.unsupported_below if model.calibration else 0.0
        if options.numbers is not None:
            model = Numbers(options.numbers, model, model.calibration)
        ids = {record.key: record.id for record in memory.documents()}
        readings = []
        for done, question in enumerate(folder.questions, 1):
            readings.append(_twice(memory, model, strategy, question, ids, options.nodes))
            bars(f"reading {folder.name}", done, len(folder.questions))
    pairs = [(with_it, without) for with_it, without, is_answerable in readings if is_answerable]
    if len(pairs) < 2:
        raise DocumentError(
            f"Expected at least 2 questions whose evidence is all read, got {len(pairs)}. Raise --nodes."
        )
    print(f"| {folder.name} ({len(pairs)} of {len(readings)}) | {' | '.join(_told(pairs, bound))} |")


def _twice(
    memory: Memory, model: Any, strategy: Strategy, question: Question, ids: dict[str, str], nodes: int
) -> tuple[list[Step], list[Step], bool]:
    """The traces with and without the evidence, and whether all of it was read."""
    keys = question.documents or tuple(ids)
    everything, _, _ = read_question(memory, model, strategy, question.text, [ids[key] for key in keys], nodes)
    others = [ids[key] for key in keys if key not in question.units]
    without, _, _ = read_question(memory, model, strategy, question.text, others, nodes)
    read = {step.node.document_id for step in everything}
    return everything, without, {ids[key] for key in question.units} <= read


def _told(pairs: Sequence[tuple[list[Step], list[Step]]], bound: float) -> list[str]:
    """AUC of the largest and of the last P(Yes), and the shares of abstentions."""
    told = [[[step.p_yes for step in trace if step.p_yes is not None] for trace in pair] for pair in pairs]
    largest = np.array([[max(values) for values in pair] for pair in told])
    last = np.array([[values[-1] for values in pair] for pair in told])
    is_yes = np.array([[trace[-1].stop is StopReason.ANSWERABLE for trace in pair] for pair in pairs])
    abstains = 100 * ((largest < bound) & ~is_yes).mean(axis=0)
    shown = [f"{one.value:.3f} [{one.low:.3f}, {one.high:.3f}]" for one in (auc(*largest.T), auc(*last.T))]
    return [*shown, *(f"{share:.0f} %" for share in abstains)]


if __name__ == "__main__":
    sys.exit(main())
