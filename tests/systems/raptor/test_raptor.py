"""RAPTOR's two ways to read a tree whose cosines are given."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hand_made import HandMadeGraph, HandMadeSession, ids, point, reading_context, segment
from tables import table

from memgraph_rag.contracts import Strategy
from memgraph_rag.strategies.support import find_support
from memgraph_rag.systems.raptor.strategies import Raptor, RaptorTraversal
from memgraph_rag.types import Node, Step, StopReason, Summarizes

NODES: list[Node] = [
    *(segment(f"s{number}", index=number) for number in range(6)),
    point("low", index=0, layer="clusters"),
    point("other", index=1, layer="clusters"),
    point("top", level=2, index=0, layer="clusters"),
    point("of another layer", layer="points"),
]
EDGES = [
    Summarizes("top", "low", 0.5),
    Summarizes("top", "s4", 0.5),
    Summarizes("low", "s0", 0.75),
    Summarizes("low", "s1", 0.25),
    Summarizes("other", "s2", 0.5),
    Summarizes("other", "s3", 0.5),
    Summarizes("of another layer", "s5", 1.0),
]
COSINES = {"s0": 0.1, "s1": 0.9, "s2": 0.8, "s3": 0.2, "s4": 0.3, "s5": 0.05} | {
    "low": 0.6, "other": 0.5, "top": 0.7, "of another layer": 1.0,
}  # fmt: skip


def read(strategy: Strategy, nodes: Sequence[Node] = NODES, session: HandMadeSession | None = None) -> list[Step]:
    context = reading_context(nodes, graph=HandMadeGraph(nodes, EDGES, similarity=COSINES), session=session)
    return [step for steps in strategy.read("Where is the fox?", context) for step in steps]


def test_the_collapsed_tree_is_read_by_cosine_from_all_levels() -> None:
    steps = read(Raptor())
    assert ids(steps) == ["s1", "s2", "top", "low", "other", "s4", "s3", "s0", "s5"]
    assert [step.score for step in steps] == sorted((COSINES[node] for node in ids(steps)), reverse=True)
    assert steps[-1].stop is StopReason.EXHAUSTED
    assert ids(read(Raptor(most_nodes=3))) == ["s1", "s2", "top"]


def test_the_collapsed_tree_stops_at_the_first_overflow() -> None:
    nodes = [*NODES[:2], segment("s2", index=2, tokens=25), *NODES[3:]]
    steps = read(Raptor(budget_tokens=30), nodes)
    assert (ids(steps), steps[-1].stop) == (["s1"], StopReason.MAX_TOKENS), "10 would fit behind 25, but are not read"
    assert ids(read(Raptor(budget_tokens=35), nodes)) == ["s1", "s2"]
    assert ids(read(Raptor(budget_tokens=5), nodes)) == ["s1"], "the best is read whatever it takes"


def test_traversal_reads_the_k_best_of_each_level_below_those_read() -> None:
    steps = read(RaptorTraversal(k=1))
    assert ids(steps) == ["top", "low", "s1"], "s5 and other are at the top, too, but further"
    assert ids(read(RaptorTraversal(k=2))) == ["top", "other", "s2", "low", "s1", "s0"]


def test_without_a_tree_segments_are_read() -> None:
    flat = NODES[:6]
    assert ids(read(Raptor(most_nodes=2), flat)) == ids(read(RaptorTraversal(k=2), flat)) == ["s1", "s2"]


def test_top_x_reads_as_far_as_its_budget() -> None:
    strategy = Raptor(budget_tokens=29_999, most_nodes=None)
    many: list[Node] = [segment(f"n{number:03}", index=number, tokens=300) for number in range(100)]
    steps = read(strategy, many, HandMadeSession(window=100_000))
    assert len(steps) == 99


@table("strategy", [Raptor(), RaptorTraversal()])
def test_text_beyond_the_window_is_not_read(strategy) -> None:
    session = HandMadeSession(window=40)
    steps = read(strategy, session=session)
    assert steps[-1].stop is StopReason.WINDOW
    assert session.read == ids(steps)


def test_a_summary_supports_by_the_segments_below_it() -> None:
    graph = HandMadeGraph(NODES, EDGES, similarity=COSINES)
    supports = {node.id: weight for node, weight in find_support([Step(NODES[8], 0.7, 0.0)], graph)}
    assert supports == pytest.approx({"s4": 0.5, "s0": 0.375, "s1": 0.125})
