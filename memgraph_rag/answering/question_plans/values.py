"""Compare values that a model copied: dates, quantities, and words.

It knows text only. Invariant: values that cannot be compared give no answer; nothing is guessed.
"""

from __future__ import annotations

import re
from datetime import date
from typing import Literal

from memgraph_rag.lexical.tokenize import remove_accents

Date = tuple[int, int, int]
"""Year, month, day; a month or a day that is not told is 0."""

_ISO = re.compile(r"\b(\d{4})-(\d\d)-(\d\d)(?!\d)")
_YEAR = re.compile(r"\b(?:1\d{3}|20\d{2}|[5-9]\d{2})\b")
_DAY = re.compile(r"\b([0-3]?\d)(?:st|nd|rd|th)?\b")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = re.compile(rf"\b({'|'.join(_MONTHS)})[a-z]*\b", re.IGNORECASE)
_LITTLE_WORDS = {"a", "an", "and", "in", "is", "of", "the", "film", "director", "new"}
_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_SCALES = {"hundred": 1e2, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
_UNITS = {
    "cm": 0.01, "m": 1.0, "metre": 1.0, "meter": 1.0, "km": 1e3, "foot": 0.3048, "feet": 0.3048, "ft": 0.3048,
    "inch": 0.0254, "inches": 0.0254, "mile": 1609.344,
}  # fmt: skip
"""How many metres each unit is. Quantities of other units are compared as numbers."""
_QUANTITY = re.compile(
    rf"(?P<number>\d[\d,]*(?:\.\d+)?|\b(?:{'|'.join(_WORDS)})\b)"
    rf"(?:[ -](?P<scale>{'|'.join(_SCALES)}))?(?:[ -](?P<unit>[a-z]+))?",
    re.IGNORECASE,
)

_FEWEST_RESTATED = 4  # words of a phrase that may restate its question
_RESTATEMENT = re.compile(
    r"(?P<subject>.+?) (?:is|was|are|were)(?: (?:born|located|situated|founded|published|released|made|formed))?"
    r"(?: (?:in|on|at|by))? (?P<rest>.+)$"
)


def compare_dates(first: str, second: str) -> Literal[-1, 1] | None:
    """Return -1 if the first text tells an earlier date than the second, 1 if a later one; None if that is not told.

    Dates are compared by year, then by month and day where both texts tell them.

    >>> compare_dates("12 May 1950", "June 1950"), compare_dates("1950", "3 May 1950"), compare_dates("1950", "Bonn")
    (-1, None, None)
    """
    one, other = _parse_date(first), _parse_date(second)
    if one is None or other is None:
        return None
    for part, other_part in zip(one, other, strict=True):
        if not part or not other_part:
            return None
        if part != other_part:
            return -1 if part < other_part else 1
    return None


def compare_spans(first: str, second: str) -> Literal[-1, 0, 1] | None:
    """Return -1, 0 or 1 if the first text spans fewer, as many or more years than the second; None if one has no span.

    >>> compare_spans("3 May 1900 to 1980", "1950 to 12 June 1990"), compare_spans("1900", "1950 to 1990")
    (1, None)
    """
    years = [[int(year) for year in _YEAR.findall(text)] for text in (first, second)]
    if min(map(len, years)) < 2:
        return None
    one, other = (of_text[-1] - of_text[0] for of_text in years)
    return (one > other) - (one < other)  # pyright: ignore[reportReturnType] - it is -1, 0 or 1


def _parse_date(text: str) -> Date | None:
    """Return the date of a text with a year, or in ISO 8601; the first year and month in it count."""
    if iso := _ISO.search(text):
        return int(iso[1]), int(iso[2]), int(iso[3])
    year = _YEAR.search(text)
    if year is None:
        return None
    month = _MONTH.search(remove_accents(text))
    day = _DAY.search(text[: year.start()] + text[year.end() :])
    number = _MONTHS.index(month[1].lower()) + 1 if month else 0
    return int(year[0]), number, int(day[1]) if day and month else 0


def find_day(text: str) -> date | None:
    """Return the day of a text that has a year, a month and a day, in words or as ISO 8601; None for any other text.

    >>> find_day("on 12 May 1950"), find_day("1950-05-12"), find_day("May 1950")
    (datetime.date(1950, 5, 12), datetime.date(1950, 5, 12), None)
    """
    try:
        return date(*(_parse_date(text) or (0, 0, 0)))
    except ValueError:
        return None


def compare_quantities(first: str, second: str) -> Literal[-1, 0, 1] | None:
    """Return -1 if the first text tells a smaller quantity than the second, 0 for the same, 1 for a larger one.

    The first number of each text counts, with its unit of length; None if a text has no number.

    >>> compare_quantities("12 km", "9,000 metres"), compare_quantities("three", "2 million")
    (1, -1)
    """
    one, other = _parse_quantity(first), _parse_quantity(second)
    if one is None or other is None:
        return None
    return (one > other) - (one < other)  # pyright: ignore[reportReturnType] - it is -1, 0 or 1


def _parse_quantity(text: str) -> float | None:
    match = _QUANTITY.search(remove_accents(text))  # to ``re``, ı and ſ are i and s
    if match is None:
        return None
    word = match["number"].lower()
    number = float(_WORDS.index(word)) if word in _WORDS else float(word.replace(",", ""))
    unit = (match["unit"] or "").lower()
    scale = _SCALES[match["scale"].lower()] if match["scale"] else 1.0
    return number * scale * _UNITS.get(unit, _UNITS.get(unit.removesuffix("s"), 1.0))


def is_same(first: str, second: str) -> bool:
    """Return whether two values share a word that says something: "an American poet" and "American".

    >>> is_same("British", "United Kingdom"), is_same("the United States", "United States of America")
    (False, True)
    """
    one, other = ({*re.findall(r"\w+", text.casefold())} - _LITTLE_WORDS for text in (first, second))
    return bool(one & other)


def drop_restatement(question: str, phrase: str) -> str:
    """Return a phrase without a beginning that says the question again: "Ann's spouse is Bo" becomes "Bo".

    >>> drop_restatement("Where was Ann Lee born?", "Ann Mary Lee was born in York")
    'York'
    >>> drop_restatement("Who is Ann Lee?", "the mayor of York")
    'the mayor of York'
    """
    match = _RESTATEMENT.match(phrase)
    if match is None or len(phrase.split()) < _FEWEST_RESTATED:
        return phrase
    asked, subject = {*normalise_words(question).split()}, {*normalise_words(match["subject"]).split()}
    says_more = bool({*normalise_words(match["rest"]).split()} - asked)
    return match["rest"] if says_more and 2 * len(subject & asked) >= len(subject) else phrase


def holds(text: str, value: str) -> bool:
    """Return whether a text contains the words of a value, one after the other."""
    return f" {normalise_words(value)} " in f" {normalise_words(text)} "


def normalise_words(text: str) -> str:
    """Return the words of a text in lower case, without articles and punctuation, to compare texts."""
    return " ".join(word for word in re.findall(r"\w+", text.casefold()) if word not in ("a", "an", "the"))
