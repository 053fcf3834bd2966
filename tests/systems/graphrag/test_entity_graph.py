"""The graph of entities: what an edge weighs, which are pruned, and that the order of rows does not matter."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memgraph_rag.systems.graphrag.entity_graph import MOST_NAMED, EntityGraph
from memgraph_rag.types import Entity, IndexedSegment


def segment(number: int, names: str, *, echo: bool = False) -> IndexedSegment:
    """A segment that names entities of one letter each."""
    return IndexedSegment(
        f"s{number}", "d", number, "", "", "", "", np.zeros(2, np.float32), tuple(sorted(set(names))), (), echo
    )


def entities(names: str) -> list[Entity]:
    return [Entity(name, name, name, ()) for name in sorted(set(names))]


def weights(graph: EntityGraph) -> dict[str, float]:
    names = [entity.id for entity in graph.entities]
    pairs = zip(graph.edges.ends.tolist(), graph.edges.weights.tolist(), strict=True)
    return {names[first] + names[second]: weight for (first, second), weight in pairs}


def test_relations_of_both_directions_add_up() -> None:
    graph = EntityGraph.from_elements(entities("abc"), {("b", "a"): 2.0, ("a", "b"): 1.0, ("a", "a"): 5.0})
    assert weights(graph) == {"ab": 3.0}
    assert graph.degrees.tolist() == [1, 1, 0]


def test_rare_company_weighs_more() -> None:
    texts = ["ab", "ab", "ab", "ac", "ac", "ad", "ae", "af", "bf"]
    graph = EntityGraph.from_names(entities("abcdef"), [segment(i, names) for i, names in enumerate(texts)])
    assert weights(graph)["ac"] > weights(graph)["ad"] > 0
    assert max(weights(graph).values()) == 1


@given(st.lists(st.text("abcdefgh", min_size=1, max_size=5), max_size=12))
def test_entity_graph_ignores_order_and_keeps_all_entities(texts: list[str]) -> None:
    segments = [segment(number, names) for number, names in enumerate(texts)]
    graph = EntityGraph.from_names(entities("abcdefgh"), segments)
    again = EntityGraph.from_names(entities("abcdefgh")[::-1], segments[::-1])
    assert weights(graph) == pytest.approx(weights(again))
    assert all(weight > 0 for weight in weights(graph).values())
    joined = {name for names in texts if len(set(names)) > 1 for name in names}
    assert {graph.entities[place].id for place in np.flatnonzero(graph.degrees)} == joined


def test_registers_and_echoes_join_no_names() -> None:
    many = "".join(map(chr, range(200, 201 + MOST_NAMED)))
    graph = EntityGraph.from_names(entities(f"{many}ab"), [segment(0, many), segment(1, "ab", echo=True)])
    assert len(graph.edges) == 0
