"""Questions that are taken apart: what is asked of each part, and how code puts the values together."""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from planning_models import HOP, PlanningModel, write_plan
from tables import table

from memgraph_rag import Limits, Memory
from memgraph_rag.answering.answer_style import WrittenAnswer
from memgraph_rag.answering.evidence import ReadEvidence
from memgraph_rag.answering.question_plans.comparison import Comparison, find_comparison
from memgraph_rag.answering.question_plans.countries import is_same_country, list_codes
from memgraph_rag.answering.question_plans.elapsed import find_elapsed
from memgraph_rag.answering.question_plans.hops import find_hop, spell_out_kinship
from memgraph_rag.answering.question_plans.part_reading import ReadPart
from memgraph_rag.answering.question_plans.plan_makers import RulePlans
from memgraph_rag.answering.question_plans.solving import follow_hops, solve_comparison, solve_elapsed
from memgraph_rag.answering.question_plans.values import compare_dates, is_same
from memgraph_rag.answering.refusal import describe_parts
from memgraph_rag.models.recognizers.noun_phrases import find_installed
from memgraph_rag.strategies.walk import Walk
from memgraph_rag.testing import FakeEmbedder, FakeLanguageModel, FakeRecognizer, FakeSession
from memgraph_rag.text.citations import Quotes
from memgraph_rag.types import Answer, Part, Segment, Step, StopReason, Usage

TITLES = ["Solaris (1972 film)", "The Blue Kite", "Ann Lee", "Bo Ray"]


@pytest.fixture(scope="module")
def find_phrases():
    finder = find_installed()
    assert finder is not None, "the extra dev installs a package"
    return finder.find_phrases


# ── comparisons ──────────────────────────────────────────────────────────────────────────────────────────────


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
    return run(solve_comparison(plan, ask_from(values)))


def run(work: Generator[Any, None, Any]) -> Any:
    """Run to the end, and return what is returned there."""
    while True:
        try:
            next(work)
        except StopIteration as ended:
            return ended.value


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
    solved = run(solve_elapsed(plan, ask_from({asked: "12 March 2026", other: "on 31 March 2026"})))
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
    assert run(solve_elapsed(plan, ask_from({demo: "12 March 2026", launch: launched}))) is None


