"""Summary: the highest points of each document, in its order, and segments where there are none."""

from __future__ import annotations

from hand_made import HandMadeGraph, HandMadeSearch, HandMadeSession, OneVector, ids, point, segment

from memgraph_rag.contracts import ReadingContext
from memgraph_rag.systems.baselines.summary import Summary
from memgraph_rag.types import StopReason

NODES = [
    *(segment(f"a{i}", "a", index=i) for i in range(2)),
    *(point(f"low{i}", "a", index=i) for i in range(2)),
    *(point(f"high{i}", "a", level=2, index=i) for i in range(2)),
    point("cluster", "a", level=3, layer="clusters"),
    segment("b0", "b"),
]


def read(window: int = 1_000, documents: list[str] | None = None):
    context = ReadingContext(
        graph=HandMadeGraph(NODES),
        search=HandMadeSearch(),
        session=HandMadeSession(window=window),
        embedder=OneVector(),
        documents=documents,
    )
    return [step for (step,) in Summary().read("Where is the fox?", context)]


def test_highest_points_are_read_and_segments_of_a_document_without() -> None:
    assert ids(read()) == ["high0", "high1", "b0"]
    assert ids(read(documents=["b"])) == ["b0"]


def test_summary_ends_where_the_window_does() -> None:
    steps = read(window=2 * 14)
    assert ids(steps) == ["high0", "high1"]
    assert steps[-1].stop is StopReason.WINDOW
