"""Test the segments that support a trace: path products against the enumeration of every path."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hand_made import HandMadeGraph, point, segment
from hypothesis import given
from hypothesis import strategies as st

from memgraph_rag.strategies.support import find_support
from memgraph_rag.types import Node, Overview, Step, Summarizes


def step(node: Node, attention: float, score: float = 0.0) -> Step:
    return Step(node, score, attention)


def paths_down(node: Node, graph: HandMadeGraph) -> list[tuple[str, float]]:
    """Return the segment and the product of edge weights of every path."""
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
    trace = [step(node, draw(st.integers(0, 9)) / 10, draw(st.sampled_from([0.0, 0.5, -1.0]))) for node in read]
    return trace, HandMadeGraph(nodes, edges)


@given(readings())
def test_weights_are_the_sum_over_all_paths(reading: tuple[list[Step], HandMadeGraph]) -> None:
    trace, graph = reading
    expected: dict[str, float] = {}
    in_order = [taken for taken in trace if taken.score]
    in_order += sorted(
        (taken for taken in trace if not taken.score), key=lambda unscored: unscored.attention, reverse=True
    )
    for place, taken in enumerate(in_order, 1):
        for end, product in paths_down(taken.node, graph):
            expected[end] = expected.get(end, 0.0) + product / place**0.5
    weighted = find_support(trace, graph)
    assert {node.id: weight for node, weight in weighted} == pytest.approx(expected)
    weights = [weight for _, weight in weighted]
    assert weights == sorted(weights, reverse=True)


def test_a_segment_read_itself_and_under_a_point_gets_both() -> None:
    s0, s1, p0 = segment("s0"), segment("s1", index=1), point("p0")
    graph = HandMadeGraph([s0, s1, p0], [Summarizes("p0", "s0", 0.75), Summarizes("p0", "s1", 0.25)])
    weighted = find_support([step(p0, 0.2), step(s1, 0.6)], graph)
    assert [(node.id, weight) for node, weight in weighted] == [
        ("s1", pytest.approx(1 + 0.25 / 2**0.5)),
        ("s0", pytest.approx(0.75 / 2**0.5)),
    ]


def test_chosen_segments_come_first_in_the_order_of_reading() -> None:
    nodes = [segment(f"s{number}", f"d{number}") for number in range(5)]
    marks = [(0.1, 0.0), (0.2, 0.9), (0.9, 0.4), (0.3, 0.0), (0.0, 1.5)]
    trace = [step(node, attention, score) for node, (attention, score) in zip(nodes, marks, strict=True)]
    assert [node.id for node, _ in find_support(trace, HandMadeGraph(nodes))] == ["s1", "s2", "s4", "s3", "s0"]


def test_the_heaviest_are_kept_and_ties_go_by_id() -> None:
    below = [segment(f"s{i}", index=i) for i in (2, 1, 0)]
    nodes = [segment("s3", index=3), point("p0"), *below]
    graph = HandMadeGraph(nodes, [Summarizes("p0", node.id, 1 / 3) for node in below])
    trace = [step(nodes[0], 0.4), step(nodes[1], 0.2)]
    assert [node.id for node, _ in find_support(trace, graph)][:3] == ["s3", "s0", "s1"]


def test_forgotten_node_is_skipped() -> None:
    p0, s0 = point("p0"), segment("s0")
    graph = HandMadeGraph([s0], [Summarizes("p0", "s0", 0.5), Summarizes("p0", "gone", 0.5)])
    assert find_support([step(p0, 1.0), step(segment("gone too"), 0.0)], graph) == [(s0, 0.5)]


def test_empty_trace_has_no_support() -> None:
    assert find_support([], HandMadeGraph([])) == []


# ── overviews ────────────────────────────────────────────────────────────────────────────────────────────────


def overview(name: str, level: int, documents: Sequence[str]) -> Overview:
    return Overview(name, "library", name, level, f"title of {name}", f"text of {name}", 10, tuple(documents))


def test_overviews_rest_on_the_segments_below_them() -> None:
    segments = [segment(f"s{number}", f"d{number}") for number in range(4)]
    root, low, high = overview("root", 2, "abcd"), overview("low", 1, "ab"), overview("high", 1, "cd")
    edges = [Summarizes("root", lower, 0.5) for lower in ("low", "high")]
    edges += [Summarizes("low" if number < 2 else "high", f"s{number}", 0.5) for number in range(4)]
    graph = HandMadeGraph([root, low, high, *segments], edges)
    weights = {node.id: weight for node, weight in find_support([Step(root, 0.0, 1.0)], graph)}
    assert weights == pytest.approx(dict.fromkeys(["s0", "s1", "s2", "s3"], 0.25))


def test_support_of_root_cites_heaviest_segments() -> None:
    nodes = [segment(f"s{number}", f"d{number}") for number in range(3000)]
    root = overview("root", 1, [node.document_id for node in nodes])
    total = 3000 * 3001 / 2
    edges = [Summarizes("root", node.id, (place + 1) / total) for place, node in enumerate(nodes)]
    supported = find_support([Step(root, 0.0, 1.0)], HandMadeGraph([root, *nodes], edges))
    assert [node.id for node, _ in supported[:3]] == ["s2999", "s2998", "s2997"]
    assert len(supported) == 256
