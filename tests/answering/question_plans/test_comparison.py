"""Comparisons: what is asked of each thing, and how code puts the values together."""

from __future__ import annotations

import sys
from collections.abc import Generator
from typing import Any

import pytest
from planning_models import finish
from tables import table

from memgraph_rag.answering.question_plans.comparison import Comparison, find_comparison
from memgraph_rag.answering.question_plans.countries import is_same_country, list_codes
from memgraph_rag.answering.question_plans.elapsed import find_elapsed
from memgraph_rag.answering.question_plans.solving import solve_comparison, solve_elapsed
from memgraph_rag.answering.question_plans.values import compare_dates, is_same
from memgraph_rag.types import Part, Step

TITLES = ["Solaris (1972 film)", "The Blue Kite", "Ann Lee", "Bo Ray"]


@table(
    ("question", "how", "asked"),
    [
        ("Who was born first, Ann Lee or Bo Ray?", "earlier", ("When was Ann Lee born?", "When was Bo Ray born?")),
        ("Who was born later, Ann Lee or Bo Ray?", "later", ("When was Ann Lee born?", "When was Bo Ray born?")),
        ("Who is younger, Ann Lee or Bo Ray?", "later", ("When was Ann Lee born?", "When was Bo Ray born?")),
        ("Who died earlier, Ann Lee or Bo Ray?", "earlier", ("When did Ann Lee die?", "When did Bo Ray die?")),
        ("Was Ann Lee or Bo Ray born first?", "earlier", ("When was Ann Lee born?", "When was Bo Ray born?")),
        ("Who was born first out of Kim Po and Jo Ash?", "earlier", ("When was Kim Po born?", "When was Jo Ash born?")),
        (
            "Which film came out more recently, Solaris or The Blue Kite?",
            "later",
            ("When was Solaris released or published?", "When was The Blue Kite released or published?"),
        ),
        (
            "Which did I see first - Solaris or The Blue Kite?",
            "earlier",
            ("What is the date of this: Solaris?", "What is the date of this: The Blue Kite?"),
        ),
        ("Which is higher, Solaris or Ann Lee?", "larger", ("How high is Solaris?", "How high is Ann Lee?")),
        ("Which is the lower peak: Solaris or Ann Lee?", "smaller", ("How high is Solaris?", "How high is Ann Lee?")),
        (
            "Who has fewer bees, Ann Lee or Bo Ray?",
            "smaller",
            ("How many bees does Ann Lee have?", "How many bees does Bo Ray have?"),
        ),
        (
            "Are Ann Lee and Bo Ray of the same nationality?",
            "same country",
            ("What is the nationality of Ann Lee?", "What is the nationality of Bo Ray?"),
        ),
        (
            "Were Ann Lee and Bo Ray both born in the same town?",
            "same",
            ("In which town was Ann Lee born?", "In which town was Bo Ray born?"),
        ),
        (
            "Did Ann Lee and Bo Ray work for the same paper?",
            "same",
            ("For which paper did Ann Lee work?", "For which paper did Bo Ray work?"),
        ),
        (
            "Are Ann Lee and Bo Ray natives of the same town?",
            "same",
            ("Which town is that of Ann Lee?", "Which town is that of Bo Ray?"),
        ),
        (
            "Are Ann Lee and Bo Ray both located in the same country?",
            "same country",
            ("In which country is Ann Lee located?", "In which country is Bo Ray located?"),
        ),
    ],
)
def test_comparison_asks_both_things_the_same_question(question: str, how: str, asked: tuple[str, str]) -> None:
    plan = find_comparison(question, lambda: TITLES)
    assert plan is not None
    assert (plan.how, plan.questions(), plan.role) == (how, asked, "")


def test_role_is_asked_for_first() -> None:
    plan = find_comparison("Which film has the director who was born later, Solaris or The Blue Kite?", lambda: TITLES)
    assert plan is not None
    assert plan.role_questions() == ("Who is the director of Solaris?", "Who is the director of The Blue Kite?")
    assert plan.asked == "When was {} born?"


@table(
    "question",
    [
        "Where does Ann Lee live?",
        "Does Ann Lee or Bo Ray keep bees?",
        "Who directed Solaris and when was it released?",
        "Did Ann Lee and Bo Ray meet?",
        "Who keeps bees and hens?",
        "Does Ann Lee keep bees and hens?",
        "Which poet is American, Ann Lee or Bo Ray?",
        "Who held the higher rank, Ann Lee or Bo Ray?",
        "Are Ann Lee and Bo Ray both members of the choir?",
    ],
)
def test_ordinary_question_is_no_comparison(question: str) -> None:
    assert find_comparison(question, lambda: TITLES) is None


@table(
    ("first", "second", "order"),
    [
        ("12 May 1950", "1961", -1),
        ("born on 12 May 1950", "3 May 1950", 1),
        ("May 1950", "June 1950", -1),
        ("1950", "12 May 1950", None),
        ("1950", "1950", None),
        ("1950", "not mentioned", None),
        ("2026-03-28", "1 March 2026", 1),
        ("3 aprıl 1950", "3 May 1950", -1),
    ],
)
def test_dates_are_compared_by_their_common_precision(first: str, second: str, order: int | None) -> None:
    assert compare_dates(first, second) == order


