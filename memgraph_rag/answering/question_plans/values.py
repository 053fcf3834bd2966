"""Compares values that a model copied: dates, and words.

It knows text only. Invariant: values that cannot be compared give no answer; nothing is guessed.
"""

from __future__ import annotations

import re
from typing import Literal

__all__ = ["compare_dates", "is_same", "words_of"]

Date = tuple[int, int, int]
"""Year, month, day; a month or a day that is not told is 0."""

_YEAR = re.compile(r"\b(?:1\d{3}|20\d{2}|[5-9]\d{2})\b")
_DAY = re.compile(r"\b([0-3]?\d)(?:st|nd|rd|th)?\b")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = re.compile(rf"\b({'|'.join(_MONTHS)})[a-z]*\b", re.IGNORECASE)
_LITTLE_WORDS = {"a", "an", "and", "in", "is", "of", "the", "film", "director", "new"}


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


def _parse_date(text: str) -> Date | None:
    """Return the date of a text with a year; the first year and month in it count."""
    year = _YEAR.search(text)
    if year is None:
        return None
    month = _MONTH.search(text)
    day = _DAY.search(text[: year.start()] + text[year.end() :])
    number = _MONTHS.index(month[1].lower()) + 1 if month else 0
    return int(year[0]), number, int(day[1]) if day and month else 0


def is_same(first: str, second: str) -> bool:
    """Whether two values share a word that says something: "an American poet" and "American".

    >>> is_same("British", "United Kingdom"), is_same("the United States", "United States of America")
    (False, True)
    """
    one, other = ({*re.findall(r"\w+", text.casefold())} - _LITTLE_WORDS for text in (first, second))
    return bool(one & other)


def words_of(text: str) -> str:
    """Return the words of a text in lower case, without articles and punctuation, to compare texts."""
    return " ".join(word for word in re.findall(r"\w+", text.casefold()) if word not in ("a", "an", "the"))
