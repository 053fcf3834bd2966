"""Find days as people write them, and make terms by which a search compares them: "27.8.2026" is "August 27, 2026".

The module knows no clock; names of months are English and German. Invariants: a term holds a hyphen, so no word of
``tokenize`` equals it; a text that is not a day of the calendar has no term; the time is linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date

_NAMES = (
    *("january jan januar", "february feb februar", "march mar märz marz maerz mär", "april apr", "may mai"),
    *("june jun juni", "july jul juli", "august aug", "september sep sept", "october oct oktober okt"),
    *("november nov", "december dec dezember dez"),
)
_MONTHS = {name: month for month, names in enumerate(_NAMES, 1) for name in names.split()}
_NAME = "|".join(sorted(_MONTHS, key=lambda name: (-len(name), name)))
_FORM = re.compile(
    rf"""
    (?<!\d) (?<!\d[-./])  # 2026-08-27, 2026/8/27, 2026年8月27日
        (?P<iso_year>\d{{4}}) (?P<iso>\s?[-./年]\s?) (?P<iso_month>\d{{1,2}}) (?:(?P=iso)|\s?月\s?)
        (?P<iso_day>\d{{1,2}}) (?!\d)
    | (?<!\d) (?<!\d[.,:/-])  # 27.8.2026, 8/27/26
        (?P<first>\d{{1,2}}) (?P<mark>[-./]) (?P<second>\d{{1,2}}) (?P=mark) (?P<last>\d{{4}}|\d\d) (?!\d|[-./:]\d)
    | (?<!\d) (?<!\d[.,:/])  # 27 August 2026, 27th of Aug., 27. August
        (?P<day>\d{{1,2}}) (?:st|nd|rd|th|\.)? (?:\s{{1,3}}of)? (?:\s{{1,3}}|[-/]) (?P<month>{_NAME}) \b \.?
        (?: ,? (?:\s{{1,3}}|[-/]) (?P<year>\d{{4}}) (?!\d) )?
    | \b (?P<name>{_NAME}) \b \.? \s{{1,3}} (?:the\s{{1,3}})?  # August 27, 2026; Aug. 27th
        (?P<number>\d{{1,2}}) (?:st|nd|rd|th)? (?![\d:%]|[.,]\d)
        (?: ,? \s{{1,3}} (?P<behind>\d{{4}}) (?!\d) )?
    | (?<!\d)  # 8月27日
        (?P<cjk_month>\d{{1,2}}) \s?月\s? (?P<cjk_day>\d{{1,2}}) \s?[日号號]
    """,
    re.IGNORECASE | re.VERBOSE,
)
_NUMBER = re.compile(  # numbers at which ``_FORM`` may match: short ones after a space, or before a mark
    r"\d+(?!\d)(?:(?<=\s\d)|(?<=\s\d\d)|(?=\s?[-./年月]\s?\d)"
    r"|(?=(?:st|nd|rd|th|\.)?(?:\s{1,3}of)?[-/\s]\s{0,2}[jfmasond]))",
    re.IGNORECASE,
)
_NAME_BEFORE = re.compile(rf"\b({_NAME})\b\.?\s{{1,3}}(?:the\s{{1,3}})?\Z", re.IGNORECASE)
_LONGEST_NAME = max(map(len, _MONTHS)) + len(".   the   ")
_PIVOT = 69  # two-digit years from this one on are of the last century, as in POSIX
_LEAP_YEAR = 2000

_Day = tuple[int, int, int]  # year (0 if not given), month, day


def list_day_terms(text: str) -> list[str]:
    """Return the search terms of the days that a text names, for its index, as often as it names them.

    A day with a year has two terms: with the year and without it. A day without a year also has two: without a year,
    and a term that says that the year is missing. A day with two readings ("3/4/2026") has the terms of both.

    >>> list_day_terms("2026-08-27, again on Aug 3"), list_day_terms("The 30th of February 2026, 1/2/3/4")
    (['2026-08-27', '--08-27', '--08-03', 'any-08-03'], [])
    """
    return [term for year, month, day in _find_days(text) for term in (
        (f"{year:04}-{month:02}-{day:02}", f"--{month:02}-{day:02}") if year
        else (f"--{month:02}-{day:02}", f"any-{month:02}-{day:02}")
    )]  # fmt: skip


def list_query_terms(question: str) -> list[str]:
    """Return the search terms of the days that a question names, each once; they match those of ``list_day_terms``.

    A day with a year finds that day, and the same day in a text without a year. A day without a year finds it in any
    year.

    >>> list_query_terms("Seen on 27 August 2026?"), list_query_terms("Seen on Aug 27?"), list_query_terms("3/4/2026")
    (['2026-08-27', 'any-08-27'], ['--08-27'], ['2026-04-03', 'any-04-03', '2026-03-04', 'any-03-04'])
    """
    terms = (
        (f"{year:04}-{month:02}-{day:02}", f"any-{month:02}-{day:02}") if year else (f"--{month:02}-{day:02}",)
        for year, month, day in _find_days(question)
    )
    return list(dict.fromkeys(term for day_terms in terms for term in day_terms))


def find_days_near(text: str, near: date) -> list[tuple[int, int, date]]:
    """Return (start, end, day) of each day that a text names in characters ``start`` to ``end`` with one reading.

    A day without a year is the one nearest to ``near``.

    >>> find_days_near("Due on January 3.", date(2025, 12, 20))
    [(7, 16, datetime.date(2026, 1, 3))]
    """
    found: list[tuple[int, int, date]] = []
    for match in _find_matches(text):
        days = _read_match(match)
        if len(days) != 1:
            continue
        year, month, day = days[0]
        years = [year] if year else range(max(near.year - 1, 1), near.year + 2)
        dates = [date(each, month, day) for each in years if _check_day(each, month, day)]
        if dates:
            found.append((match.start(), match.end(), min(dates, key=lambda each: abs(each - near))))
    return found


def _find_days(text: str) -> Iterator[_Day]:
    """Yield the days in a text, in order; both days if a form has two readings."""
    for match in _find_matches(text):
        yield from _read_match(match)


def _read_match(match: re.Match[str]) -> list[_Day]:
    """Return the days that a match of ``_FORM`` means: two if the form has two readings, none if it is no day."""
    part = match.groupdict(default="")
    if part["iso_year"]:
        readings = [(part["iso_year"], part["iso_month"], part["iso_day"])]
    elif part["first"]:
        readings = _read_numbers(part["first"], part["mark"], part["second"], part["last"])
    elif part["month"] or part["name"]:
        name, year = part["month"] or part["name"], part["year"] or part["behind"]
        month = 0 if name == "may" and not year else _MONTHS.get(name.casefold(), 0)  # "in 3 may be"
        readings = [(year, str(month), part["day"] or part["number"])]
    else:
        readings = [("", part["cjk_month"], part["cjk_day"])]
    return [day for reading in readings if (day := _check_day(*map(int, (part or "0" for part in reading))))]


def _find_matches(text: str) -> Iterator[re.Match[str]]:
    """Yield the matches of ``_FORM``, searched only near fitting numbers, which is much faster than ``finditer``."""
    end = 0
    for number in _NUMBER.finditer(text):
        start = number.start()
        if start < end:
            continue
        before = text[start - 1 : start].isspace() and _NAME_BEFORE.search(text, max(end, start - _LONGEST_NAME), start)
        match = (before and _FORM.match(text, before.start())) or _FORM.match(text, start)
        if match:
            end = match.end()
            yield match


def _read_numbers(first: str, mark: str, second: str, year: str) -> list[tuple[str, str, str]]:
    """Return the readings of three numbers: day first, and month first unless dots separate them or both are equal."""
    if len(year) == 2:
        year = f"{'19' if int(year) >= _PIVOT else '20'}{year}"
    day_first, month_first = (year, second, first), (year, first, second)
    if first == second or (mark == "." and int(second) <= 12):
        return [day_first]
    return [day_first, month_first]


def _check_day(year: int, month: int, day: int) -> _Day | None:
    """Return the day; None if the calendar does not have it."""
    try:
        date(year or _LEAP_YEAR, month, day)
    except ValueError:
        return None
    return year, month, day
