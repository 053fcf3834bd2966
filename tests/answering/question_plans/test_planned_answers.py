"""Answers of a memory whose questions are taken apart: parts, sources, limits, the stream."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from planning_models import HOP, PlanningModel, write_plan
from tables import table

from memgraph_rag import Limits, Memory
from memgraph_rag.answering.answer_style import WrittenAnswer
from memgraph_rag.answering.evidence import ReadEvidence
from memgraph_rag.answering.question_plans.part_reading import ReadPart
from memgraph_rag.answering.refusal import describe_parts
from memgraph_rag.strategies.walk import Walk
from memgraph_rag.testing import FakeEmbedder, FakeLanguageModel, FakeRecognizer, FakeSession
from memgraph_rag.text.citations import Quotes
from memgraph_rag.types import Answer, Part, Segment, Step, StopReason, Usage


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
