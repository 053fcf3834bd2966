"""Fit the weights by which a graph search orders its candidates, on questions whose evidence is known.

    python benchmarks/fit_ranking.py DIR… [--store PATH_OR_URL] [--strength 10]

Each DIR holds ``docs.jsonl`` and ``questions.jsonl`` with ``evidence_doc_ids``. Fit on sets of which nothing is told.
Printed: recall of held-out questions (folds of one tenth, and each set with weights fitted on the others alone) beside
that of the order in which the walks are fused, and the weights as they stand in ``memgraph_rag/search/ranking.py``.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize

from memgraph_rag import Failure, Memory
from memgraph_rag.cli.progress import Bars
from memgraph_rag.errors import MemgraphRagError
from memgraph_rag.evaluation.folders import read_folder
from memgraph_rag.evaluation.metrics import SEED, distinct, interval, recall
from memgraph_rag.search import graph
from memgraph_rag.search.ranking import FEATURES

FOLDS = 10
CUTOFFS = (2, 5)


@dataclass(frozen=True, slots=True)
class Asked:
    """One question: (c, f) figures of its candidates in fused order, the documents in which they stand, the gold."""

    dataset: str
    figures: np.ndarray
    documents: Sequence[str]
    gold: frozenset[str]

    def recalls(self, weights: np.ndarray | None) -> list[float]:
        """Recall at each cut-off, in percent; without weights that of the fused order."""
        order = range(len(self.documents)) if weights is None else np.argsort(-self.figures @ weights, kind="stable")
        ranked = distinct(self.documents[place] for place in order)
        return [100 * recall(self.gold, ranked, k) for k in CUTOFFS]


def main(arguments: Sequence[str] | None = None, **given: Any) -> int:
    """Run; 0 where it came to its end. ``given`` are further arguments of ``Memory``, for tests."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directories", type=Path, nargs="+", metavar="DIR")
    parser.add_argument("--store", help="a file or a Neo4j address that is kept; by default a temporary file")
    parser.add_argument("--strength", type=float, default=10.0, help="of the pull towards weights of 0")
    options = parser.parse_args(arguments)
    try:
        with tempfile.TemporaryDirectory() if options.store is None else nullcontext() as temporary:
            store = options.store or Path(temporary) / "fit.lbug"
            asked = [one for path in options.directories for one in collect(path, store, **given)]
    except MemgraphRagError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    tell(asked, options.strength)
    return 0


def collect(directory: Path, store: str | Path, **given: Any) -> list[Asked]:
    """The candidates of every question of a folder."""
    folder = read_folder(directory).with_evidence()
    asked = []
    with Bars() as bars, Memory(store, namespace=folder.name, layers=("entities",), progress=bars, **given) as memory:
        for outcome in memory.add_many(folder.documents):
            if isinstance(outcome, Failure):
                raise outcome.error
        key_of = {record.id: record.key for record in memory.documents()}
        for question in folder.questions:
            with recorded() as told:
                memory.search(question.text, k=1)
            if not told:
                continue
            figures, ids = told[0]
            documents = [key_of[segment.document_id] for segment in map(memory.get, ids) if segment is not None]
            asked.append(Asked(folder.name, figures, documents, question.units))
    return asked


@contextmanager
def recorded() -> Iterator[list[tuple[np.ndarray, list[str]]]]:
    """What a search computes of its candidates, with their ids, while this lasts."""
    told: list[tuple[np.ndarray, list[str]]] = []
    compute = graph.features

    def record(view: Any, words: Any, titles: Any, start: Any, candidates: Any) -> np.ndarray:
        figures = compute(view, words, titles, start, candidates)
        told.append((figures, [str(view.ids[place]) for place in candidates]))
        return figures

    graph.features = record
    try:
        yield told
    finally:
        graph.features = compute


def fit(asked: Sequence[Asked], strength: float) -> np.ndarray:
    """(f,) weights: conditional logistic regression over each question's candidates, with a quadratic penalty.

    The penalty is on weights per standard deviation of a figure, of ``strength`` questions' worth.
    """
    usable = [one for one in asked if one.gold.intersection(one.documents)]
    deviation = np.maximum(np.concatenate([one.figures for one in usable]).std(axis=0), 1e-9)
    most = max(len(one.documents) for one in usable)
    figures = np.zeros((len(usable), most, len(deviation)))
    wanted, masked = np.zeros((len(usable), most)), np.full((len(usable), most), -np.inf)
    for row, one in enumerate(usable):
        count = len(one.documents)
        figures[row, :count] = one.figures / deviation
        gold = np.array([document in one.gold for document in one.documents], float)
        wanted[row, :count], masked[row, :count] = gold / gold.sum(), 0.0

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        scores = figures @ weights + masked
        scores -= scores.max(axis=1, keepdims=True)
        logs = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
        value = -(wanted * np.where(wanted > 0, logs, 0.0)).sum() + strength * weights @ weights / 2
        slope = np.einsum("qcf,qc->f", figures, np.exp(logs) - wanted) + strength * weights
        return float(value) / len(usable), slope / len(usable)

    return minimize(loss, np.zeros(len(deviation)), jac=True, method="L-BFGS-B").x / deviation


def tell(asked: Sequence[Asked], strength: float) -> None:
    """Print the rows and the weights."""
    sets = [one.dataset for one in asked]
    order = np.random.default_rng(SEED).permutation(len(asked))
    fold = np.empty(len(asked), int)
    fold[order] = np.arange(len(asked)) % FOLDS
    rows = {
        "fused": np.array([one.recalls(None) for one in asked]),
        "held-out folds": _held_out(asked, fold, strength),
        "the other sets": _held_out(asked, np.unique(sets, return_inverse=True)[1], strength),
    }
    print("| set | weights from | R@2 | R@5 | R@5 more than fused |\n| --- | --- | --- | --- | --- |")
    for dataset in [*dict.fromkeys(sets), "all"]:
        chosen = np.array([dataset in (one, "all") for one in sets])
        for name, recalls in rows.items():
            gain = interval((recalls - rows["fused"])[chosen, 1])
            shown = f"{gain.value:+.1f} [{gain.low:+.1f}, {gain.high:+.1f}]"
            means = recalls[chosen].mean(axis=0)
            print(f"| {dataset} ({chosen.sum()}) | {name} | {means[0]:.1f} | {means[1]:.1f} | {shown} |")
    print()
    for name, weight in zip(FEATURES, fit(asked, strength), strict=True):
        print(f"{name}: {weight:.4g}")


def _held_out(asked: Sequence[Asked], group: np.ndarray, strength: float) -> np.ndarray:
    """(n, 2) recalls of each question, by weights from the other groups; all groups' where there is but one."""
    recalls = np.zeros((len(asked), len(CUTOFFS)))
    for one in np.unique(group):
        others = [question for question, its in zip(asked, group, strict=True) if its != one] or list(asked)
        weights = fit(others, strength)
        for place in np.flatnonzero(group == one):
            recalls[place] = asked[place].recalls(weights)
    return recalls


if __name__ == "__main__":
    sys.exit(main())
