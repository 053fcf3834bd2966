"""Find the day of an event in the sentences of a conversation: "I had to postpone the reunion on July 10".

A model copies the time of a turn instead. The module knows sentences and times, no model. Invariant: a day that it
returns is named in a sentence with at least half of the event's words, or is the day of such a sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta

from memgraph_rag.lexical.dates import find_days_near
from memgraph_rag.lexical.relative_days import find_relative_days
from memgraph_rag.lexical.timestamps import read
from memgraph_rag.lexical.tokenize import keywords, stem
from memgraph_rag.types import Citation

_LEAST_SHARE = 0.5
_TIME_OF_TURN = re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d\S*")
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class EventDay:
    """The day of an event, and the cited sentence. If ``is_named`` is False, it is the day of the sentence's turn."""

    day: date
    is_named: bool
    citation: Citation


def find_event_day(event: str, sentences: Iterable[tuple[Citation, str]]) -> EventDay | None:
    """Return the day in the sentence that has most words of an event; None if no sentence has half of them.

    Of several days in a sentence the one nearest to a word of the event counts. A sentence without a day means the day
    of its turn; a sentence with a day and as many words of the event goes before it.

    Args:
        sentences: citations, each with the time of its turn, ISO 8601; the best ones first.
    """
    wanted = {stem(word) for word in keywords(event)}
    best, most = None, (0.0, False)
    for citation, time in sentences:
        if not (said := read(time)[:10]):
            continue
        day_said = date.fromisoformat(said)
        text = _TIME_OF_TURN.sub(lambda match: " " * len(match[0]), citation.quote)
        places = [
            (match.start(), match.end(), stemmed)
            for match in _WORD.finditer(text.casefold())
            if (stemmed := stem(match[0])) in wanted
        ]
        days = _find_days(text, day_said)
        share = len({stemmed for *_, stemmed in places}) / max(len(wanted), 1)
        if share >= _LEAST_SHARE and (share, bool(days)) > most:
            distances = [min(max(start - end, begin - last) for begin, end, _ in places) for start, last, _ in days]
            day = days[distances.index(min(distances))][2] if days else day_said
            best, most = EventDay(day, bool(days), citation), (share, bool(days))
    return best


def _find_days(text: str, said: date) -> list[tuple[int, int, date]]:
    """Return start, end and day of each day that a text names, also relative to its own day ("yesterday")."""
    days = find_days_near(text, said)
    for start, end, each in find_relative_days(text, said):
        if each.first == each.last != said:
            days.append((start, end, each.first))
        elif (each.last - each.first).days == 6 and "ago" in each.words:  # "two weeks ago": on the same weekday
            days.append((start, end, each.first + timedelta(days=said.weekday())))
    return days
