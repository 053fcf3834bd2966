"""Is a memory that answers a question told from one that does not?

    python benchmarks/abstention.py DIR… [--strategy walk | --without-model] [--limit N] [--nodes N]
                                         [--store PATH_OR_URL] [--numbers FILE]

Each question of a folder, as for ``walks.py``, is read twice: with all documents, and without those that hold its
evidence. Measured is what ``ask`` abstains by: how near the first nodes come to the question, with its names
(``Quotes.bearing``), and the largest P(Yes) of each reading; also the last. How often is that with the evidence above
that without (AUC, with the bootstrap interval of 95 % over questions), and how often would ``ask`` abstain in either
case? An AUC counts a question only where all of its evidence was read: with part of it No is right. Without the model
the five nodes are read that search finds first, which is how a walk begins.

Data: benchmarks/data has a sample of each set, 20 questions, to see that it runs; its README.md names the full sets.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from machine import header
from numbers_of_models import Numbers
from take_sample import DATA_HELP
from walks import add, read_question

from memgraph_rag import Memory
from memgraph_rag.answering.answer import ENOUGH_TO_TELL
from memgraph_rag.cli.progress import Bars
from memgraph_rag.contracts import Strategy
from memgraph_rag.errors import DocumentError, MemgraphRagError
from memgraph_rag.evaluation.dataset import read_folder
from memgraph_rag.evaluation.metrics import auc
from memgraph_rag.strategies import find_strategy, known_strategies
from memgraph_rag.types import Extent, Step, StopReason

STRATEGIES = tuple(known_strategies())


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
    parser.add_argument("directories", type=Path, nargs="+", metavar="DIR", help=DATA_HELP)
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--strategy", choices=list(STRATEGIES), default="walk")
    how.add_argument("--without-model", action="store_true", help="only what search finds first, no P(Yes)")
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
    own = {"model": None} if options.without_model else {}
    with Bars() as bars, Memory(store, namespace=folder.name, layers=("entities",), **{**given, **own}) as memory:
        model: Any = None if options.without_model else memory.language_model
        if is_first:
            print(f"{header(memory)}, model {model.name if model else None}\n")
            columns = ["set (all evidence read, of)", "AUC, bearing", "largest P(Yes)", "last"]
            columns += ["abstains with evidence, %", "without"]
            print(f"| {' | '.join(columns)} |\n|{' --- |' * len(columns)}")
        add(memory, folder, bars)
        bound = model.calibration.unsupported_below if model and model.calibration else 0.0
        if model and options.numbers is not None:
            model = Numbers(options.numbers, model, model.calibration)
        reader = _Reader(memory, model, find_strategy(options.strategy), options.nodes)
        ids = {record.key: record.id for record in memory.documents()}
        pairs = []
        for done, question in enumerate(folder.questions, 1):
            keys = question.documents or tuple(ids)
            everything = reader.read(question.text, [ids[key] for key in keys])
            others = reader.read(question.text, [ids[key] for key in keys if key not in question.units])
            pairs.append((everything, others, {ids[key] for key in question.units} <= everything.documents))
            bars(f"reading {folder.name}", done, len(folder.questions))
    whole = [(with_it, without) for with_it, without, all_is_read in pairs if all_is_read]
    if len(whole) < 2:
        raise DocumentError(
            f"Expected at least 2 questions whose evidence is all read, got {len(whole)}. Raise --nodes."
        )
    values = [_auc(whole, attribute) for attribute in ("bearing", "largest", "last")]
    abstains = [100 * np.mean([pair[side].is_refused(bound) for pair in pairs]) for side in (0, 1)]
    shown = [*values, *(f"{share:.0f}" for share in abstains)]
    print(f"| {folder.name} ({len(whole)} of {len(pairs)}) | {' | '.join(shown)} |")


@dataclass(frozen=True, slots=True)
class _Read:
    """What one reading told; NaN for P(Yes) where no model was asked."""

    documents: set[str]
    bearing: float
    largest: float
    last: float
    said_yes: bool

    def is_refused(self, bound: float) -> bool:
        """Whether ``ask`` would abstain, by what was found or by the model's Yes."""
        return self.bearing < 0 or (self.largest < bound and not self.said_yes)


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads questions by a strategy, or, without a model, what search finds first."""

    memory: Memory
    model: Any
    strategy: Strategy
    nodes: int

    def read(self, question: str, documents: Sequence[str]) -> _Read:
        """One reading of these documents (ids)."""
        if self.model is None:
            results = self.memory._parts.search.find(question, k=ENOUGH_TO_TELL, extent=Extent(documents))
            trace = [Step(evidence.segment, 0.0, 0.0) for evidence in results]
        else:
            trace, _, _ = read_question(self.memory, self.model, self.strategy, question, documents, self.nodes)
        bearing = self.memory._parts.reading.bearing(question, trace[:ENOUGH_TO_TELL])
        probabilities = [step.p_yes for step in trace if step.p_yes is not None] or [float("nan")]
        said_yes = bool(trace) and trace[-1].stop is StopReason.ANSWERABLE
        return _Read(
            {step.node.document_id for step in trace}, bearing, max(probabilities), probabilities[-1], said_yes
        )


def _auc(pairs: Sequence[tuple[_Read, _Read]], attribute: str) -> str:
    values = np.array([[getattr(reading, attribute) for reading in pair] for pair in pairs])
    if np.isnan(values).any():
        return ""
    return f"{auc(*values.T):.3f}"


if __name__ == "__main__":
    sys.exit(main())
