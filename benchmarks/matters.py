"""People whose circumstances change, told in everyday words: the set ``data/updates/matters.txt``.

It knows the file, no memory. Each matter is a kind, a question for now (``?``), one as of a day (``@``), perhaps one
about the past (``<``), two to four statements in the order in which they were made (``-``), and what was said beside
them (``~``). Half of the matters, drawn by ``SEED`` before anything was tuned, is for tuning; the other half was only
scored. Invariant: the same number of the same half is the same person.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path

__all__ = ["HALVES", "MATTERS_EACH", "Acquaintance", "Matter", "acquaintances", "read_matters"]

FILE = Path(__file__).with_name("data") / "updates" / "matters.txt"
SEED = 2027
HALVES = ("everyday, tuned on", "everyday, held back")
MATTERS_EACH = 8
REPLIES = ("Good to know, thanks.", "I see, I will keep that in mind.", "You said: {text}", "Noted. Anything else?")


@dataclass
class Matter:
    """One thing that changes, and what is asked of it; ``days`` are those of ``said``."""

    kind: str
    now: str = ""
    as_of: str = ""
    past: str = ""
    said: list[str] = field(default_factory=list)
    beside: list[str] = field(default_factory=list)
    days: list[date] = field(default_factory=list)


@dataclass
class Acquaintance:
    """Some matters of one person, and all of its turns."""

    name: str
    matters: list[Matter]
    turns: list[dict[str, str]]


def read_matters(half: str) -> list[Matter]:
    """The matters of a half, in the order of the draw."""
    matters: list[Matter] = []
    for line in FILE.read_text("utf-8").splitlines():
        mark, text = line[:1], line[2:].strip()
        if mark == "=":
            matters.append(Matter(text))
        elif mark in "?@<" and mark:
            setattr(matters[-1], {"?": "now", "@": "as_of", "<": "past"}[mark], text)
        elif mark:
            (matters[-1].said if mark == "-" else matters[-1].beside).append(text)
    random.Random(SEED).shuffle(matters)
    middle = len(matters) // 2
    return matters[:middle] if half == HALVES[0] else matters[middle:]


def acquaintances(half: str) -> list[Acquaintance]:
    """People of eight matters each, all matters of a half used once."""
    matters = read_matters(half)
    return [
        _acquaintance(f"{half} {number}", matters[start : start + MATTERS_EACH])
        for number, start in enumerate(range(0, len(matters), MATTERS_EACH))
    ]


def _acquaintance(name: str, matters: list[Matter]) -> Acquaintance:
    rng = random.Random(f"{SEED} {name}")
    said: list[tuple[date, str, str]] = []
    for matter in matters:
        days = rng.sample(range(700), len(matter.said) + len(matter.beside))
        matter.days = sorted(date(2024, 1, 1) + timedelta(days=day) for day in days[: len(matter.said)])
        for day, text in zip(matter.days, matter.said, strict=True):
            said += [(day, "user", text), (day, "assistant", rng.choice(REPLIES).format(text=text))]
        said += [
            (date(2024, 1, 1) + timedelta(days=day), "user", text)
            for day, text in zip(days[len(matter.said) :], matter.beside, strict=True)
        ]
    said.sort(key=lambda item: item[0])
    turns = [
        {"role": role, "content": text, "time": f"{day}T{9 + place % 12:02}:00:00", "id": str(place)}
        for place, (day, role, text) in enumerate(said)
    ]
    return Acquaintance(name, matters, turns)
