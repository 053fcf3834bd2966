"""Questions about the time between two events: "How many days passed between the demo and the launch?".

It knows words only: no model, no graph. Invariant: all words of both events are words of the question.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from typing import Literal

DATE_OF = "What is the date of this: {}?"
"""The question for the day of an event, with the words of the first question for it."""

Unit = Literal["day", "week", "month", "year"]

_HOW_LONG = r"^how (?:many (?P<unit>day|week|month|year)s|long|much time)\b"
_STARTS = r"(?:when|the|an?|my|our|your|his|her|its|their)\b", ""
"""An event usually begins with such a word, and may hold an "and" or a "to" of its own."""
_FORMS = [
    re.compile(_HOW_LONG + form, re.IGNORECASE)
    for form in (
        *(rf".*?\bbetween (?P<first>.+?) and (?P<second>{start}.+)$" for start in _STARTS),
        *(rf".*?\bfrom (?P<first>.+) (?:to|until|till) (?P<second>{start}.+)$" for start in _STARTS),
        r" (?:after|before) (?P<first>.+?),? (?:did|was|were|do|does|is) (?P<second>.+)$",
        r" did it take (?:\S+ ){0,3}?to (?P<second>.+?),? after (?P<first>.+)$",
    )
]
_ORDER = re.compile(
    r"^(?:did|was|were|is|do|does|have|has|had) (?P<first>.+?) (?:before or after|after or before) (?P<second>.+)$",
    re.IGNORECASE,
)
_SAME_VERB = re.compile(r"(?P<said>.*\b[a-z]+ )[A-Z][\w’'-]*(?: [A-Z][\w’'-]*)*$")
_NAME = re.compile(r"[A-Z][\w’'-]*(?: [A-Z][\w’'-]*)*$")
_CLAUSE = re.compile(r"^(?:the time (?:that|when|of) |when |the day (?:that|when) )", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Elapsed:
    """Two events of a question: the time between them is asked for, or which of them came first.

    Attributes:
        events: as the question writes them, in its order.
        unit: the unit that the question asks for; None if it names none.
        asks_order: whether the question asks if the first event was before or after the second.
    """

    events: tuple[str, str]
    unit: Unit | None
    asks_order: bool = False

    def questions(self) -> tuple[str, str]:
        """Return the question for the date of each event."""
        first, second = (DATE_OF.format(_CLAUSE.sub("", event)) for event in self.events)
        return first, second

    def describe(self, first: date, second: date) -> str:
        """Return the time between the days of both events in the unit, or their order; empty for equal days.

        A question for the time between two events says that they had two days.

        >>> Elapsed(("a", "b"), "week").describe(date(2026, 5, 1), date(2026, 5, 15))
        '2 weeks'
        """
        if first == second:
            return ""
        if self.asks_order:
            return "before" if first < second else "after"
        count = _count(self.unit or "day", *sorted((first, second)))
        return f"{count} {self.unit or 'day'}{'' if count == 1 else 's'}"


def find_elapsed(question: str) -> Elapsed | None:
    """Return the two events whose time or order a question asks for; None if it asks for another thing.

    >>> find_elapsed("How many days passed between the demo and the launch?").events
    ('the demo', 'the launch')
    """
    text = " ".join(question.split()).rstrip("?.! ")
    if match := next(filter(None, (form.match(text) for form in _FORMS)), None):
        unit = match["unit"].lower() if match["unit"] else None
        first, second = match["first"], match["second"]
        if _NAME.match(second) and (same := _SAME_VERB.match(first)):  # "between adopting Coco and Shadow"
            second = same["said"] + second
        return Elapsed((first, second), unit)  # pyright: ignore[reportArgumentType]
    match = _ORDER.match(text)
    return Elapsed((match["first"], match["second"]), None, asks_order=True) if match else None


def _count(unit: Unit, first: date, last: date) -> int:
    """Return the whole units between two days; weeks are rounded."""
    months = 12 * (last.year - first.year) + last.month - first.month - (last.day < first.day)
    days = (last - first).days
    return {"day": days, "week": round(days / 7), "month": months, "year": months // 12}[unit]
