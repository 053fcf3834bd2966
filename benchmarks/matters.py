"""People whose circumstances change, told in sets of ``data/updates``: in everyday words, by switches, in counts.

It knows the files, no memory. Each matter is a kind, a question for now (``?``), one as of a day (``@``), perhaps one
about the past (``<``), two to four statements in the order in which they were made (``-``), perhaps what the newest one
says to have held before (``+``), and what was said beside them (``~``). Half of the matters of a set, drawn by ``SEED``
before anything was tuned, is for tuning; the other half was only scored. Invariant: the same number of the same half is
the same person.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from pathlib import Path

__all__ = ["HALVES", "MATTERS_EACH", "SETS", "Acquaintance", "Matter", "acquaintances", "halves_of", "read_matters"]

DIRECTORY = Path(__file__).with_name("data") / "updates"
SETS = {"everyday": "matters.txt", "switches": "switches.txt", "counts": "counts.txt"}
SEED = 2027


def halves_of(name: str) -> tuple[str, str]:
    """The two halves of a set: for tuning, and held back."""
    return f"{name}, tuned on", f"{name}, held back"


HALVES = halves_of("everyday")
MATTERS_EACH = 8
APART = frozenset({"switches"})
"""Sets of which several matters are about the same thing, so that each is another person's."""
REPLIES = ("Good to know, thanks.", "I see, I will keep that in mind.", "You said: {text}", "Noted. Anything else?")


@dataclass
class Matter:
    """One thing that changes, and what is asked of it; ``days`` are those of ``said``."""

    kind: str
    now: str = ""
    as_of: str = ""
    past: str = ""
    former: str = ""
    said: list[str] = field(default_factory=list)
    beside: list[str] = field(default_factory=list)
    days: list[date] = field(default_factory=list)

    @property
    def held(self) -> int:
        """Which statement held on the day as of which it is asked; never the newest."""
        return len(self.said) // 2 if len(self.said) > 2 else 0


@dataclass
class Acquaintance:
    """Some matters of one person, and all of its turns."""

    name: str
    matters: list[Matter]
    turns: list[dict[str, str]]


def read_matters(half: str) -> list[Matter]:
    """The matters of a half, in the order of the draw."""
    matters: list[Matter] = []
    name = half.partition(",")[0]
    for line in (DIRECTORY / SETS[name]).read_text("utf-8").splitlines():
        mark, text = line[:1], line[2:].strip()
        if mark == "=":
            matters.append(Matter(text))
        elif mark in "?@<+" and mark:
            setattr(matters[-1], {"?": "now", "@": "as_of", "<": "past", "+": "former"}[mark], text)
        elif mark:
            (matters[-1].said if mark == "-" else matters[-1].beside).append(text)
    random.Random(SEED).shuffle(matters)
    middle = len(matters) // 2
    return matters[:middle] if half == halves_of(name)[0] else matters[middle:]


def acquaintances(half: str) -> list[Acquaintance]:
    """People of eight matters each, all matters of a half used once; or of one, with what is beside all eight."""
    matters = read_matters(half)
    groups = [matters[start : start + MATTERS_EACH] for start in range(0, len(matters), MATTERS_EACH)]
    if half.partition(",")[0] in APART:
        beside = [[text for matter in group for text in matter.beside] for group in groups]
        groups = [[replace(each, beside=said)] for group, said in zip(groups, beside, strict=True) for each in group]
    return [_acquaintance(f"{half} {number}", group) for number, group in enumerate(groups)]


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
