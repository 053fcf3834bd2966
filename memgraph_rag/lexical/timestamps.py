"""Read times as ISO 8601. No other module reads times.

The module knows no clock and no time zone's rules: a time without an offset stays so, and only ``instant`` takes it as
UTC. Invariants: a string is the same time on every Python (``fromisoformat`` reads more with each release, so it gets
only one form); a time that was read is read again as itself.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, datetime, timedelta, timezone

from memgraph_rag.types import MetadataValue, format_long_day

_FORM = re.compile(
    r"(?P<year>\d{4})(?P<hyphen>-?)(?P<month>\d\d)(?P=hyphen)(?P<day>\d\d)"
    r"(?P<clock>[Tt ](?P<hour>[01]\d|2[0-3])"
    r"(?:(?P<colon>:?)(?P<minute>\d\d)(?:(?P=colon)(?P<second>\d\d)(?:[.,](?P<fraction>\d+))?)?)?"
    r" ?(?:(?P<utc>[Zz])|(?P<east>[+-]\d\d)(?::?(?P<east_minute>[0-5]\d))?)?)?",
    re.ASCII,
)
_NAMES = ("time", "date")
_YEAR = re.compile(r"(?<!\d)\d{4}(?!\d)", re.ASCII)  # a day is certain only with a year of four digits
_CLOCK = re.compile(r"\d\s*(?:[ap]\.?m\b|h\b|:\s*\d)", re.IGNORECASE | re.ASCII)
_BRACKETS = re.compile(r"[()\[\]]")  # around a weekday
_ZONE_NAME = re.compile(r"\b(?:UTC|GMT)\s?(?=[+-]\d)", re.IGNORECASE)  # dateutil takes UTC+2 for two hours west of UTC
_LONGEST = 80  # characters of a time in words


def read(text: str) -> str:
    """Read an ISO 8601 time; return it as ``isoformat`` writes it (a day alone as a day), or "" for another text.

    Fractions of a second beyond microseconds are cut off. Weeks ("2024-W18") and numbered days are not read.

    >>> read("2024-05-01T10:00Z"), read("2024-05-01"), read("1 May 2024")
    ('2024-05-01T10:00:00+00:00', '2024-05-01', '')
    """
    match = _FORM.fullmatch(text.strip())
    if match is None:
        return ""
    part = match.groupdict(default="")
    day = f"{part['year']}-{part['month']}-{part['day']}"
    clock = f"{part['hour']}:{part['minute'] or '00'}:{part['second'] or '00'}.{part['fraction'][:6]:0<6}"
    east = "+00:00" if part["utc"] else part["east"] and f"{part['east']}:{part['east_minute'] or '00'}"
    try:
        if not part["clock"]:
            return date.fromisoformat(day).isoformat()
        return datetime.fromisoformat(f"{day}T{clock}{east}").isoformat()
    except ValueError:  # the 30th of February
        return ""


def parse_time(text: str) -> str:
    """Return the time as from ``read``, also if it is written in words; empty if it is not certain which time it is.

    A text of more than 80 characters is read only as ISO 8601, and so is a text without a year of four digits.

    Not certain are times that depend on the day of reading ("yesterday", "Monday"), lack a part of the day ("May
    2024"), are another day in other countries ("4/5/2024"), or have a zone with only a name.

    >>> parse_time("1:56 pm on 8 May, 2023"), parse_time("8 May 2023"), parse_time("yesterday"), parse_time("4/5/2024")
    ('2023-05-08T13:56:00', '2023-05-08', '', '')
    """
    moment = read(text)
    year = None if moment or len(text) > _LONGEST else _YEAR.search(text)
    if year is None:
        return moment
    # Missing parts come from the default. 4/5 depends on the order of day and month, except after a year.
    readings = {
        _parse(text, default, is_day_first=is_day_first)
        for default in (datetime(2000, 1, 1), datetime(2001, 2, 2))
        for is_day_first in {False, year.start() > len(text) - len(text.lstrip())}
    }
    (parsed,) = readings if len(readings) == 1 else (None,)
    if parsed is None:
        return ""
    return parsed.isoformat() if _CLOCK.search(text) else parsed.date().isoformat()


def _parse(text: str, default: datetime, *, is_day_first: bool) -> datetime | None:
    from dateutil import parser  # few texts need it

    try:
        plain = _ZONE_NAME.sub(" ", _BRACKETS.sub(" ", text))
        return parser.parse(plain, default=default, dayfirst=is_day_first, tzinfos=_make_zone)
    except (ValueError, OverflowError, TypeError, AttributeError):  # its errors for a text that is not a time
        return None


def _make_zone(name: str | None, offset_s: int | None) -> timezone | None:
    """Return the zone with that offset from UTC in seconds; a zone's name alone is ambiguous.

    Raises:
        ValueError: there is a name without an offset.
    """
    if name and offset_s is None:
        raise ValueError(name)
    return None if offset_s is None else timezone(timedelta(seconds=offset_s))


def instant(text: str) -> datetime | None:
    """Return an ISO 8601 time as a datetime with a zone, UTC by default; None if ``text`` is not ISO 8601.

    A day alone is its first instant.

    >>> instant("2024-05-01")
    datetime.datetime(2024, 5, 1, 0, 0, tzinfo=datetime.timezone.utc)
    """
    moment = read(text)
    if not moment:
        return None
    parsed = datetime.fromisoformat(moment)
    return parsed if parsed.tzinfo else parsed.replace(tzinfo=timezone.utc)


def later(instant: datetime, step: timedelta) -> datetime | None:
    """Return the time that is ``step`` later, in the same zone; None if it is outside of the calendar of Python.

    The result is in UTC if it is outside of the calendar only in the given zone.

    >>> later(datetime(9999, 12, 31, tzinfo=timezone.utc), timedelta(days=1)) is None
    True
    """
    for zone in (instant.tzinfo, timezone.utc):  # the calendar of an eastern zone ends before that of UTC
        try:
            return instant.astimezone(zone) + step
        except OverflowError:
            continue
    return None


def format_day(text: str) -> str:
    """Return the day of a time in ISO 8601 as people write it, in the time's own zone; empty for another text.

    >>> format_day("2023-05-08T13:56:00")
    '8 May 2023'
    """
    moment = read(text)
    if not moment:
        return ""
    return format_long_day(date.fromisoformat(moment[:10]))


def find_metadata_time(metadata: Mapping[str, MetadataValue]) -> str:
    """Return the time in metadata under "time", else under "date"; empty without a str that ``read`` can read.

    >>> find_metadata_time({"time": "noon", "date": "2024-05-01"})
    '2024-05-01'
    """
    values = (metadata.get(name) for name in _NAMES)
    return next((moment for value in values if isinstance(value, str) and (moment := read(value))), "")
