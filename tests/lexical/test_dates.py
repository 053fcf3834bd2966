"""Test how days are found in any form, and how a search compares them."""

from __future__ import annotations

from datetime import date

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tables import table

from memgraph_rag.lexical import dates
from memgraph_rag.lexical.bm25 import KeywordIndex
from memgraph_rag.lexical.dates import find_days_near, list_day_terms, list_query_terms
from memgraph_rag.lexical.tokenize import words

FULL = ["2026-08-27", "--08-27"]
BARE = ["--08-27", "any-08-27"]


@table(
    "text",
    [
        *("27 August 2026", "27 aug. 2026", "27-Aug-2026", "27th of August, 2026", "27. August 2026"),
        *("August 27, 2026", "Aug 27th 2026", "AUGUST 27 2026", "August\n27, 2026", "at 9:30 on August 27, 2026"),
        *("2026-08-27", "2026/8/27", "2026.08.27", "2026-08-27T10:00", "bread,2026-08-27,2.50"),
        *("27.8.2026", "27.08.26", "8/27/2026", "27/8/26", "27-8-2026", "2026年8月27日", "２０２６年８月２７日"),
    ],
)
def test_forms_of_a_day_have_one_term(text: str) -> None:
    assert list_day_terms(f"It was {text}.") == FULL


@table("text", ["27 August", "the 27th of August", "Aug 27", "August 27th", "27. Aug.", "8月27日"])
def test_a_day_without_a_year(text: str) -> None:
    assert list_day_terms(f"It was {text}.") == BARE


@table(
    "text",
    [
        *("30 February 2026", "2026-13-01", "August 2026", "2026-08", "in 3 may be", "may 3 times", "Mark 5", ""),
        *("192.168.1.2", "1/2/3/4", "12026-08-27", "August 27.5", "August 27%", "27 AprİL 2026"),
    ],
)
def test_text_without_day_has_no_term(text: str) -> None:
    assert list_day_terms(text) == []


def test_ambiguous_date_has_both_terms() -> None:
    assert list_day_terms("3/4/2026") == ["2026-04-03", "--04-03", "2026-03-04", "--03-04"]
    assert list_day_terms("3.4.2026") == ["2026-04-03", "--04-03"]
    assert list_day_terms("4/4/69 and 4/4/68") == ["1969-04-04", "--04-04", "2068-04-04", "--04-04"]


@table(
    ("question", "text", "is_met"),
    [
        ("27 August 2026?", "2026-08-27", True),
        ("27 August 2026?", "Aug 27", True),
        ("27 August 2026?", "2025-08-27", False),
        ("Aug 27?", "2025-08-27", True),
        ("Aug 27?", "27.8.", False),
        ("3/4/2026?", "4 March 2026", True),
        ("3/4/2026?", "3 April 2026", True),
    ],
)
def test_question_finds_the_same_day(question: str, text: str, is_met: bool) -> None:
    assert (not set(list_query_terms(question)).isdisjoint(list_day_terms(text))) is is_met


@given(st.text(alphabet="0123456789 -./,年月日thof May August ſİK\n", max_size=60))
def test_term_of_a_day_is_no_word(text: str) -> None:
    assert not {*list_day_terms(text), *list_query_terms(text)}.intersection(words(text))


def test_day_scores_like_a_word() -> None:
    index, rows = KeywordIndex(), np.arange(3)
    index.append([("", "bread 2026-08-27", ""), ("", "bread 28 August 2026", ""), ("2026-08-27", "bread and milk", "")])
    scores = index.scores(index.terms("27. Aug."), rows)
    assert scores[2] > scores[0] > scores[1] == 0
    np.testing.assert_array_equal(index.select_words(index.row_terms(0)), index.terms("bread 2026 08 27"))

    without = KeywordIndex()
    without.append(
        [("", "bread 2026 08 27", ""), ("", "bread 28 August, in 2026", ""), ("2026 08 27", "bread and milk", "")]
    )
    asked_words = "bread 08"
    np.testing.assert_array_equal(
        index.scores(index.terms(asked_words), rows), without.scores(without.terms(asked_words), rows)
    )


PIECES = ("3", "27", "2026", "08", "May", "august", "the", "of", "th", *".,-/年月日:%", *6 * " ")


@given(st.lists(st.sampled_from(PIECES)))
def test_fast_scan_finds_each_form_of_a_day(pieces: list[str]) -> None:
    text = "".join(pieces)

    everywhere = [match.span() for match in dates._FORM.finditer(text)]

    assert [match.span() for match in dates._find_matches(text)] == everywhere


@table(
    ("text", "near", "days"),
    [
        ("August 27, and 3/4/2026", date(2026, 1, 5), [(0, 9, date(2025, 8, 27))]),
        ("February 29", date(2025, 3, 1), [(0, 11, date(2024, 2, 29))]),
        ("February 29", date(2026, 3, 1), []),
        ("January 3", date(1, 1, 5), [(0, 9, date(1, 1, 3))]),
        ("January 3", date(9999, 12, 30), [(0, 9, date(9999, 1, 3))]),
    ],
)
def test_day_without_a_year_is_the_nearest_one(text: str, near: date, days: list[tuple[int, int, date]]) -> None:
    assert find_days_near(text, near) == days
