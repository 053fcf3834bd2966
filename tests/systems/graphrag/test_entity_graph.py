"""The graph of entities: what an edge weighs, which are pruned, and that the order of rows does not matter."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memgraph_rag.systems.graphrag.entity_graph import MOST_NAMED, EntityGraph, count_pairs
from memgraph_rag.types import Entity, IndexedSegment, Relation


def segment(number: int, names: str, *, echo: bool = False) -> IndexedSegment:
    """A segment that names entities of one letter each."""
    return IndexedSegment(
        f"s{number}", "d", number, "", "", "", "", np.zeros(2, np.float32), tuple(sorted(set(names))), (), echo
    )


def entities(names: str) -> list[Entity]:
    return [Entity(name, name, name, ()) for name in sorted(set(names))]


def relation(first: str, second: str, number: int = 0) -> Relation:
    return Relation(f"{first}{second}{number}", first, second, "", "s0")


def weights(graph: EntityGraph) -> dict[str, float]:
    names = [entity.id for entity in graph.entities]
    pairs = zip(graph.edges.ends.tolist(), graph.edges.weights.tolist(), strict=True)
    return {names[first] + names[second]: weight for (first, second), weight in pairs}


def test_relations_count_and_segments_share() -> None:
    graph = EntityGraph.of(
        entities("abcd"),
        [segment(0, "abc"), segment(1, "ab"), segment(2, "cd", echo=True)],
        [relation("b", "a"), relation("a", "b", 1), relation("a", "a"), relation("a", "z")],
    )
    assert weights(graph) == pytest.approx({"ab": 2 + 1 / 2 + 1, "ac": 1 / 2, "bc": 1 / 2})
    assert graph.degrees.tolist() == [2, 2, 2, 0]


def test_without_relations_rare_company_weighs_more() -> None:
    texts = ["ab", "ab", "ab", "ac", "ac", "ad", "ae", "af", "bf"]
    graph = EntityGraph.of(entities("abcdef"), [segment(i, names) for i, names in enumerate(texts)], [])
    assert weights(graph)["ac"] > weights(graph)["ad"] > 0
    assert max(weights(graph).values()) == 1


@given(st.lists(st.text("abcdefgh", min_size=1, max_size=5), max_size=12), st.booleans())
def test_order_does_not_matter_and_nobody_is_pruned_away(texts: list[str], is_related: bool) -> None:
    segments = [segment(number, names) for number, names in enumerate(texts)]
    relations = [relation("a", "b")] if is_related else []
    graph = EntityGraph.of(entities("abcdefgh"), segments, relations)
    again = EntityGraph.of(entities("abcdefgh")[::-1], segments[::-1], relations)
    assert weights(graph) == pytest.approx(weights(again))
    assert all(weight > 0 for weight in weights(graph).values())
    joined = {name for names in texts if len(set(names)) > 1 for name in names} | ({"a", "b"} if is_related else set())
    assert {graph.entities[place].id for place in np.flatnonzero(graph.degrees)} == joined
    assert len(graph.edges) <= count_pairs(segments) + len(relations)


def test_a_register_joins_nobody() -> None:
    many = "".join(map(chr, range(200, 201 + MOST_NAMED)))
    graph = EntityGraph.of(entities(many), [segment(0, many)], [])
    assert len(graph.edges) == count_pairs([segment(0, many)]) == 0
