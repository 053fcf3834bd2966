"""Test that ISO 8601 is read alike on every Python, and that other texts give no time."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone

from hypothesis import given
from hypothesis import strategies as st
from tables import table

from memgraph_rag.lexical import timestamps


@table(
    ("text", "moment"),
    [
        ("2024-05-01", "2024-05-01"),
        ("20240501", "2024-05-01"),
        (" 2024-05-01\n", "2024-05-01"),
        ("2024-05-01T10", "2024-05-01T10:00:00"),
        ("2024-05-01T10:00", "2024-05-01T10:00:00"),
        ("2024-05-01 10:00:07", "2024-05-01T10:00:07"),
        ("20240501T100007Z", "2024-05-01T10:00:07+00:00"),
        ("2024-05-01T10:00Z", "2024-05-01T10:00:00+00:00"),
        ("2024-05-01t10:00z", "2024-05-01T10:00:00+00:00"),
        ("2024-05-01T10:00:07.25Z", "2024-05-01T10:00:07.250000+00:00"),
        ("2024-05-01T10:00:07,123456789", "2024-05-01T10:00:07.123456"),
        ("2024-05-01T10:00:07.000", "2024-05-01T10:00:07"),
        ("2024-05-01T10:00:00+02:00", "2024-05-01T10:00:00+02:00"),
        ("2024-05-01T10:00-0530", "2024-05-01T10:00:00-05:30"),
        ("2024-05-01 10:00:00 +02", "2024-05-01T10:00:00+02:00"),
        ("0476-09-04", "0476-09-04"),
    ],
)
def test_iso_is_read(text: str, moment: str):
    assert timestamps.read(text) == moment
    assert timestamps.read(moment) == moment


@table(
    "text",
    [
        "",
        " ",
        "noon",
        "1:56 pm on 8 May, 2023",
        "2024",
        "2024-05",
        "2024-5-1",
        "2024-0501",
        "2024-02-30",
        "2024-13-01",
        "0000-01-01",
        "2024-W18-3",
        "2024-05-01T24:00",
        "2024-05-01T10:60",
        "2024-05-01T10:00:60",
        "2024-05-01T10:0007",
        "2024-05-01T10:00+25:00",
        "2024-05-01T10:00+02:75",
        "2024-05-01T10:00 UTC",
        "2024-05-01Z",
        "2024-05-01T",
        "10:00",
        "٢٠٢٤-٠٥-٠١",
        "NaT",
        "1714557600",
    ],
)
def test_text_outside_iso_is_no_time(text: str):
    assert timestamps.read(text) == ""


zones = st.none() | st.integers(-1439, 1439).map(lambda minutes: timezone(timedelta(minutes=minutes)))


@given(st.dates() | st.datetimes(timezones=zones))
def test_isoformat_of_python_is_read_unchanged(moment: date | datetime):
    assert timestamps.read(moment.isoformat()) == moment.isoformat()


@given(st.text(st.sampled_from("0123456789-+:.,TZ ")))
def test_any_text_is_read_as_a_moment_or_gives_none(text: str):
    moment = timestamps.read(text)
    assert timestamps.read(moment) == moment


@table(
    ("text", "moment"),
    [
        ("2024-05-01T10:00Z", "2024-05-01T10:00:00+00:00"),
        ("8 May 2023 1:56 pm", "2023-05-08T13:56:00"),
        ("1:56 pm on 8 May, 2023", "2023-05-08T13:56:00"),
        ("May 8th, 2023", "2023-05-08"),
        ("8 May 2023 3pm", "2023-05-08T15:00:00"),
        ("2023/05/20 (Sat) 02:21", "2023-05-20T02:21:00"),
        ("2024-5-1", "2024-05-01"),
        ("13/5/2024", "2024-05-13"),
        ("Wed, 01 May 2024 10:00:00 +0200", "2024-05-01T10:00:00+02:00"),
        ("2024-05-01 10:00 UTC", "2024-05-01T10:00:00+00:00"),
        ("Wed May 01 2024 10:00:00 GMT+0200", "2024-05-01T10:00:00+02:00"),
        ("1 May 2024, 10:00 (UTC-3:30)", "2024-05-01T10:00:00-03:30"),
    ],
)
def test_a_certain_moment_is_understood_as_people_write_it(text: str, moment: str):
    assert timestamps.parse_time(text) == moment


@table(
    "text",
    [
        *("", "yesterday", "Monday", "noon", "10:00", "May 2024", "2024", "4/5/2024", "8/5/23", "1714557600"),
        *("2024-05-01 10:00 EST", "two minutes later", "2024-02-30", "2024-05-01T10:60", "x" * 1_000_000),
    ],
)
def test_uncertain_moment_gives_no_time(text: str):
    assert timestamps.parse_time(text) == ""


@given(st.text(st.sampled_from("0123456789-+:.,/() TZapmMy")) | st.text())
def test_any_text_is_understood_as_a_moment_or_as_none(text: str):
    moment = timestamps.parse_time(text)
    assert timestamps.read(moment) == moment


@table(
    ("metadata", "moment"),
    [
        ({}, ""),
        ({"date": "2024-05-01"}, "2024-05-01"),
        ({"date": "2024-05-01", "time": "2024-05-01T10:00"}, "2024-05-01T10:00:00"),
        ({"date": "2024-05-01", "time": "10:00"}, "2024-05-01"),
        ({"date": 20240501, "time": True}, ""),
        ({"Date": "2024-05-01", "year": "2024-05-01"}, ""),
    ],
)
def test_metadata_name_a_moment(metadata: dict[str, str | int | float | bool], moment: str):
    assert timestamps.find_metadata_time(metadata) == moment


@table(
    ("text", "later"),
    [
        ("2024-02-29T23:00:00+01:00", "2024-03-01T23:00:00+01:00"),
        ("0001-01-01T00:00:00+14:00", "0001-01-02T00:00:00+14:00"),  # has no instant in the calendar of UTC
        ("9999-12-30T23:59:59Z", "9999-12-31T23:59:59+00:00"),
        ("9999-12-31T10:00:00+14:00", "9999-12-31T20:00:00+00:00"),  # the day before in UTC
    ],
)
def test_later_moment_is_found_where_any_calendar_has_it(text: str, later: str) -> None:
    instant = timestamps.instant(text)
    assert instant is not None
    assert timestamps.later(instant, timedelta(days=1)) == datetime.fromisoformat(later)


@table("text", ["9999-12-31", "9999-12-31T23:59:59.999999Z", "9999-12-31T00:00:00-14:00"])
def test_calendar_has_no_later_instant(text: str) -> None:
    instant = timestamps.instant(text)
    assert instant is not None
    assert timestamps.later(instant, timedelta(days=1)) is None
