"""Fit the weights by which a graph search orders its candidates, on questions whose evidence is known.

    python benchmarks/fit_ranking.py DIR… [--store PATH_OR_URL] [--strength 10]

Each DIR holds ``docs.jsonl`` and ``questions.jsonl`` with ``evidence_doc_ids``, or conversations with ``turns.jsonl``,
whose figures are others: do not mix the two. Fit on sets of which nothing is told. All sets count alike, however many
questions they have.
Printed: recall of held-out questions (folds of a tenth, and each set or conversation with weights fitted on the others
alone) beside that of the order before, and the weights as they stand in ``memgraph_rag/search/ranking.py``. For
conversations also recall by whose turns hold the evidence in chats with a machine, and how well it is told, by weights
from the others, that what is asked of one speaker was said by another, where ``ask`` abstains.

Data: benchmarks/data has a sample of each set, 20 questions, to see that it runs; its README.md names the full sets.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from samples import folder_parser, keep_with_evidence, kept_or_temporary
from scipy.optimize import minimize
from sides import evidence_sides

from memgraph_rag import Memory
from memgraph_rag.cli.progress import Bars
from memgraph_rag.errors import MemgraphRagError
from memgraph_rag.evaluation.dataset import read_folder
from memgraph_rag.evaluation.metrics import SEED, interval, ratio_interval, recall
from memgraph_rag.evaluation.runs import take_receipts
from memgraph_rag.search import graph
from memgraph_rag.search.ranking import (
    FEATURES,
    TURN_FEATURES,
    TURN_WEIGHTS,
    WHOEVER,
    features,
    score_positions,
    shares,
)
from memgraph_rag.search.segment_index import View
from memgraph_rag.search.speakers import find_only_speaker, find_other_speaker
from memgraph_rag.types import Segment

FOLDS = 10
MOST_TURNS = 400  # candidates of a question in a conversation; the rest holds 1 % of the evidence
CUTOFFS = {"document": (2, 5), "turn": (5, 10)}


@dataclass(frozen=True, slots=True)
class Asked:
    """One question: (c, f) figures of its candidates in the order before, what they count for, and what is gold.

    ``group`` is its set or its conversation. ``speakers`` say the candidates, of which each turn of a conversation has
    one: its best segment. ``side`` is whose turns hold the evidence (``sides.evidence_sides``).
    """

    dataset: str
    group: str
    figures: np.ndarray
    units: Sequence[str]
    gold: frozenset[str]
    cutoffs: tuple[int, int] = (2, 5)
    text: str = ""
    speakers: Sequence[str] = ()
    unanswerable: bool = False
    side: str = ""

    def recalls(self, weights: np.ndarray | None) -> list[float]:
        """Recall at each cut-off, in percent; without weights that of the order before."""
        before = score_positions(len(self.units)) if self.figures.shape[1] == len(FEATURES) else 0.0
        scores = -np.arange(len(self.units)) if weights is None else self.figures @ weights + before
        order = np.argsort(-scores, kind="stable")
        ranked = list(dict.fromkeys(self.units[place] for place in order))
        return [100 * recall(self.gold, ranked, k) for k in self.cutoffs]

    def is_refused(self, weights: np.ndarray) -> bool:
        """Whether another speaker than the one whom it names is told to have said what it asks."""
        wanted = find_only_speaker(self.text, self.speakers)
        likely = shares(self.figures @ (weights * WHOEVER))
        return wanted is not None and find_other_speaker(wanted, self.speakers, likely) is not None


def main(arguments: Sequence[str] | None = None, **given: Any) -> int:
    """Run; 0 where it came to its end. ``given`` are further arguments of ``Memory``, for tests."""
    parser = folder_parser(__doc__)
    parser.add_argument("--strength", type=float, default=10.0, help="of the pull towards weights of 0")
    options = parser.parse_args(arguments)
    try:
        with kept_or_temporary(options.store) as store:
            asked = [question for path in options.directories for question in collect(path, store, **given)]
    except MemgraphRagError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    tell(asked, options.strength)
    return 0


def collect(directory: Path, store: str | Path, **given: Any) -> list[Asked]:
    """The candidates of every question of a folder."""
    folder = keep_with_evidence(read_folder(directory))
    asked: list[Asked] = []
    segments: dict[str, Segment] = {}
    with Bars() as bars, Memory(store, namespace=folder.name, layers=("entities",), progress=bars, **given) as memory:
        for _ in take_receipts(memory.add_many(folder.documents)):
            pass
        key_of = {record.id: record.key for record in memory.documents()}
        for question, side in zip(folder.questions, evidence_sides(folder), strict=True):
            with recorded() as recordings:
                memory.search(question.text, k=1, documents=question.documents)
            if not recordings:
                continue
            figures, ids = recordings[0]
            for node_id in ids:
                if node_id not in segments and isinstance(node := memory.get(node_id), Segment):
                    segments[node_id] = node
            units = [
                folder.find_evidence_unit(key_of[segments[node_id].document_id], segments[node_id].start)
                for node_id in ids
            ]
            kept = _best_of_units(figures @ TURN_WEIGHTS, units) if folder.kind == "turn" else range(len(units))
            group = f"{folder.name} {question.documents or ''}"
            speakers = [segments[ids[place]].speaker for place in kept]
            figures, units = figures[list(kept)], [units[place] for place in kept]
            asked.append(
                Asked(
                    folder.name, group, figures, units, question.units, CUTOFFS[folder.kind], question.text, speakers,
                    question.unanswerable, side,
                )
            )  # fmt: skip
    return asked


def _best_of_units(scores: np.ndarray, units: Sequence[str]) -> list[int]:
    """The place of the best candidate of each unit, best first."""
    best: dict[str, int] = {}
    for place in np.argsort(-scores, kind="stable").tolist():
        best.setdefault(units[place], place)
    return list(best.values())[:MOST_TURNS]


@contextmanager
def recorded() -> Iterator[list[tuple[np.ndarray, list[str]]]]:
    """What a search computes of its candidates, with their ids, while this lasts."""
    recordings: list[tuple[np.ndarray, list[str]]] = []
    computed = {name: getattr(graph, name) for name in ("features", "turn_features")}

    def recording(compute: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
        def record(view: View, *given: Any, **named: Any) -> np.ndarray:
            figures = compute(view, *given, **named)
            candidates = given[-1] if compute is features else range(len(view.rows))
            recordings.append((figures, [*view.ids[[*candidates]]]))
            return figures

        return record

    for name, compute in computed.items():
        setattr(graph, name, recording(compute))
    try:
        yield recordings
    finally:
        for name, compute in computed.items():
            setattr(graph, name, compute)


def fit(asked: Sequence[Asked], strength: float) -> np.ndarray:
    """(f,) weights: conditional logistic regression over each question's candidates, with a quadratic penalty.

    The penalty is on weights per standard deviation of a figure, of ``strength`` questions' worth. A question counts
    by the size of the smallest set to that of its own.
    """
    usable = [question for question in asked if question.gold.intersection(question.units)]
    sizes = Counter(question.dataset for question in usable)
    counts = np.array([min(sizes.values()) / sizes[question.dataset] for question in usable])[:, None]
    deviation = np.maximum(np.concatenate([question.figures for question in usable]).std(axis=0), 1e-9)
    most = max(len(question.units) for question in usable)
    figures = np.zeros((len(usable), most, len(deviation)))
    wanted, masked = np.zeros((len(usable), most)), np.full((len(usable), most), -np.inf)
    for row, question in enumerate(usable):
        count = len(question.units)
        figures[row, :count] = question.figures / deviation
        gold = np.array([unit in question.gold for unit in question.units], float)
        wanted[row, :count], masked[row, :count] = gold / gold.sum(), 0.0

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        scores = figures @ weights + masked
        scores -= scores.max(axis=1, keepdims=True)
        logs = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
        value = -(counts * wanted * np.where(wanted > 0, logs, 0.0)).sum() + strength * weights @ weights / 2
        slope = np.einsum("qcf,qc->f", figures, counts * (np.exp(logs) - wanted)) + strength * weights
        return float(value) / len(usable), slope / len(usable)

    return minimize(loss, np.zeros(len(deviation)), jac=True, method="L-BFGS-B").x / deviation


def tell(asked: Sequence[Asked], strength: float) -> None:
    """Print the rows and the weights."""
    sets = [question.dataset for question in asked]
    order = np.random.default_rng(SEED).permutation(len(asked))
    fold = np.empty(len(asked), int)
    fold[order] = np.arange(len(asked)) % FOLDS
    rows = {
        "the order before": np.array([question.recalls(None) for question in asked]),
        "held-out folds": _held_out(asked, fold, strength),
        "the other sets": _held_out(asked, np.unique(sets, return_inverse=True)[1], strength),
    }
    is_talk = asked[0].figures.shape[1] == len(TURN_FEATURES)
    if is_talk:
        groups = np.unique([question.group for question in asked], return_inverse=True)[1]
        held_out_weights = _weights(asked, groups, strength)
        rows["the other conversations"] = _recalls(asked, held_out_weights)
    few, many = asked[0].cutoffs
    print(f"| set | weights from | R@{few} | R@{many} | R@{many} more than before |\n| --- | --- | --- | --- | --- |")
    for dataset in [*dict.fromkeys(sets), "all"]:
        chosen = np.array([dataset in (own_dataset, "all") for own_dataset in sets])
        for name, recalls in rows.items():
            gain = interval((recalls - rows["the order before"])[chosen, 1])
            means = recalls[chosen].mean(axis=0)
            print(f"| {dataset} ({chosen.sum()}) | {name} | {means[0]:.1f} | {means[1]:.1f} | {gain:+.1f} |")
    print()
    if is_talk:
        _tell_sides(asked, rows["the other conversations"])
        _tell_refused(asked, held_out_weights)
    names = TURN_FEATURES if is_talk else FEATURES
    for name, weight in zip(names, fit(asked, strength), strict=True):
        print(f"{name}: {weight:.4g}")


def _tell_sides(asked: Sequence[Asked], recalls: np.ndarray) -> None:
    """Recall by whose turns hold the evidence, of questions in chats with a machine."""
    by_side: dict[str, list[np.ndarray]] = defaultdict(list)
    for question, own in zip(asked, recalls, strict=True):
        if question.side:
            by_side[question.side].append(own)
    few, many = asked[0].cutoffs
    for side, its in by_side.items():
        means = np.mean(its, axis=0)
        print(f"Evidence: {side} ({len(its)}): R@{few} {means[0]:.1f}, R@{many} {means[1]:.1f}")


def _tell_refused(asked: Sequence[Asked], weights: Sequence[np.ndarray]) -> None:
    """How many unanswerable and answerable questions are refused because another said it."""
    refused = np.array([question.is_refused(own) for question, own in zip(asked, weights, strict=True)])
    wanted = np.array([question.unanswerable for question in asked])
    caught = 100 * (wanted & refused)
    figures = {
        "precision": ratio_interval(caught, refused),
        "recall": ratio_interval(caught, wanted),
        "F1": ratio_interval(2 * caught, wanted.astype(int) + refused),
        "answerable ones refused": interval(100 * refused[~wanted]),
    }
    shown = ", ".join(f"{name} {estimate:.1f}" for name, estimate in figures.items())
    print(f"Said by another ({wanted.sum()} of {len(asked)} unanswerable): {shown}\n")


def _held_out(asked: Sequence[Asked], group: np.ndarray, strength: float) -> np.ndarray:
    """(n, 2) recalls of each question, by weights from the other groups; all groups' where there is but one."""
    return _recalls(asked, _weights(asked, group, strength))


def _recalls(asked: Sequence[Asked], weights: Sequence[np.ndarray]) -> np.ndarray:
    """(n, 2) recalls of each question by its own weights."""
    return np.array([question.recalls(own) for question, own in zip(asked, weights, strict=True)])


def _weights(asked: Sequence[Asked], group: np.ndarray, strength: float) -> list[np.ndarray]:
    """Of each question the weights from the other groups."""
    fitted = {}
    for number in np.unique(group):
        others = [question for question, its in zip(asked, group, strict=True) if its != number] or list(asked)
        fitted[number] = fit(others, strength)
    return [fitted[number] for number in group]


if __name__ == "__main__":
    sys.exit(main())
