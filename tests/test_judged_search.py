"""``search(judge=True)``: a language model finds the turn that says how things are now, and it comes first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from memories import options
from recording_model import RecordingModel

from memgraph_rag import Memory

QUESTION = "How do I get to work?"
SAID = (("how do I get to work, the bike", "02"), ("soaked at the tram stop", "12"), ("a scooter to work?", "20"))


@pytest.fixture
def judge() -> RecordingModel:
    return RecordingModel(told={"bike": 0.8, "tram": 0.9})


@pytest.fixture
def memory(judge: RecordingModel) -> Iterator[Memory]:
    with Memory(":memory:", **options(layers=(), model=judge)) as memory:
        for user, said in (("ann", SAID), ("tom", [("tram to work, as ever", "25")])):
            turns = [{"role": "user", "content": text, "time": f"2026-05-{day}T08:00"} for text, day in said]
            memory.session(user=user).add(turns)
        yield memory


def first(found: Sequence[Any]) -> str:
    return found[0].text.partition("): ")[2].strip()


def test_turn_that_a_judge_finds_comes_first(memory: Memory) -> None:
    assert first(memory.search(QUESTION, user="ann", judge=True)) == SAID[1][0]
    assert first(memory.search(QUESTION, user="ann", judge=True, at="2026-05-08")) == SAID[0][0]


def test_search_asks_no_model_without_judge(memory: Memory, judge: RecordingModel) -> None:
    assert first(memory.search(QUESTION, user="ann")) != SAID[1][0]
    assert judge.judged == []


def test_judged_search_leaves_out_no_result(memory: Memory) -> None:
    plain, judged = (memory.search(QUESTION, user="ann", judge=judge) for judge in (False, True))
    assert {each.segment.id for each in plain} == {each.segment.id for each in judged}
    assert [each.score for each in plain] == [each.score for each in judged]


@pytest.mark.parametrize("query", ["How did I get to work before?", "bike", "What should I cook?"])
def test_judge_reads_nothing_for_other_questions(memory: Memory, judge: RecordingModel, query: str) -> None:
    assert memory.search(query, user="ann", judge=True) == memory.search(query, user="ann")
    assert judge.judged == []


@pytest.mark.parametrize("mode", ["keywords", "vector", "hybrid"])
def test_judge_reads_nothing_in_other_modes(memory: Memory, judge: RecordingModel, mode: Any) -> None:
    memory.search(QUESTION, user="ann", mode=mode, judge=True)
    assert judge.judged == []


def test_judge_reads_turns_of_the_scope_alone(memory: Memory, judge: RecordingModel) -> None:
    assert first(memory.scoped(user="ann").search(QUESTION, judge=True)) == SAID[1][0]
    assert sorted(judge.judged) == sorted(text for text, _ in SAID)
