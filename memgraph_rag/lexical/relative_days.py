"""Find days that a text names relative to its own day: "yesterday", "last Friday", "two weeks ago".

The module knows a text and a day, no clock. English only; ``dateutil`` does the calendar's arithmetic. Invariants:
found words occur in the text word for word; expressions that are not certain to a week, a month or a year give no days
("a few days ago", "on Friday"); the time is linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from itertools import islice

from memgraph_rag.lexical.timestamps import read
from memgraph_rag.lexical.tokenize import remove_accents
from memgraph_rag.types import RelativeDays

_Span = tuple[date, date]  # first and last day

_NUMBERS = {"a": 1, "an": 1, "one": 1, "two": 2, "a couple of": 2, "three": 3, "four": 4, "five": 5, "six": 6,
            "seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12}  # fmt: skip
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_SINGLE = {
    "the day before yesterday": -2, "yesterday": -1, "last night": -1, "today": 0, "tonight": 0, "this morning": 0,
    "this afternoon": 0, "this evening": 0, "tomorrow": 1, "the day after tomorrow": 2,
}  # fmt: skip
_NUMBER = rf"(?P<number>\d{{1,3}}|{'|'.join(sorted(_NUMBERS, key=len, reverse=True))})"
_UNIT = r"(?P<unit>day|week|month|year)s?"
_FORM = re.compile(
    rf"""\b(?:
    (?P<single>{"|".join(sorted(_SINGLE, key=len, reverse=True)).replace(" ", r"[ ]")})
    | {_NUMBER}[ ]{_UNIT}[ ](?P<ago>ago|back)
    | in[ ]{_NUMBER.replace("number", "ahead")}[ ]{_UNIT.replace("unit", "ahead_unit")}(?:['’][ ]time)?
    | (?P<which>last|next|this|this[ ]coming|this[ ]past)[ ]
      (?P<what>{"|".join(_WEEKDAYS)}|week(?:end)?|month|year|{"|".join(_MONTHS)})
    )\b(?![ ](?:of|in)[ ]\d{{4}}|[ ]or[ ](?:so|two|three)\b)""".replace("a couple of", "a[ ]couple[ ]of"),
    re.IGNORECASE | re.VERBOSE,
)
_LONGER = re.compile(r"(?:\w[-–]|\d[.,]|\b(?:or|to|half|than|hundred and|(?:day|week|month|year)s? and) )$", re.I)
"""What stands before a number that is only a part: "1.5 weeks ago", "half a year ago", "two or three days ago"."""
_MOST_BEFORE = 12
_MOST = 16  # results of one text


def relative_days(text: str, said: str) -> tuple[RelativeDays, ...]:
    """Return the days that a text names relatively, in order, at most 16.

    A week is Monday to Sunday, a weekend its last two days. "Last Friday" is the nearest one before the day, "next
    Friday" the nearest one after it. A distance in weeks gives a week, in months a month, in years a year.

    Args:
        said: the time of the text, ISO 8601; if it is empty or another text, there are no results.

    >>> [str(days) for days in relative_days("I moved last week, two months ago I was in Rome.", "2026-05-12T18:00")]
    ['last week: 4 to 10 May 2026', 'two months ago: March 2026']
    """
    moment = read(said)
    if not moment:
        return ()
    days = find_relative_days(text, date.fromisoformat(moment[:10]))
    return tuple(each for *_, each in islice(days, _MOST))


def find_relative_days(text: str, day: date) -> Iterator[tuple[int, int, RelativeDays]]:
    """Yield start, end and days of each expression in a text that was said on ``day``; see ``relative_days``."""
    for match in _FORM.finditer(text):
        if match["ago"] and _LONGER.search(text[max(0, match.start() - _MOST_BEFORE) : match.start()]):
            continue
        try:
            first, last = _read_span(match, day)
        except (ValueError, OverflowError):  # before the year 1
            continue
        yield match.start(), match.end(), RelativeDays(match[0], first, last)


def _read_span(match: re.Match[str], day: date) -> _Span:
    # To ``re``, the ı of a Turkish keyboard ("last frıday") is an i.
    part = {name: remove_accents(value).casefold() for name, value in match.groupdict().items() if value}
    if "single" in part:
        return (other := day + timedelta(days=_SINGLE[part["single"]])), other
    if "ago" in part:
        return _shift(day, part["unit"], -_read_count(part["number"]))
    if "ahead" in part:
        return _shift(day, part["ahead_unit"], _read_count(part["ahead"]))
    step = {"last": -1, "this past": -1, "this": 0, "this coming": 1}.get(part["which"], 1)
    what = part["what"]
    if what in _WEEKDAYS:
        return _find_weekday(day, _WEEKDAYS.index(what), step)
    if what in _MONTHS:
        return _find_month(day, _MONTHS.index(what) + 1, step)
    if what == "weekend":
        return (saturday := _week(day)[0] + timedelta(days=5, weeks=step)), saturday + timedelta(days=1)
    return _shift(day, what, step)


def _read_count(number: str) -> int:
    return int(number) if number.isdigit() else _NUMBERS[number]


def _shift(day: date, unit: str, count: int) -> _Span:
    """Return the day, week, month or year that is ``count`` units later."""
    from dateutil.relativedelta import relativedelta  # few texts need it

    other = day + relativedelta(**{f"{unit}s": count})  # pyright: ignore[reportArgumentType]
    return _PERIODS[unit](other)


def _week(day: date) -> _Span:
    monday = day - timedelta(days=day.weekday())
    return monday, monday + timedelta(days=6)


def _month(day: date) -> _Span:
    first = day.replace(day=1)
    return first, (first + timedelta(days=31)).replace(day=1) - timedelta(days=1)


_PERIODS: dict[str, Callable[[date], _Span]] = {
    "day": lambda day: (day, day),
    "week": _week,
    "month": _month,
    "year": lambda day: (date(day.year, 1, 1), date(day.year, 12, 31)),
}


def _find_weekday(day: date, weekday: int, step: int) -> _Span:
    """Return the nearest such day before or after a day; for "this Friday" the one in its week."""
    if step == 0:
        other = _week(day)[0] + timedelta(days=weekday)
    elif step < 0:
        other = day - timedelta(days=(day.weekday() - weekday - 1) % 7 + 1)
    else:
        other = day + timedelta(days=(weekday - day.weekday() - 1) % 7 + 1)
    return other, other


def _find_month(day: date, month: int, step: int) -> _Span:
    """Return the nearest such month before or after a day's month; for "this May" the one in its year."""
    year = day.year
    if step < 0 and month >= day.month:
        year -= 1
    elif step > 0 and month <= day.month:
        year += 1
    return _month(date(year, month, 1))
