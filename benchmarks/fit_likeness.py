"""Fit the weights by which a search tells what somebody said last of a matter that no rule reads.

    python benchmarks/fit_likeness.py [--penalty 3.3] [--people N]

Fitted on the tuning half of ``data/updates/matters.txt``. Printed: the weights as they stand in
``memgraph_rag/facts/likeness.py``; and of both halves how often the newest statement, or that of a day, is the first
result (the measures of ``updates.py``): with the packaged weights, with those of the whole tuning half, and on that
half also with those of its other people.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import numpy as np
from logistic import Numbers, fit_logistic
from matters import HALVES, Acquaintance, acquaintances
from updates import measure

from memgraph_rag import Evidence, Memory
from memgraph_rag.errors import MemgraphRagError
from memgraph_rag.evaluation.metrics import interval
from memgraph_rag.facts import likeness
from memgraph_rag.facts.likeness import FIGURES, Candidates, find_candidates

MEASURES = ("newest", "as of")
ROUNDS = 20  # most; the last figure rests on the weights of the others
CLOSE = 1e-4

Weights = tuple[Numbers, float]
"""(f,) weights in the order of ``FIGURES``, and the bias."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The candidates of a question, and (n,) which of them are of its matter: 1, else 0."""

    candidates: Candidates
    labels: Numbers


def main(arguments: Sequence[str] | None = None, **given: Any) -> int:
    """Run; 0 where it came to its end. ``given`` are further arguments of ``Memory``, for tests."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--penalty", type=float, default=10 / 3, help="of each weight, per standard deviation")
    parser.add_argument("--people", type=int, help="most of each half; by default all, 8 of 8 matters each")
    options = parser.parse_args(arguments)
    people = {half: acquaintances(half)[: options.people] for half in HALVES}
    try:
        with Memory(**{"store": ":memory:", **given}) as memory:
            for person in (person for half in HALVES for person in people[half]):
                memory.session(user=person.name).add(person.turns)
            tell(memory, people, options.penalty)
    except MemgraphRagError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    return 0


def tell(memory: Memory, people: Mapping[str, Sequence[Acquaintance]], penalty: float) -> None:
    """Print the weights and the rows."""
    tuning, held_back = HALVES
    asked = {person.name: collect(memory, person) for person in people[tuning]}
    of_all = fit([each for of_one in asked.values() for each in of_one], penalty)
    others = {name: fit([each for other in asked if other != name for each in asked[other]], penalty) for name in asked}
    packaged = (likeness.WEIGHTS, likeness.BIAS)
    for name, weight, before in zip(FIGURES, of_all[0], packaged[0], strict=True):
        print(f"{name}: {weight:.4g} (packaged {before:.4g})")
    print(f"bias: {of_all[1]:.4g} (packaged {packaged[1]:.4g})\n")
    print("| half | weights | measure | right, % | more than the packaged ones |\n| --- | --- | --- | --- | --- |")
    ways: list[tuple[str, str, Callable[[str], Weights]]] = [
        (tuning, "packaged", lambda _: packaged),
        (tuning, "of the other people", others.__getitem__),
        (held_back, "packaged", lambda _: packaged),
        (held_back, "fitted", lambda _: of_all),
    ]
    rows: dict[tuple[str, str], dict[str, Numbers]] = {}
    for half, name, weights_for in ways:
        rights = rows.setdefault((half, name), score(memory, people[half], weights_for))
        for measured, right in rights.items():
            more = interval(100 * (right - rows[half, "packaged"][measured]))
            print(f"| {half} ({len(right)}) | {name} | {measured} | {interval(100 * right):.1f} | {more:+.1f} |")


def collect(memory: Memory, person: Acquaintance) -> list[Asked]:
    """The candidates of each question that a person is asked for now and as of a day, and for which there are some."""
    asked: list[Asked] = []
    for matter in person.matters:

        def record(*given: Any) -> Evidence | None:
            candidates = find_candidates(*given)
            if candidates is not None:
                said = [item.text.partition(": ")[2].strip() in matter.said for item in candidates.results]  # noqa: B023
                asked.append(Asked(candidates, np.array(said, np.float64)))
            return None

        with patch("memgraph_rag.facts.fact_search.newest_alike", record):
            memory.search(matter.now, user=person.name)
            memory.search(matter.as_of, user=person.name, at=matter.days[matter.held])
    return asked


def fit(asked: Sequence[Asked], penalty: float) -> Weights:
    """The weights of the largest likelihood, each pulled towards 0 per standard deviation of its figure.

    The last figure is a probability by the weights of the others, and is not scaled: it is computed anew until the
    weights stay.
    """
    figures = np.concatenate([each.candidates.figures for each in asked])
    labels = np.concatenate([each.labels for each in asked])
    deviation = np.append(np.maximum(figures.std(axis=0), 1e-9), 1.0)
    weights, bias = fit_logistic(figures, labels, penalty=penalty * deviation[:-1] ** 2)
    weights = np.append(weights, 0.0)
    for _ in range(ROUNDS):
        taken_up = np.concatenate([likeness.taken_up(each.candidates, weights, bias) for each in asked])
        before = np.append(weights, bias)
        weights, bias = fit_logistic(np.column_stack([figures, taken_up]), labels, penalty=penalty * deviation**2)
        if np.abs(np.append(weights, bias) - before).max() < CLOSE:
            break
    return weights, bias


def score(memory: Memory, people: Sequence[Acquaintance], weights_for: Callable[[str], Weights]) -> dict[str, Numbers]:
    """By measure, (n,) whether each question is answered right, each person by the weights for its name."""
    right: dict[str, list[bool]] = defaultdict(list)
    for person in people:
        weights, bias = weights_for(person.name)
        with patch.object(likeness, "WEIGHTS", weights), patch.object(likeness, "BIAS", bias):
            for measured, is_right in measure(memory, person):
                right[measured].append(is_right)
    return {measured: np.array(right[measured], np.float64) for measured in MEASURES}


if __name__ == "__main__":
    sys.exit(main())
