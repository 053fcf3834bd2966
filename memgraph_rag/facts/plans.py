"""Read what a person means to do by rules: tasks, decisions, and what is done: "I still need to book the flight".

The module knows one text. English only. Invariants: a plan is a clause of the text, word for word; a question and a
supposition give nothing; the work is linear in the text's length.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from typing import Literal

from memgraph_rag.lexical import dates
from memgraph_rag.lexical.clauses import clauses
from memgraph_rag.lexical.relative_days import relative_days
from memgraph_rag.lexical.timestamps import read
from memgraph_rag.lexical.tokenize import keywords, stem

PlanKind = Literal["task", "decision", "done"]

_MONTH = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
_I = r"(?:i|we)(?:['’](?:ve|m|re|ll))?(?: (?:still|also|really|now|just|already|finally|both|all|have|had|am|are))*"
_EVENT = (
    r"(?:the |my |our )?(?:[\w-]+ ){0,3}(?:deadline|due date|appointment|exam|interview|meeting|release|launch|flight)"
    r"(?: [\w-]+){0,5}? (?:is|are|on|by)\b"
)
_TASK = re.compile(
    rf"{_I} (?:need to|have to|has to|got to|must|should|ought to|owe)\b|"
    r"(?:please )?(?:remind me|do not let me forget|don['’]t let me forget) (?:to|about|of)\b|"
    r"(?:to-?do|open|next(?: steps?)?|still (?:open|missing|to do)|left to do)\b ?(?:is|are|:|-)|"
    rf"{_EVENT}",
    re.IGNORECASE,
)
_INTENTION = re.compile(
    rf"{_I} (?:will|going to|plan to|planning to|planning on|want to|aim to|hope to)\b|(?:i|we)['’]ll\b", re.IGNORECASE
)
_AHEAD = re.compile(
    r"\b(?:tomorrow|tonight|(?:next|this|by|on|until|before|in|end of) (?:the )?(?:week\w*|month|year|spring|summer|"
    rf"autumn|fall|winter|\w+day|(?:{_MONTH})\w*|an? (?:few )?(?:day|week|month)s?|\d+)|\d\d?(?:st|nd|rd|th)?"
    rf" (?:{_MONTH})|(?:{_MONTH})\w* \d)",
    re.IGNORECASE,
)
_DECISION = re.compile(
    rf"{_I} (?:decided|agreed|settled on|chose|chosen|picked(?! up)|opted|resolved|going with|sticking with|"
    r"switching to)\b|(?:let['’]?s|let us|we['’]ll|i['’]ll|we will) (?:go with|use|stick (?:to|with)|switch to|move to|"
    r"drop|not use|call it|store)\b|(?:the )?(?:decision|decided|agreed|final)\b(?: is)? ?(?::|that|to|on|-)|"
    r"(?:please )?(?:go with|use) .{1,80} (?:instead of|rather than|over|not)\b",
    re.IGNORECASE,
)
_DONE = re.compile(
    rf"{_I} (?:finished|done|completed|merged|shipped|fixed|sent|submitted|paid|booked|bought|called|released|closed|"
    r"solved|wrote|written|passed|signed|delivered|cancelled|canceled)\b|"
    r".{1,80} (?:is|are|was|were|has been|have been) (?:now |already |finally )*(?:done|finished|completed|merged|"
    r"shipped|fixed|sent|submitted|paid|booked|released|closed|solved|cancelled|canceled)\b",
    re.IGNORECASE,
)
_PATTERNS: dict[PlanKind, re.Pattern[str]] = {"decision": _DECISION, "done": _DONE, "task": _TASK}
_ANY_YEAR = re.compile(r"--(\d\d)-(\d\d)")
_DATED = re.compile(r"\d{4}-\d\d-\d\d")
_MOST_YEARS = 8  # to the next 29 February
_LEAST_COMMON = 0.5  # share of the words of what is done that a task must have, to count as done


@dataclass(frozen=True, slots=True)
class Plan:
    """A plan and its kind; ``[start, end)`` is its clause in the text."""

    kind: PlanKind
    text: str
    start: int
    end: int


def plans(text: str) -> Iterator[Plan]:
    """Yield the plans of a text, in order. A clause gives one plan, of the first kind that fits: decision, done, task.

    An intention ("I will") is a task only if it names a time.

    >>> [(plan.kind, plan.text) for plan in plans("Okay, let's use SQLite. I still need to call Tom. Should I?")]
    [('decision', "let's use SQLite"), ('task', 'I still need to call Tom')]
    """
    for clause in clauses(text):
        for kind, pattern in _PATTERNS.items():
            if pattern.match(clause.text):
                yield Plan(kind, clause.text, clause.start, clause.end)
                break
        else:
            if _INTENTION.match(clause.text) and _AHEAD.search(clause.text):
                yield Plan("task", clause.text, clause.start, clause.end)


def due_day(text: str, said: str) -> date | None:
    """Return the latest day that a plan names; None without one. ``said`` is the day or time of the text, in ISO 8601.

    A day before the text is due only for an event: what one needs to do may be about something of the past.

    >>> due_day("I must send it by next Friday", "2026-05-12"), due_day("the exam is on June 3", "2026-05-12")
    (datetime.date(2026, 5, 15), datetime.date(2026, 6, 3))
    >>> due_day("I need to answer the mail from yesterday", "2026-05-12")
    """
    moment = read(said)
    today = date.fromisoformat(moment[:10]) if moment else None
    days = [days.last for days in relative_days(text, said)]
    terms = dates.list_day_terms(text)
    for term in terms:
        match = _ANY_YEAR.fullmatch(term)
        if _DATED.fullmatch(term):
            days.append(date.fromisoformat(term))
        elif match and f"any-{match[1]}-{match[2]}" in terms and today:
            days += filter(None, [_next_such_day(today, int(match[1]), int(match[2]))])
    if today and not re.match(_EVENT, text, re.IGNORECASE):
        days = [day for day in days if day >= today]
    return max(days, default=None)


def _next_such_day(said: date, month: int, day: int) -> date | None:
    """Return the first such day that is not before the given one; for 29 February the next leap year counts."""
    years = range(said.year, min(said.year + _MOST_YEARS, date.max.year) + 1)
    days = (date(year, month, day) for year in years if day <= monthrange(year, month)[1])
    return next((found for found in days if found >= said), None)


def finishes(done: str, task: str) -> bool:
    """Return whether a report of something done means a task: the task has at least half of the report's words.

    >>> finishes("I booked the flight", "I still need to book the flight to Rome"), finishes("I paid", "I need to run")
    (True, False)
    """
    words = _list_stems(done)
    common = words & _list_stems(task)
    return bool(common) and len(common) >= _LEAST_COMMON * len(words)


@lru_cache(maxsize=4096)  # each task is compared with each report
def _list_stems(text: str) -> frozenset[str]:
    return frozenset(stem(word) for word in keywords(text))
