"""Everything from the beginning, in the order of the documents, until it ends or the window does."""

from __future__ import annotations

from hand_made import HandMadeSession, point, read_all, reading_context, segment

from memgraph_rag.contracts import Strategy
from memgraph_rag.systems.baselines.full_context import FullContext
from memgraph_rag.types import Limits, Step, StopReason

NODES = [
    *(segment(f"b{i}", "b", index=i) for i in (2, 0, 1)),
    *(segment(f"a{i}", "a", index=i) for i in (0, 1)),
    point("p0", "a"),
]


def read(
    *,
    nodes=NODES,
    window: int = 1_000_000,
    documents=None,
    strategy: Strategy | None = None,
    limits: Limits | None = None,
) -> list[Step]:
    session = HandMadeSession({"a1": 0.5}, window=window)
    context = reading_context(nodes, session=session, limits=limits, documents=documents)
    return read_all(strategy or FullContext(), context)


def test_segments_are_read_in_the_order_of_the_documents() -> None:
    steps = read()
    assert [step.node.id for step in steps] == ["a0", "a1", "b0", "b1", "b2"]
    assert [step.attention for step in steps] == [0.0, 0.5, 0.0, 0.0, 0.0]
    assert [step.stop for step in steps] == [None] * 4 + [StopReason.EXHAUSTED]


def test_given_documents_are_read_in_the_order_given() -> None:
    assert [step.node.id for step in read(documents=["b", "a"])] == ["b0", "b1", "b2", "a0", "a1"]
    assert [step.node.id for step in read(documents=["b"])] == ["b0", "b1", "b2"]


def test_reading_stops_before_a_segment_that_does_not_fit() -> None:
    steps = read(window=14 * 3 + 5)
    assert [step.node.id for step in steps] == ["a0", "a1", "b0"]
    assert steps[-1].stop is StopReason.WINDOW


def test_nothing_is_read_where_nothing_fits_or_nothing_is_there() -> None:
    assert read(window=13) == []
    assert read(nodes=[]) == []
    assert read(documents=[]) == []


def test_vanilla_keeps_the_right_end_in_the_order_of_the_documents() -> None:
    def ids(**options) -> list[str]:
        return [step.node.id for step in read(strategy=FullContext(keep="end"), **options)]

    assert ids() == ["a0", "a1", "b0", "b1", "b2"]
    assert ids(window=14 * 3 + 5) == ["b0", "b1", "b2"]
    assert ids(limits=Limits(nodes=2)) == ["b1", "b2"]
    assert ids(limits=Limits(tokens=5 + 14)) == ["b2"], "5 were read of the question"
    assert ids(window=13) == []
