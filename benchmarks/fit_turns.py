"""Fit the weights by which a model's state tells whether a turn states what is asked; and how well, across hands.

    python benchmarks/fit_turns.py --model qwen2.5-coder-1.5b-instruct --layers 19 --everyday FILE --output FILE

Fitted on ``matters.txt`` (both halves), on ``histories.jsonl`` and on further files of ``--everyday``; each history
also as one of ten that a user told. Printed, for each hand: the figures of weights that were fitted on the other hands.
The written file is a ``TurnCalibration`` of all hands. Nothing is read from ``histories_held_back.jsonl``.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from histories import TUNED, History, join_histories, read_histories
from logistic import Numbers, fit_logistic
from matters import HALVES, Acquaintance, acquaintances
from scipy.stats import mannwhitneyu

from memgraph_rag import Memory, Settings
from memgraph_rag.contracts import TurnJudge
from memgraph_rag.facts.told import LEAST_TOLD, Told
from memgraph_rag.models.calibration.calibration import TurnCalibration, TurnOrigin
from memgraph_rag.models.engine.language_model import TransformersModel
from memgraph_rag.models.files import catalogue
from memgraph_rag.types import Evidence, Scope

TEN = 10
SHARES = {"matters": 0.3, "ten": 0.2}
"""How much a turn of these counts in the fit; every other counts 1. Their turns are many, and most of them easy."""

FIELDS = ("role", "content", "time", "id")

PENALTY = 1000.0
"""Of each weight, per standard deviation of its component."""


@dataclass(frozen=True)
class Asked:
    """The judged turns of a question, in the order of time.

    Attributes:
        hand: who wrote the turns.
        size: "one" if a user told one history, "ten" if a user told ten.
        states: (n, D); labels: (n,) which turns state what is asked; right: (n,) which say what holds.
    """

    hand: str
    size: str
    is_now: bool
    states: Numbers
    labels: Numbers
    right: Numbers


@dataclass(frozen=True)
class Outcome:
    """How likely each turn of a question states what is asked, in the order of time, and what is true of it."""

    size: str
    is_now: bool
    likely: Numbers
    labels: Numbers
    right: Numbers


class Recording:
    """In place of a calibration: keeps the states that it is given, and judges nothing."""

    def __init__(self, layers: int) -> None:
        self.layers = layers
        self.states: list[Any] = []

    def probabilities(self, states: Any) -> Any:
        """0 for each state."""
        self.states.append(states)
        return states[:, 0] * 0


def hands_of(everyday: Sequence[Path]) -> dict[str, list[History]]:
    """The histories by hand: those for tuning, the people of ``matters.txt``, and those of further files."""
    hands = {"matters": of_matters(), **read_histories(TUNED)}
    for path in everyday:
        (hands[path.parent.name],) = read_histories(path).values()
    return hands


def add_users(memory: Memory, histories: Sequence[History]) -> str:
    """Store the turns of each user; return "ten" if users told several histories, else "one"."""
    for user in dict.fromkeys(each.user for each in histories):
        turns = next(each.turns for each in histories if each.user == user)
        memory.session(user=user).add([{name: turn[name] for name in FIELDS} for turn in turns])
    return "ten" if any(each.user.startswith(f"{TEN} ") for each in histories) else "one"


def days_asked(
    histories: Sequence[History],
) -> Iterator[tuple[History, str | None, frozenset[str], dict[tuple[str, str], str]]]:
    """Yield (history, None or a day, the right turns, the ids of its turns by words and minute) of each question."""
    for each in histories:
        spoken = {(turn["content"].strip(), turn["time"][:16]): turn["id"] for turn in each.turns}
        yield each, None, each.right_now, spoken
        if each.day:
            yield each, each.day, each.right_then, spoken


def collect(
    memory: Memory, model: TransformersModel, layers: int, hand: str, histories: Sequence[History]
) -> Iterator[Asked]:
    """Yield the judged turns of each question, for now and as of its day."""
    size = add_users(memory, histories)
    for each, day, right, spoken in days_asked(histories):
        model.turn_calibration = recording = Recording(layers)  # type: ignore[assignment]
        told = find_told(memory, each.question, each.user, day, model)
        if told is None:
            continue
        ids = [spoken.get((words_of(turn), turn.segment.time[:16]), "") for turn in told.turns]
        yield Asked(
            hand, size, day is None, np.concatenate([states.numpy() for states in recording.states]),
            np.array([turn in each.stating for turn in ids], np.float64),
            np.array([turn in right for turn in ids], np.float64),
        )  # fmt: skip


def share_of(hand: str, size: str, shares: Mapping[str, float] = SHARES) -> float:
    """How much a turn counts in a fit."""
    return shares.get(size, shares.get(hand, 1.0))


def find_told(memory: Memory, question: str, user: str, day: str | None, judge: TurnJudge | None) -> Told | None:
    """What the memory's own search lets a judge read of a question, whatever the question's words."""
    extent = memory._parts.resolve_extent(Scope(user=user, at=day) if day else Scope(user=user))
    with patch("memgraph_rag.facts.fact_search.asks_for_now", return_value=True):
        return memory._parts.search.find_told(question, extent, lambda: judge)[0]


def words_of(turn: Evidence) -> str:
    """The words of a turn without speaker and time."""
    return turn.segment.text.partition("): ")[2].strip()


def of_matters() -> list[History]:
    """The people of ``matters.txt`` as histories: one for each of their matters."""
    return [each for half in HALVES for person in acquaintances(half) for each in _as_histories(person)]


def _as_histories(person: Acquaintance) -> Iterator[History]:
    for number, matter in enumerate(person.matters):
        ids = [next(turn["id"] for turn in person.turns if turn["content"] == said) for said in matter.said]
        yield History(
            f"{person.name}/{number}", person.name, (matter.kind,), matter.now, person.turns, (),
            str(matter.days[matter.held]), (), frozenset(ids), frozenset(ids[-1:]), frozenset([ids[matter.held]]),
        )  # fmt: skip


def fit(asked: Sequence[Asked]) -> tuple[Numbers, float]:
    """The weights and the bias, on states as they are."""
    states = np.concatenate([each.states for each in asked]).astype(np.float64)
    labels = np.concatenate([each.labels for each in asked])
    shares = np.repeat([share_of(each.hand, each.size) for each in asked], [len(each.labels) for each in asked])
    mean, deviation = states.mean(axis=0), states.std(axis=0) + 1e-6
    weights, bias = fit_logistic((states - mean) / deviation, labels, penalty=PENALTY, shares=shares)
    return weights / deviation, bias - float((weights / deviation) @ mean)


def outcome(asked: Asked, weights: Numbers, bias: float) -> Outcome:
    """How likely each turn states what is asked, by these weights."""
    likely = 1 / (1 + np.exp(-(asked.states @ weights + bias)))
    return Outcome(asked.size, asked.is_now, likely, asked.labels, asked.right)


def tell(hand: str, outcomes: Sequence[Outcome], *, is_judged: bool = True) -> None:
    """Print the figures of a hand: which turn comes first, and how often "never told" is right and wrong."""
    numbers = np.concatenate([each.likely for each in outcomes])
    states = np.concatenate([each.labels for each in outcomes]) > 0
    pairs = int(states.sum()) * int((~states).sum())
    row = [f"{hand:<10}", f"AUC {mannwhitneyu(numbers[states], numbers[~states]).statistic / pairs:.3f}"]
    for size in ("one", "ten"):
        for is_now in (True, False):
            of_kind = [each for each in outcomes if (each.size, each.is_now) == (size, is_now) and each.labels.any()]
            right = [each.right[int(Told((), each.likely, is_judged).holding.argmax())] for each in of_kind]
            if right:
                row.append(f"{size} {'newest' if is_now else 'as of'} {100 * np.mean(right):.1f} % of {len(right)}")
    if is_judged:
        for name, was_told in (("never told", False), ("told", True)):
            refused = [each.likely.max() < LEAST_TOLD for each in outcomes
                       if each.is_now and each.size == "one" and each.labels.any() == was_told]  # fmt: skip
            row.append(f"{name} and refused {sum(refused)} of {len(refused)}")
    print("  ".join(row), flush=True)


def main() -> None:
    """Collect, fit, print, and write the calibration."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="qwen2.5-coder-1.5b-instruct")
    parser.add_argument("--layers", type=int, default=19)
    parser.add_argument("--everyday", type=Path, nargs="*", default=(), help="further files of histories")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    name, folder = catalogue.find_language_model(options.model, cache_dir=Settings().cache_dir)
    model = TransformersModel(folder, name=name)
    hands = hands_of(options.everyday)
    asked: list[Asked] = []
    for hand, histories in hands.items():
        for told_by in (histories, join_histories(histories, TEN) if hand != "matters" else []):
            with Memory(":memory:", model=model) as memory:
                asked += collect(memory, model, options.layers, hand, told_by)
        print(f"{hand}: {len(histories)} histories", flush=True)
    for hand in hands:
        weights, bias = fit([each for each in asked if each.hand != hand])
        tell(hand, [outcome(each, weights, bias) for each in asked if each.hand == hand])
    if options.output:
        weights, bias = fit(asked)
        turns, today = sum(len(each.labels) for each in asked), datetime.now(timezone.utc).date()
        made = TurnOrigin(data=tuple(hands), turns=turns, date=str(today))
        calibration = TurnCalibration(
            model=name, fingerprint=catalogue.fingerprint(name, folder), layers=options.layers,
            weights=tuple(weights.tolist()), bias=bias, made=made,
        )  # fmt: skip
        options.output.write_text(calibration.model_dump_json() + "\n", "utf-8")


if __name__ == "__main__":
    main()
