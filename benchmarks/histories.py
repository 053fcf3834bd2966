"""Histories in everyday words: people who tell an assistant things in passing, and one question about each.

It knows the files, no memory. A history is a line of JSON: ``question``, ``kinds``, ``now`` (the values that hold, each
a list of spellings), ``as_of`` (a day and its values) and ``turns``. The ``gold`` of a turn is "states", "adds" or
"ends" for what is so from then on, and "mentions" for a plan, a joke, a quotation or another person's thing. Each hand
wrote without a look at rules or prompts. Invariant: the same history of the same file has the same turns: small talk is
drawn by ``SEED``.

Files: ``histories.jsonl`` is for tuning, by the hands in its field ``hand``; ``histories_held_back.jsonl`` was opened
once, after everything was fitted.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any

__all__ = ["HELD_BACK", "TUNED", "History", "join_histories", "read_histories"]

_FOLDER = Path(__file__).with_name("data") / "updates"
TUNED = _FOLDER / "histories.jsonl"
HELD_BACK = _FOLDER / "histories_held_back.jsonl"
SEED = 7
_TALK = (3, 6)  # pairs of small talk in a history: at least, at most

Turn = Mapping[str, Any]


@dataclass(frozen=True)
class History:
    """A question, and the turns of its user.

    Attributes:
        user: who is asked; several histories may be told by one user.
        now, then: the values that hold, and those that held on ``day``; each a list of spellings. Empty if nothing was
            told.
        stating: the ids of the user's turns that state what is asked, at any time.
        right_now, right_then: the ids of the turns that say what holds, and what held on ``day``.
    """

    id: str
    user: str
    kinds: Sequence[str]
    question: str
    turns: Sequence[Turn]
    now: Sequence[Sequence[str]]
    day: str
    then: Sequence[Sequence[str]]
    stating: frozenset[str]
    right_now: frozenset[str]
    right_then: frozenset[str]

    @property
    def is_told(self) -> bool:
        """Whether the user ever told what is asked."""
        return bool(self.stating)

    @property
    def is_set(self) -> bool:
        """Whether several values may hold at a time."""
        return "multi" in self.kinds


def read_histories(path: Path) -> dict[str, list[History]]:
    """Return the histories of a file by the hand that wrote them."""
    by_hand: dict[str, list[History]] = {}
    for line in path.read_text("utf-8").splitlines():
        read = json.loads(line)
        by_hand.setdefault(read.get("hand", path.stem), []).append(_make_history(read))
    return by_hand


def join_histories(histories: Sequence[History], size: int) -> list[History]:
    """Return the same histories told by fewer users, ``size`` histories each, in an order drawn by the seed."""
    drawn = random.Random(SEED).sample(list(histories), len(histories))
    joined: list[History] = []
    for start in range(0, len(drawn), size):
        group = drawn[start : start + size]
        turns = sorted((_apart(turn, each.id) for each in group for turn in each.turns), key=lambda turn: turn["time"])
        joined += [
            History(
                each.id, f"{size} from {start} of {group[0].id}", each.kinds, each.question, turns, each.now, each.day,
                each.then, *({f"{each.id}/{turn}" for turn in ids} for ids in
                             (each.stating, each.right_now, each.right_then)),
            )
            for each in group
        ]  # fmt: skip
    return joined


def _apart(turn: Turn, history: str) -> Turn:
    return {**turn, "id": f"{history}/{turn['id']}"}


def _make_history(read: Mapping[str, Any]) -> History:
    turns = _with_talk(read) if "time" not in read["turns"][0] else read["turns"]
    as_of = read["as_of"] or {"day": "", "values": []}
    return History(
        read["id"], f"of {read['id']}", read["kinds"], read["question"], turns, read["now"], as_of["day"],
        as_of["values"], frozenset(turn["id"] for turn in turns if _states(turn)),
        _right(turns, is_set="multi" in read["kinds"]),
        _right([turn for turn in turns if turn["time"][:10] <= as_of["day"]], is_set="multi" in read["kinds"]),
    )  # fmt: skip


def _with_talk(read: Mapping[str, Any]) -> list[Turn]:
    """Return the turns with times and ids, and with small talk between them."""
    pairs = [json.loads(line) for line in (_FOLDER / "small_talk.jsonl").read_text("utf-8").splitlines()]
    rng = random.Random(f"{SEED} {read['id']}")
    first, last = (date.fromisoformat(read["turns"][place]["day"]) for place in (0, -1))
    placed = [((turn["day"], place, 0), turn) for place, turn in enumerate(read["turns"])]
    for number, (asked, replied) in enumerate(rng.sample(pairs, rng.randint(*_TALK))):
        day = (first + timedelta(days=rng.randrange((last - first).days + 8))).isoformat()
        placed += [
            ((day, 1000 + number, 0), {"role": "user", "content": asked}),
            ((day, 1000 + number, 1), {"role": "assistant", "content": replied}),
        ]
    counts: dict[str, int] = {}
    turns: list[Turn] = []
    for (day, *_), turn in sorted(placed, key=lambda item: item[0]):
        counts[day] = counts.get(day, -1) + 1
        turns.append({**turn, "time": f"{day}T09:{3 * counts[day]:02}:00", "id": str(len(turns))})
    return turns


def _states(turn: Turn) -> bool:
    return turn["role"] == "user" and bool({"states", "adds", "ends"} & turn.get("gold", {}).keys())


def _right(turns: Sequence[Turn], *, is_set: bool) -> frozenset[str]:
    """Return the ids of the turns that say what holds after these: the last statement, its repeats and echoes."""
    stating = [turn for turn in turns if _states(turn)]
    if not stating:
        return frozenset()
    if is_set:
        return frozenset(_held_set(stating).values())
    gold = stating[-1]["gold"]
    if "ends" in gold:
        return frozenset([stating[-1]["id"]])
    value, ids = _value(stating[-1]), set[str]()
    for turn in reversed(stating):
        if _value(turn) != value:
            break
        ids.add(turn["id"])
    start = next(place for place, turn in enumerate(turns) if turn["id"] in ids)
    return frozenset(ids | {turn["id"] for turn in turns[start:] if turn.get("gold", {}).get("states") == value})


def _value(turn: Turn) -> Any:
    return turn["gold"].get("states") or turn["gold"].get("adds")


def _held_set(stating: Sequence[Turn]) -> dict[str, str]:
    """Return the turn that last added each value that was not ended after it."""
    held: dict[str, str] = {}
    for turn in stating:
        for value in _listed(turn, "states", "adds"):
            held[value] = turn["id"]
        for value in _listed(turn, "ends"):
            held.pop(value, None)
    return held


def _listed(turn: Turn, *names: str) -> Iterator[str]:
    for name in names:
        value = turn["gold"].get(name, [])
        yield from [value] if isinstance(value, str) else value
