"""From what was read to segments: path products against the enumeration of every path."""

from __future__ import annotations

import pytest
from hand_made import HandMadeGraph, Known, point, segment
from hypothesis import given
from hypothesis import strategies as st

from memgraph_rag.strategies.support import segments_by_score, segments_under
from memgraph_rag.types import Node, Step, Summarizes


def step(node: Node, attention: float) -> Step:
    return Step(node, 0.0, attention)


def paths_down(node: Node, graph: HandMadeGraph) -> list[tuple[str, float]]:
    """Segment and product of edge weights at the end of every path."""
    if node.level == 0:
        return [(node.id, 1.0)]
    return [
        (end, edge.weight * product)
        for edge in graph.successors([node.id])
        for (below,) in [graph.nodes([edge.target_id])]
        for end, product in paths_down(below, graph)
    ]


@st.composite
def readings(draw: st.DrawFn) -> tuple[list[Step], HandMadeGraph]:
    levels = [[segment(f"s{i}", index=i) for i in range(draw(st.integers(1, 4)))]]
    for level in (1, 2, 3):
        levels.append([point(f"p{level}{i}", level=level, index=i) for i in range(draw(st.integers(0, 3)))])
    edges = []
    for upper, lower in zip(levels[1:], levels, strict=False):
        for node in upper if lower else []:
            raw = draw(st.lists(st.integers(0, 5), min_size=len(lower), max_size=len(lower)).filter(any))
            edges += [Summarizes(node.id, low.id, w / sum(raw)) for low, w in zip(lower, raw, strict=True) if w]
    nodes = [node for level in levels for node in level]
    read = draw(st.lists(st.sampled_from(nodes), min_size=1, unique_by=lambda node: node.id))
    return [step(node, draw(st.integers(0, 9)) / 10) for node in read], HandMadeGraph(nodes, edges)


@given(readings())
def test_weights_are_the_sum_over_all_paths(reading: tuple[list[Step], HandMadeGraph]) -> None:
    trace, graph = reading
    total = sum(taken.attention for taken in trace)
    expected: dict[str, float] = {}
    for taken in trace:
        share = taken.attention / total if total else 1 / len(trace)
        for end, product in paths_down(taken.node, graph):
            expected[end] = expected.get(end, 0.0) + share * product
    found = segments_under(trace, graph)
    assert {node.id: weight for node, weight in found} == pytest.approx(expected)
    assert sum(weight for _, weight in found) <= 1 + 1e-9
    weights = [weight for _, weight in found]
    assert weights == sorted(weights, reverse=True)


def test_a_segment_read_itself_and_under_a_point_gets_both() -> None:
    s0, s1, p0 = segment("s0"), segment("s1", index=1), point("p0")
    graph = HandMadeGraph([s0, s1, p0], [Summarizes("p0", "s0", 0.75), Summarizes("p0", "s1", 0.25)])
    found = segments_under([step(p0, 0.2), step(s1, 0.6)], graph)
    assert [(node.id, weight) for node, weight in found] == [
        ("s1", pytest.approx(0.75 + 0.25 * 0.25)),
        ("s0", pytest.approx(0.25 * 0.75)),
    ]


def test_the_heaviest_are_kept_and_ties_go_by_id() -> None:
    nodes = [segment(f"s{i}", index=i) for i in (3, 1, 2, 0)]
    trace = [step(nodes[0], 0.4), *(step(node, 0.2) for node in nodes[1:])]
    assert [node.id for node, _ in segments_under(trace, HandMadeGraph(nodes), most=3)] == ["s3", "s0", "s1"]


def test_what_was_forgotten_meanwhile_is_passed_over() -> None:
    p0, s0 = point("p0"), segment("s0")
    graph = HandMadeGraph([s0], [Summarizes("p0", "s0", 0.5), Summarizes("p0", "gone", 0.5)])
    assert segments_under([step(p0, 1.0), step(segment("gone too"), 0.0)], graph) == [(s0, 0.5)]


def test_nothing_read_rests_on_nothing() -> None:
    assert segments_under([], HandMadeGraph([])) == []


def test_by_score_the_order_of_reading_and_of_attention_are_joined() -> None:
    nodes = [segment(f"s{number}", f"d{number}") for number in range(4)]
    trace = [Step(node, 0.0, attended) for node, attended in zip(nodes, (0.1, 0.2, 0.3, 0.9), strict=True)]
    found = segments_by_score(trace, HandMadeGraph(nodes), Known())
    # 1/11 + .8/14, 1/12 + .8/13, 1/13 + .8/12, 1/14 + .8/11
    assert [one.id for one, _ in found] == ["s0", "s1", "s3", "s2"]
    assert found[2][1] == pytest.approx(1 / 14 + 0.8 / 11)


def test_by_score_attention_that_ranks_nothing_leaves_the_order_of_reading() -> None:
    nodes = [segment(f"s{number}", f"d{number}") for number in range(9)]
    trace = [Step(node, 0.0, place) for place, node in enumerate(nodes)]
    found = segments_by_score(trace, HandMadeGraph(nodes), Known(attention_weight=0.0))
    assert [one.id for one, _ in found] == [node.id for node in nodes]


def test_by_score_what_a_point_summarises_takes_its_share() -> None:
    nodes = [segment("s0"), segment("s1", index=1), point("p0")]
    graph = HandMadeGraph(nodes, [Summarizes("p0", "s0", 0.25), Summarizes("p0", "s1", 0.75)])
    found = segments_by_score([Step(nodes[2], 0.0, 1.0)], graph, Known())
    assert [one.id for one, _ in found] == ["s1", "s0"]
    assert found[0][1] == pytest.approx(3 * found[1][1])
