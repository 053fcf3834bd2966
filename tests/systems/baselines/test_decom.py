"""DECOM: the finds of the question and of its parts are read turn by turn."""

from __future__ import annotations

from hand_made import HandMadeGraph, HandMadeSearch, HandMadeSession, OneVector, segment
from tables import table

from memgraph_rag.contracts import ReadingContext
from memgraph_rag.systems.baselines.decom import Decom
from memgraph_rag.types import Step, StopReason

WHOLE = [segment(f"w{i}") for i in range(4)]
MAKER = [segment("m0"), WHOLE[0], segment("m1")]
BIRTH = [segment("b0"), segment("b1")]
QUESTION = "Where was the maker of Up born?"


def read(reply: str, *, k: int = 5) -> tuple[list[Step], HandMadeSearch]:
    search = HandMadeSearch(WHOLE, answers={"Who made Up?": MAKER, "Where was she born?": BIRTH})
    context = ReadingContext(
        graph=HandMadeGraph([*WHOLE, *MAKER, *BIRTH]),
        search=search,
        session=HandMadeSession(replies=[reply]),
        embedder=OneVector(),
    )
    return [step for (step,) in Decom(k=k).read(QUESTION, context)], search


def test_each_part_has_its_turn_and_no_segment_comes_twice() -> None:
    steps, search = read("1. Who made Up?\n2. Where was she born?", k=6)
    assert [step.node.id for step in steps] == ["w0", "m0", "b0", "w1", "b1", "w2"]
    assert search.queries == [QUESTION, "Who made Up?", "Where was she born?"]
    assert [step.reason for step in steps] == ["Who made Up? Where was she born?"] + [""] * 5
    assert steps[-1].stop is StopReason.EXHAUSTED


@table("reply", ["", "I cannot tell.", f"{QUESTION}", "?"])
def test_reply_without_a_part_leaves_the_question(reply: str) -> None:
    steps, search = read(reply)
    assert [step.node.id for step in steps] == ["w0", "w1", "w2", "w3"]
    assert search.queries == [QUESTION]
    assert steps[0].reason == ""


def test_no_more_than_three_parts_are_searched_for() -> None:
    _, search = read("".join(f"{number}) Who is number {number}?\n" for number in range(1, 9)))
    assert search.queries == [QUESTION, *(f"Who is number {number}?" for number in (1, 2, 3))]
