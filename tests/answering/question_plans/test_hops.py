"""Hops: which phrase of a question is asked for first, and which value takes its place."""

from __future__ import annotations

from collections.abc import Generator

import pytest
from planning_models import finish
from tables import table

from memgraph_rag.answering.question_plans.hops import find_hop, spell_out_kinship
from memgraph_rag.answering.question_plans.plan_makers import RulePlans
from memgraph_rag.answering.question_plans.solving import follow_hops
from memgraph_rag.models.recognizers.noun_phrases import find_installed
from memgraph_rag.types import Part, Step

TITLES = ["Solaris (1972 film)", "The Blue Kite", "Ann Lee", "Bo Ray"]


@pytest.fixture(scope="module")
def find_phrases():
    finder = find_installed()
    assert finder is not None, "the extra dev installs a package"
    return finder.find_phrases


class Parts:
    """Values of parts that are searched for by themselves."""

    def __init__(self, **values: str) -> None:
        self.values = values
        self.asked: list[str] = []

    def keep(self, part: Part, /) -> Part:
        return part

    def ask(self, question: str, /, *, accepts) -> Generator[Step, None, Part]:
        yield from ()
        self.asked.append(question)
        value = self.values.get(question.split()[-1].rstrip("?"), "")
        return Part(question, value if accepts(value) else "")


@table(
    ("question", "asked"),
    [
        ("Who is the wife of the director of Solaris?", "Who is the director of Solaris?"),
        ("When did the director of film Solaris die?", "Who is the director of film Solaris?"),
        ("Where was Ann Lee's mother born?", "Who is Ann Lee's mother?"),
        ("Who was mayor of the city where Ann Lee was born?", "What is the city where Ann Lee was born?"),
        ("When did the country containing Solaris join the union?", "What is the country containing Solaris?"),
        ("When did the country containing Nugegoda join the union?", ""),
        ("Who is the wife of the captain of the ship of Ann Lee's father?", "Who is Ann Lee's father?"),
        ("Who is the sister of the captain of the Pequod?", ""),
        ("Where did Ann Lee's father study?", "Who is Ann Lee's father?"),
        ("What did the man who drew Ann Lee use as a model?", ""),
        ("Who is Ann Lee's father's mother?", "Who is Ann Lee's father?"),
        ("Who is the wife of Ann Lee?", ""),
        ("What is the capital of France?", ""),
        ("Where does Ann Lee live?", ""),
        ("Ann Lee stars in a film directed by whom?", ""),
    ],
)
def test_innermost_phrase_around_a_name_is_asked_for(find_phrases, question: str, asked: str) -> None:
    hop = find_hop(question, TITLES, find_phrases)
    assert (hop.question if hop else "") == asked


def test_kinship_with_a_dotless_i_is_spelt_out() -> None:
    assert spell_out_kinship("Who is Ann's mother-ın-law?") == "Who is Ann's spouse's mother?"


def test_kinship_is_spelt_out_step_by_step(find_phrases) -> None:
    question = spell_out_kinship("Who is the paternal grandfather of Ann Lee?")
    values = {"Who is the father of Ann Lee?": "Tom Lee"}

    def ask_again(asked: str) -> Part:
        return Part(asked, values.get(asked, ""))

    hops = follow_hops(
        question, TITLES, RulePlans(find_phrases), ask_again, "Tom Lee", Parts(), lambda name: name == "Tom Lee"
    )
    assert finish(hops) == "Who is the father of Tom Lee?"


NAMES = {"yes", "Ann Lee", "a person whose name is told nowhere in all of what was read", "Kim Po"}


@table("value", ["", *sorted(NAMES), "a person"])
def test_value_without_content_ends_the_hops(find_phrases, value: str) -> None:
    read = "Tom Lee is the father of Ann Lee. A person whose name is told nowhere in all of what was read."
    question = "Where was Ann Lee's father born?"
    plans = RulePlans(find_phrases)
    hops = follow_hops(
        question, TITLES, plans, lambda asked: Part(asked, value), read, (parts := Parts()), NAMES.__contains__
    )
    assert (finish(hops), parts.asked) == (None, [])


@table(("value", "rewritten"), [("Tom Lee", "Where did Kim Po meet Tom Lee?"), ("Kim Po", None)])
def test_other_thing_of_the_question_takes_no_place(find_phrases, value: str, rewritten: str | None) -> None:
    question, read = "Where did Kim Po meet Ann Lee's father?", "Kim Po met Tom Lee."
    hops = follow_hops(question, TITLES, RulePlans(find_phrases), lambda asked: Part(asked, value), read, Parts(), bool)
    assert finish(hops) == rewritten


@table(
    ("value", "rewritten"),
    [
        ("Oz", "Who rules Oz?"),
        ("", "Who rules the birthplace of Tom Lee?"),
        ("Ix", "Who rules the birthplace of Tom Lee?"),
    ],
)
def test_phrase_behind_a_name_is_searched_for_by_itself(find_phrases, value: str, rewritten: str) -> None:
    """The passages about the question need not be those about a name that was found in them."""
    parts, question = Parts(Lee=value), "Who rules the birthplace of Ann Lee's father?"
    behind = {"Who is Ann Lee's father?": "Tom Lee", "What is the birthplace of Tom Lee?": "Bonn"}

    def ask_again(asked: str) -> Part:
        return Part(asked, behind.get(asked, ""))

    names = {"Tom Lee", "Oz", "Bonn"}.__contains__
    hops = follow_hops(question, TITLES, RulePlans(find_phrases), ask_again, "Tom Lee", parts, names)
    assert (finish(hops), parts.asked) == (rewritten, ["What is the birthplace of Tom Lee?"])
