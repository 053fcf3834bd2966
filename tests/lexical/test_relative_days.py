"""Test which days relative words name by the day of their text; uncertain words name none."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tables import table

from memgraph_rag.lexical.relative_days import relative_days

SAID = "2026-05-12T18:00:00"  # a Tuesday


@table(
    ("text", "first", "last"),
    [
        ("I saw her yesterday.", "2026-05-11", "2026-05-11"),
        ("It broke the day before yesterday.", "2026-05-10", "2026-05-10"),
        ("We fly tomorrow", "2026-05-13", "2026-05-13"),
        ("Last Friday we met", "2026-05-08", "2026-05-08"),
        ("last Tuesday", "2026-05-05", "2026-05-05"),
        ("next Tuesday", "2026-05-19", "2026-05-19"),
        ("this Friday", "2026-05-15", "2026-05-15"),
        ("last week", "2026-05-04", "2026-05-10"),
        ("two weeks ago", "2026-04-27", "2026-05-03"),
        ("in 3 days", "2026-05-15", "2026-05-15"),
        ("last weekend", "2026-05-09", "2026-05-10"),
        ("three months ago", "2026-02-01", "2026-02-28"),
        ("last year", "2025-01-01", "2025-12-31"),
        ("last May", "2025-05-01", "2025-05-31"),
        ("next June", "2026-06-01", "2026-06-30"),
        ("last frıday", "2026-05-08", "2026-05-08"),  # of a Turkish keyboard
        ("THİS MORNİNG", "2026-05-12", "2026-05-12"),
        ("sıx days ago", "2026-05-06", "2026-05-06"),
    ],
)
def test_relative_words_name_days(text: str, first: str, last: str) -> None:
    (days,) = relative_days(text, SAID)
    assert (days.first.isoformat(), days.last.isoformat()) == (first, last)
    assert days.words in text


@table(
    "text",
    [
        "a few days ago",
        "1.5 weeks ago",
        "1,000 days ago",
        "2–3 days ago",
        "twenty-two days ago",
        "two or three days ago",
        "half a year ago",
        "less than a week ago",
        "a year and two months ago",
        "in a week or two",
        "on Friday",
        "the last of us",
        "next to the church",
        "last August of 2020",
        "999 years ago back",
    ],
)
def test_uncertain_words_name_no_day(text: str) -> None:
    assert [days for days in relative_days(text, SAID) if days.first.year > 2000] == []


def test_turn_without_a_day_resolves_no_relative_day() -> None:
    assert relative_days("yesterday", "") == relative_days("yesterday", "noon") == ()
    assert relative_days("one year ago", "0001-01-01") == ()


def test_spans_are_written_in_the_shortest_form() -> None:
    text = "yesterday, last week, two weeks ago, last month, last year"
    assert [str(days).partition(": ")[2] for days in relative_days(text, SAID)] == [
        "11 May 2026",
        "4 to 10 May 2026",
        "27 April 2026 to 3 May 2026",
        "April 2026",
        "2025",
    ]


@given(st.text(), st.dates())
def test_relative_day_quotes_the_text(text: str, day: object) -> None:
    for days in relative_days(f"{text} yesterday {text}", str(day)):
        assert days.words in f"{text} yesterday {text}"
        assert days.first <= days.last


@table("said", ["0001-01-01", "9999-12-31"])
@table("words", ["today", "yesterday", "tomorrow", "this week", "this month", "this year", "last May"])
def test_days_at_the_ends_of_the_calendar_can_be_written(words: str, said: str) -> None:
    assert all(str(days).startswith(words) for days in relative_days(f"I ran {words}.", said))


def test_last_year_of_the_calendar_is_written() -> None:
    assert [str(days) for days in relative_days("I ran this year.", "9999-12-31")] == ["this year: 9999"]
