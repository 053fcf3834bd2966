"""Moments as ISO 8601: the one place that reads them.

It knows no clock and no time zone's rules: a moment without an offset stays one without, and is UTC only as an
instant. Invariant: a string is the same moment on every Python (``fromisoformat`` reads more with each release, so it
gets one form only), and a moment that was read is read again as itself.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, datetime, timezone

from memgraph_rag.types import MetadataValue

__all__ = ["day_of", "instant", "named_in", "read"]

_FORM = re.compile(
    r"(?P<year>\d{4})(?P<hyphen>-?)(?P<month>\d\d)(?P=hyphen)(?P<day>\d\d)"
    r"(?P<clock>[Tt ](?P<hour>[01]\d|2[0-3])"
    r"(?:(?P<colon>:?)(?P<minute>\d\d)(?:(?P=colon)(?P<second>\d\d)(?:[.,](?P<fraction>\d+))?)?)?"
    r" ?(?:(?P<utc>[Zz])|(?P<east>[+-]\d\d)(?::?(?P<east_minute>[0-5]\d))?)?)?",
    re.ASCII,
)
_NAMES = ("time", "date")
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


def read(text: str) -> str:
    """The moment as ``isoformat`` writes it, a day alone as a day; empty where the text is no ISO 8601.

    Fractions of a second beyond microseconds are cut off. Weeks ("2024-W18") and numbered days are not read.

    >>> read("2024-05-01T10:00Z"), read("2024-05-01"), read("1 May 2024")
    ('2024-05-01T10:00:00+00:00', '2024-05-01', '')
    """
    found = _FORM.fullmatch(text.strip())
    if found is None:
        return ""
    part = found.groupdict(default="")
    day = f"{part['year']}-{part['month']}-{part['day']}"
    clock = f"{part['hour']}:{part['minute'] or '00'}:{part['second'] or '00'}.{part['fraction'][:6]:0<6}"
    east = "+00:00" if part["utc"] else part["east"] and f"{part['east']}:{part['east_minute'] or '00'}"
    try:
        if not part["clock"]:
            return date.fromisoformat(day).isoformat()
        return datetime.fromisoformat(f"{day}T{clock}{east}").isoformat()
    except ValueError:  # the 30th of February
        return ""


def instant(text: str) -> datetime | None:
    """The instant of a moment, in UTC where it has no offset; a day is its first instant. None where it is none.

    >>> instant("2024-05-01")
    datetime.datetime(2024, 5, 1, 0, 0, tzinfo=datetime.timezone.utc)
    """
    moment = read(text)
    if not moment:
        return None
    parsed = datetime.fromisoformat(moment)
    return parsed if parsed.tzinfo else parsed.replace(tzinfo=timezone.utc)


def day_of(text: str) -> str:
    """The day of a moment as people write and ask for it; empty where it is none.

    >>> day_of("2023-05-08T13:56:00")
    '8 May 2023'
    """
    moment = read(text)
    if not moment:
        return ""
    day = date.fromisoformat(moment[:10])
    return f"{day.day} {_MONTHS[day.month - 1]} {day.year}"


def named_in(metadata: Mapping[str, MetadataValue]) -> str:
    """The moment that metadata hold as a str under "time", else under "date"; empty without one that can be read.

    >>> named_in({"time": "noon", "date": "2024-05-01"})
    '2024-05-01'
    """
    values = (metadata.get(name) for name in _NAMES)
    return next((moment for value in values if isinstance(value, str) and (moment := read(value))), "")