def test_values_with_a_common_content_word_are_equal() -> None:
    assert is_same("an American poet", "American")
    assert not is_same("the king of France", "the queen of Spain")


@table(
    ("first", "second", "is_same"),
    [
        ("Michigan", "St. Louis, Missouri", True),
        ("American", "the United States", True),
        ("USA", "U.S.", True),
        ("Georgia", "Tbilisi", True),
        ("Georgia", "Atlanta, Alabama", True),
        ("Shkodër County, Albania", "Iran", False),
        ("a French-American poet", "French", True),
        ("Soviet", "a Soviet poet", True),
        ("Soviet", "American", False),
    ],
)
def test_countries_are_the_same_if_two_places_may_lie_in_one(first: str, second: str, is_same: bool) -> None:
    assert is_same_country(first, second) == is_same


def test_countries_are_words_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """The package countryinfo needs Python 3.11."""
    monkeypatch.setitem(sys.modules, "countryinfo", None)
    list_codes.cache_clear()
    assert not is_same_country("Michigan", "Missouri")
    assert is_same_country("Iran", "northern Iran")
    list_codes.cache_clear()


def ask_from(values: dict[str, str]):
    def ask(question: str, *, event: str = "") -> Generator[Step, None, Part]:
        yield from ()
        return Part(question, values.get(question, ""))

    return ask


def solve(plan: Comparison, values: dict[str, str]):
    return finish(solve_comparison(plan, ask_from(values)))


BORN = Comparison(("Solaris", "Kite"), "later", "When was {} born?", "director")


def test_values_of_the_roles_are_compared() -> None:
    values = {
        "Who is the director of Solaris?": "Tarkovsky",
        "Who is the director of Kite?": "Tian",
        "When was Tarkovsky born?": "4 April 1932",
        "When was Tian born?": "1952",
    }
    solved = solve(BORN, values)
    assert (solved.short, solved.text) == ("Kite", "Kite: 4 April 1932 for Solaris, 1952 for Kite.")


def test_comparison_without_a_value_gives_no_answer() -> None:
    assert solve(BORN, {"When was the director of Solaris born?": "1932"}) is None


@table(
    ("question", "short"),
    [
        ("How many days passed between the demo and the launch?", "19 days"),
        ("How many weeks are there from the demo to the launch?", "3 weeks"),
        ("How many days after the demo did the launch?", "19 days"),
        ("How many weeks did it take us to launch after the demo?", "3 weeks"),
        ("How long is it between the demo and the launch?", "19 days"),
        ("Was the demo before or after the launch?", "before"),
        ("How many years passed between the demo and the launch?", "0 years"),
    ],
)
def test_time_between_two_days_is_counted_by_code(question: str, short: str) -> None:
    plan = find_elapsed(question)
    assert plan is not None
    asked, other = plan.questions()
    solved = finish(solve_elapsed(plan, ask_from({asked: "12 March 2026", other: "on 31 March 2026"})))
    assert (solved.short, solved.plan) == (short, "elapsed")


@table(
    ("question", "events"),
    [
        ("How many weeks passed between Ann adopting Coco and Shadow?", ("Ann adopting Coco", "Ann adopting Shadow")),
        ("How long is it between Ann Lee and Bo Ray?", ("Ann Lee", "Bo Ray")),
        (
            "How many days lie between the day for film and music and my exam?",
            ("the day for film and music", "my exam"),
        ),
    ],
)
def test_and_joins_two_events(question: str, events: tuple[str, str]) -> None:
    plan = find_elapsed(question)
    assert plan is not None
    assert plan.events == events


@table("launched", ["", "12 March 2026"])
def test_unknown_or_equal_days_are_not_counted(launched: str) -> None:
    plan = find_elapsed("How many days passed between the demo and the launch?")
    assert plan is not None
    demo, launch = plan.questions()
    assert finish(solve_elapsed(plan, ask_from({demo: "12 March 2026", launch: launched}))) is None


@table(
    ("how", "first", "second", "short"),
    [
        ("larger", "12 km", "9,000 metres", "Solaris"),
        ("smaller", "two", "3 million", "Solaris"),
        ("larger", "red", "3", None),
        ("larger", "two mıllıon", "ſix", "Solaris"),
    ],
)
def test_undecided_comparison_gives_no_answer(how: Any, first: str, second: str, short: str | None) -> None:
    plan = Comparison(("Solaris", "Kite"), how, "{}?")
    solved = solve(plan, {"Solaris?": first, "Kite?": second})
    assert (solved.short if solved else None) == short


def test_longer_life_is_counted_from_two_dates() -> None:
    plan = find_comparison("Who lived a longer life, Ann Lee or Bo Ray?", lambda: TITLES)
    assert plan is not None
    values = {
        "When was Ann Lee born?": "1900", "When did Ann Lee die?": "3 May 1950",
        "When was Bo Ray born?": "1920", "When did Bo Ray die?": "1990",
    }  # fmt: skip
    assert solve(plan, values).short == "Bo Ray"


def test_titles_are_searched_only_for_a_comparison() -> None:
    def never() -> list[str]:
        raise AssertionError("titles were searched")

    assert find_comparison("Where do Ann Lee and Bo Ray live?", never) is None
    assert find_comparison("Is Ann Lee older than me?", never) is None
