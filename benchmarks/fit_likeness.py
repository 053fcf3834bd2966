"""Fit the weights by which a search without a language model tells what somebody said last of a matter.

    python benchmarks/fit_likeness.py [--everyday FILE]

Fitted on the sets of ``fit_turns.py``. Printed: for each hand the figures of weights that were fitted on the other
hands, as ``fit_turns.py`` prints them; then the weights of all hands, as they stand in
``memgraph_rag/facts/likeness.py``.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from fit_turns import TEN, Outcome, add_users, days_asked, find_told, hands_of, share_of, tell, words_of
from histories import History, join_histories
from logistic import Numbers, fit_logistic

from memgraph_rag import Memory
from memgraph_rag.errors import MemgraphRagError
from memgraph_rag.facts import likeness
from memgraph_rag.facts.likeness import FIGURES, Candidates, find_candidates

SHARES = {"matters": 0.3, "ten": 3.0}
"""How much a turn of these counts in the fit; every other counts 1. Cosines must tell ten matters of a user apart."""

ROUNDS = 20  # most; the last figure rests on the weights of the others
CLOSE = 1e-4

Weights = tuple[Numbers, float]
"""(f,) weights in the order of ``FIGURES``, and the bias."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The candidates of a question; (n,) which of them state what is asked, and which say what holds."""

    hand: str
    size: str
    is_now: bool
    candidates: Candidates
    labels: Numbers
    right: Numbers


def main(arguments: Sequence[str] | None = None, **given: Any) -> int:
    """Run; 0 where it came to its end. ``given`` are further arguments of ``Memory``, for tests."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--penalty", type=float, default=10 / 3, help="of each weight, per standard deviation")
    parser.add_argument("--everyday", type=Path, nargs="*", default=(), help="further files of histories")
    parser.add_argument("--most", type=int, help="histories of each hand; by default all")
    options = parser.parse_args(arguments)
    hands = {hand: each[: options.most] for hand, each in hands_of(options.everyday).items()}
    asked: list[Asked] = []
    try:
        for hand, histories in hands.items():
            for told_by in (histories, join_histories(histories, TEN) if hand != "matters" else []):
                with Memory(**{"store": ":memory:", **given}) as memory:
                    asked += collect(memory, hand, told_by)
    except MemgraphRagError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    print_rows(asked, hands, options.penalty)
    return 0


def print_rows(asked: Sequence[Asked], hands: Mapping[str, Any], penalty: float) -> None:
    """Print the figures across hands, and the weights of all hands."""
    for hand in hands:
        weights = fit([each for each in asked if each.hand != hand], penalty)
        tell(hand, [_outcome(each, weights) for each in asked if each.hand == hand], is_judged=False)
    weights, bias = fit(asked, penalty)
    for name, weight, before in zip(FIGURES, weights, likeness.WEIGHTS, strict=True):
        print(f"{name}: {weight:.4g} (packaged {before:.4g})")
    print(f"bias: {bias:.4g} (packaged {likeness.BIAS:.4g})")


def _outcome(asked: Asked, weights: Weights) -> Outcome:
    order = sorted(range(len(asked.labels)), key=asked.candidates.moments.__getitem__)
    likely = likeness.estimate_probabilities(asked.candidates, *weights)[order]
    return Outcome(asked.size, asked.is_now, likely, asked.labels[order], asked.right[order])


def collect(memory: Memory, hand: str, histories: Sequence[History]) -> Iterator[Asked]:
    """The candidates of each question, asked for now and as of a day, where there are some."""
    size = add_users(memory, histories)
    for each, day, right, spoken in days_asked(histories):
        kept: list[Candidates] = []

        def record(*found: Any, **named: Any) -> Candidates | None:
            kept.extend(filter(None, [find_candidates(*found, **named)]))  # noqa: B023
            return None

        with patch("memgraph_rag.facts.told.find_candidates", record):
            find_told(memory, each.question, each.user, day, None)
        for candidates in kept:
            ids = [spoken.get((words_of(turn), turn.segment.time[:16]), "") for turn in candidates.results]
            labels = np.array([turn in each.stating for turn in ids], np.float64)
            yield Asked(
                hand, size, day is None, candidates, labels, np.array([turn in right for turn in ids], np.float64)
            )


def fit(asked: Sequence[Asked], penalty: float) -> Weights:
    """The weights of the largest likelihood, each pulled towards 0 per standard deviation of its figure.

    The last figure is a probability by the weights of the others, and is not scaled: it is computed anew until the
    weights stay.
    """
    figures = np.concatenate([each.candidates.figures for each in asked])
    labels = np.concatenate([each.labels for each in asked])
    shares = np.repeat([share_of(each.hand, each.size, SHARES) for each in asked], [len(each.labels) for each in asked])
    deviation = np.append(np.maximum(figures.std(axis=0), 1e-9), 1.0)
    weights, bias = fit_logistic(figures, labels, penalty=penalty * deviation[:-1] ** 2, shares=shares)
    weights = np.append(weights, 0.0)
    for _ in range(ROUNDS):
        taken_up = np.concatenate([likeness.score_shared_names(each.candidates, weights, bias) for each in asked])
        before = np.append(weights, bias)
        columns = np.column_stack([figures, taken_up])
        weights, bias = fit_logistic(columns, labels, penalty=penalty * deviation**2, shares=shares)
        if np.abs(np.append(weights, bias) - before).max() < CLOSE:
            break
    return weights, bias


if __name__ == "__main__":
    sys.exit(main())