@table(
    ("how", "first", "second", "short"),
    [
        ("larger", "12 km", "9,000 metres", "Solaris"),
        ("smaller", "two", "3 million", "Solaris"),
        ("larger", "red", "3", None),
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


# ── hops ─────────────────────────────────────────────────────────────────────────────────────────────────────


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


def test_kinship_is_spelt_out_step_by_step(find_phrases) -> None:
    question = spell_out_kinship("Who is the paternal grandfather of Ann Lee?")
    values = {"Who is the father of Ann Lee?": "Tom Lee"}

    def ask_again(asked: str) -> Part:
        return Part(asked, values.get(asked, ""))

    hops = follow_hops(
        question, TITLES, RulePlans(find_phrases), ask_again, "Tom Lee", Parts(), lambda name: name == "Tom Lee"
    )
    assert run(hops) == "Who is the father of Tom Lee?"


NAMES = {"yes", "Ann Lee", "a person whose name is told nowhere in all of what was read", "Kim Po"}


@table("value", ["", *sorted(NAMES), "a person"])
def test_value_without_content_ends_the_hops(find_phrases, value: str) -> None:
    read = "Tom Lee is the father of Ann Lee. A person whose name is told nowhere in all of what was read."
    question = "Where was Ann Lee's father born?"
    plans = RulePlans(find_phrases)
    hops = follow_hops(
        question, TITLES, plans, lambda asked: Part(asked, value), read, (parts := Parts()), NAMES.__contains__
    )
    assert (run(hops), parts.asked) == (None, [])


@table(("value", "rewritten"), [("Tom Lee", "Where did Kim Po meet Tom Lee?"), ("Kim Po", None)])
def test_other_thing_of_the_question_takes_no_place(find_phrases, value: str, rewritten: str | None) -> None:
    question, read = "Where did Kim Po meet Ann Lee's father?", "Kim Po met Tom Lee."
    hops = follow_hops(question, TITLES, RulePlans(find_phrases), lambda asked: Part(asked, value), read, Parts(), bool)
    assert run(hops) == rewritten


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
    assert (run(hops), parts.asked) == (rewritten, ["What is the birthplace of Tom Lee?"])


# ── the memory ───────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Memory]:
    said = {
        "When was Ann Lee born?": "12 May 1950",
        "When was Bo Ray born?": "1961",
        "When was Zed Unknown born?": "1789",
        "Who is the director of Solaris?": "Andrei Tarkovsky",
        "Where was Andrei Tarkovsky born?": "Zavrazhye",
        "What is the date of this: the pottery class?": "yesterday",
        "What is the date of this: the half marathon?": "I ran the half marathon",
        "What is the date of this: the reunion?": "2026-03-02T10:00",
    }
    answer_else = FakeSession.answer

    def answer(self: FakeSession, *, max_tokens: int, request: str = "") -> Iterator[str]:
        for question, value in said.items():
            if question in request:
                self.usage += Usage(1, 1, 1)
                return iter([value])
        return answer_else(self, max_tokens=max_tokens, request=request)

    monkeypatch.setattr(FakeSession, "answer", answer)
    with Memory(
        tmp_path / "people.lbug",
        model=FakeLanguageModel(yes=[0.9] * 99),
        embedder=FakeEmbedder(256),
        recognizer=FakeRecognizer(),
    ) as memory:
        memory.add("Ann Lee was born on 12 May 1950 in York.", key="ann", title="Ann Lee")
        memory.add("Bo Ray was born in 1961.", key="bo", title="Bo Ray")
        memory.add("Solaris was directed by Andrei Tarkovsky.", key="solaris", title="Solaris")
        memory.add("Andrei Tarkovsky was born in Zavrazhye.", key="tarkovsky", title="Andrei Tarkovsky")
        yield memory


def test_answer_of_a_comparison_holds_its_parts_and_their_sources(memory: Memory) -> None:
    answer = memory.ask("Who was born first, Ann Lee or Bo Ray?")
    assert (answer.short, answer.abstained) == ("Ann Lee", False)
    assert answer.text == "Ann Lee: 12 May 1950 for Ann Lee, 1961 for Bo Ray."
    assert [(part.question, part.value) for part in answer.parts] == [
        ("When was Ann Lee born?", "12 May 1950"),
        ("When was Bo Ray born?", "1961"),
    ]
    assert {citation.document_key for citation in answer.citations} == {"ann", "bo"}


def test_second_part_names_the_value_of_the_first(memory: Memory) -> None:
    answer = memory.ask("Where was the director of Solaris born?", style="short")
    assert (answer.text, answer.short) == ("Zavrazhye", "Zavrazhye")
    assert [(part.question, part.value) for part in answer.parts] == [
        ("Who is the director of Solaris?", "Andrei Tarkovsky"),
        ("Where was Andrei Tarkovsky born?", "Zavrazhye"),
    ]
    assert [part.citations[0].document_key for part in answer.parts] == ["solaris", "tarkovsky"]
    assert answer.plan == "hop"
    assert "tarkovsky" in {citation.document_key for citation in answer.citations}


@table("question", ["Who was born first, Ann Lee or Bo Ray?", "Where was the director of Solaris born?"])
def test_stream_yields_each_node_once_and_the_text_of_the_answer(memory: Memory, question: str) -> None:
    items = [*memory.stream(question)]
    (answer,) = [item for item in items if isinstance(item, Answer)]
    steps = [item for item in items if isinstance(item, Step)]
    assert [step.node.id for step in steps] == [step.node.id for step in answer.trace]
    assert len({step.node.id for step in steps}) == len(steps)
    assert "".join(item for item in items if isinstance(item, str)) == answer.text


def test_walk_without_plans_reads_the_question_as_it_is(memory: Memory) -> None:
    assert memory.ask("Who was born first, Ann Lee or Bo Ray?", strategy=Walk(plans=False)).parts == ()


def test_planner_takes_the_question_apart(memory: Memory) -> None:
    planner = PlanningModel(write_plan(**HOP | {"ask": "Who is the director of Solaris?"}))
    answer = memory.ask("Where was the director of Solaris born?", style="short", strategy=Walk(planner=planner))
    assert (answer.text, answer.plan) == ("Zavrazhye", "hop")
    assert answer.usage.generated_tokens >= 10, "the planner writes for the question, and for the rewritten one"


def test_kept_trace_of_a_plan_can_be_shown(memory: Memory) -> None:
    memory.ask("Who was born first, Ann Lee or Bo Ray?", keep_trace=True)
    (kept,) = memory.questions()
    assert {step.node.text for step in kept.answer.trace} >= {"Bo Ray was born in 1961."}


def test_limit_ends_the_parts_of_a_comparison(memory: Memory) -> None:
    answer = memory.ask("Who was born first, Ann Lee or Bo Ray?", limits=Limits(nodes=1))
    assert [part.value for part in answer.parts] == ["12 May 1950", ""]
    assert (answer.stop_reason, answer.plan) == (StopReason.MAX_NODES, "direct")


def test_part_about_an_unknown_person_has_no_value(memory: Memory) -> None:
    answer = memory.ask("Who was born first, Ann Lee or Zed Unknown?")
    assert [part.value for part in answer.parts] == ["12 May 1950", ""]


def test_stream_yields_a_part_after_its_steps(memory: Memory) -> None:
    items = [*memory.stream("Where was the director of Solaris born?")]
    answer = items[-1]
    assert isinstance(answer, Answer)
    places = [place for place, item in enumerate(items) if isinstance(item, Part)]
    assert tuple(items[place] for place in places) == answer.parts
    read = [sum(isinstance(item, Step) for item in items[:place]) for place in places]
    assert [part.nodes_read for part in answer.parts] == read


@table("question", ["Who was born first, Ann Lee or Bo Ray?", "Where was the director of Solaris born?"])
def test_document_forgotten_while_read_is_not_quoted(memory: Memory, question: str) -> None:
    gone = "ann" if "Ann" in question else "tarkovsky"
    items = memory.stream(question)
    next(items)
    memory.forget(gone)
    *_, answer = items
    assert isinstance(answer, Answer)
    cited = [*answer.citations, *(citation for part in answer.parts for citation in part.citations)]
    assert gone not in {citation.document_key for citation in cited}


def test_titles_are_searched_only_for_a_comparison() -> None:
    def never() -> list[str]:
        raise AssertionError("titles were searched")

    assert find_comparison("Where do Ann Lee and Bo Ray live?", never) is None
    assert find_comparison("Is Ann Lee older than me?", never) is None


def test_last_part_without_a_value_shows_found_parts(memory: Memory) -> None:
    memory.forget("tarkovsky")
    answer = memory.ask("Where was the director of Solaris born?")
    assert (answer.abstained, answer.short, answer.citations) == (True, "", ())
    assert answer.text == (
        "Found: Who is the director of Solaris? Andrei Tarkovsky. "
        "Nothing in memory answers: Where was Andrei Tarkovsky born?"
    )


def tell(memory: Memory, *turns: tuple[str, str]) -> None:
    """Store turns of Ann, each with its time."""
    said = [{"role": "user", "content": content, "time": time} for content, time in turns]
    memory.session(user="ann", session="spring").add(said)


def test_event_has_the_day_of_its_turn(memory: Memory) -> None:
    tell(
        memory,
        ("The pottery class began yesterday.", "2026-03-02T10:00"),
        ("I ran the half marathon today.", "2026-03-28T10:00"),
    )
    answer = memory.ask("How many days passed between the pottery class and the half marathon?", user="ann")
    assert (answer.short, answer.plan) == ("27 days", "elapsed")


def test_event_has_the_day_that_its_turn_names(memory: Memory) -> None:
    tell(
        memory,
        ("The pottery class began yesterday.", "2026-03-02T10:00"),
        ("I postponed the reunion to April 10.", "2026-03-02T10:00"),
    )
    answer = memory.ask("How many days are there between the pottery class and the reunion?", user="ann")
    assert answer.short == "40 days"
    assert [part.citations[0].quote[-9:] for part in answer.parts[1:]] == ["April 10."]


@table(("is_spent", "why"), [(False, "Nothing in memory answers"), (True, "Not read within the limit")])
def test_part_without_a_value_has_its_reason(*, is_spent: bool, why: str) -> None:
    parts = [Part("When was Ann born?", "1950"), Part("When was Bo born?", "")]
    assert describe_parts(parts, is_spent=is_spent) == f"Found: When was Ann born? 1950. {why}: When was Bo born?"
    assert describe_parts(parts[:1], is_spent=is_spent) == ""
    assert describe_parts(parts[1:], is_spent=is_spent) == ""


@table(
    ("value", "text", "title", "holds"),
    [
        ("York", "Tarkovsky was born in York.", "A life", True),
        ("American", "Tarkovsky lives in the United States.", "A life", True),
        ("American", "He lives in the United States.", "A life", False),
        ("Russian", "Tarkovsky lives in the United States.", "A life", False),
        ("York", "He was born in York.", "Tarkovsky", True),
        ("York", "He was born in York.", "A life", False),
        ("York", "Tarkovsky made films.", "York", False),
    ],
)
def test_value_comes_from_a_passage_that_names_the_thing(value: str, text: str, title: str, *, holds: bool) -> None:
    segment = Segment("s", "d", 0, text, 0, len(text), 5)
    evidence = ReadEvidence([segment], {"d": "key"}, {"d": title}, Quotes([], keys={}, embedder=FakeEmbedder(8)))
    assert ReadPart(WrittenAnswer(short=value), evidence).holds_value(["Andrei Tarkovsky"]) is holds
