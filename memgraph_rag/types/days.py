"""Days as people write them ("8 May 2023"), and days that a text names relative to its own day."""

from __future__ import annotations

from calendar import monthrange
from dataclasses import dataclass
from datetime import date

_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


def format_long_day(day: date) -> str:
    """Return the day with its month in English, independent of the locale.

    >>> format_long_day(date(2023, 5, 8))
    '8 May 2023'
    """
    return f"{day.day} {_MONTHS[day.month - 1]} {day.year}"


@dataclass(frozen=True, slots=True)
class RelativeDays:
    """Words of a text that name a day, a week, a month or a year, with the first and the last day of it."""

    words: str
    first: date
    last: date

    def __str__(self) -> str:
        """Return the words and the days that they name.

        >>> str(RelativeDays("yesterday", date(2026, 5, 11), date(2026, 5, 11)))
        'yesterday: 11 May 2026'
        """
        return f"{self.words}: {self.days}"

    @property
    def days(self) -> str:
        """The days as people write them: a day, a month, a year, or the first and the last day."""
        return _format_span(self.first, self.last)


def _format_span(first: date, last: date) -> str:
    if first == last:
        return format_long_day(first)
    is_whole_month = first.day == 1 and last.day == monthrange(last.year, last.month)[1]
    if is_whole_month and first.month == last.month:
        return f"{_MONTHS[first.month - 1]} {first.year}"
    if is_whole_month and (first.month, last.month) == (1, 12):
        return str(first.year)
    if (first.year, first.month) == (last.year, last.month):
        return f"{first.day} to {format_long_day(last)}"
    return f"{format_long_day(first)} to {format_long_day(last)}"
