"""Days as people write them: "8 May 2023"."""

from __future__ import annotations

from datetime import date

__all__ = ["written_day"]

_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


def written_day(day: date) -> str:
    """The day with its month in English, whatever the machine's language.

    >>> written_day(date(2023, 5, 8))
    '8 May 2023'
    """
    return f"{day.day} {_MONTHS[day.month - 1]} {day.year}"
