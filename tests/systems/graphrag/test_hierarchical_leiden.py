"""Hierarchies of communities: whole on every graph, and the released package's own."""

from __future__ import annotations

import importlib
import sys
from collections import Counter
from itertools import combinations
from typing import Any

import networkx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tables import table

from memgraph_rag.errors import SettingsError
from memgraph_rag.systems.graphrag.hierarchical_leiden import SEED, Community, Edges, hierarchy, require_leiden

WeightedGraph = dict[tuple[int, int], float]


def edges(weights: WeightedGraph) -> Edges:
    ordered = sorted(weights)
    ends = np.array(ordered, np.int64).reshape(-1, 2)
    return Edges(ends, np.array([weights[pair] for pair in ordered], np.float64))


def graph(count: int, chance: float, seed: int) -> WeightedGraph:
    drawn = networkx.gnp_random_graph(count, chance, seed=seed)
    return {(first, second): 1.0 + (first + second) % 3 for first, second in drawn.edges}


def roots(communities: list[Community]) -> list[Community]:
    under = {child for community in communities for child in community.children}
    return [community for place, community in enumerate(communities) if place not in under]


def assert_sound(communities: list[Community], weights: WeightedGraph) -> None:
    """Each linked node is in one lowest community; children part their parent, and stand before it on lower levels."""
    lowest = [member for community in communities if not community.children for member in community.members]
    linked = sorted({end for pair in weights for end in pair})
    assert sorted(lowest) == sorted(member for root in roots(communities) for member in root.members) == linked
    parents = Counter(child for community in communities for child in community.children)
    assert set(parents.values()) <= {1}
    for place, community in enumerate(communities):
        below = [communities[child] for child in community.children]
        assert community.level == 1 + max((child.level for child in below), default=0)
        assert len(below) != 1
        assert all(child < place for child in community.children)
        if below:
            assert sorted(member for child in below for member in child.members) == list(community.members)


@settings(max_examples=60)
@given(st.integers(2, 60), st.floats(0, 0.3), st.integers(0, 9))
def test_random_graphs_have_whole_hierarchies(count: int, chance: float, seed: int) -> None:
    weights = graph(count, chance, seed)
    communities = hierarchy(edges(weights), most_members=5)
    assert_sound(communities, weights)
    assert communities == hierarchy(edges(weights), most_members=5)


def test_communities_are_those_of_the_released_package() -> None:
    characters = networkx.convert_node_labels_to_integers(networkx.les_miserables_graph(), ordering="sorted")
    weights = {(min(a, b), max(a, b)): float(data["weight"]) for a, b, data in characters.edges(data=True)}
    named = [(str(first), str(second), weight) for (first, second), weight in sorted(weights.items())]
    by_cluster: dict[int, set[int]] = {}
    released: Any = importlib.import_module("graspologic_native")
    for cluster in released.hierarchical_leiden(named, max_cluster_size=10, seed=SEED):
        by_cluster.setdefault(cluster.cluster, set()).add(int(cluster.node))

    communities = hierarchy(edges(weights))

    assert {frozenset(community.members) for community in communities} == set(map(frozenset, by_cluster.values()))
    louvain = networkx.community.louvain_communities(characters, seed=1)
    modularity = [networkx.community.modularity(characters, parts) for parts in (louvain, _parts(communities))]
    assert modularity[1] > modularity[0] - 0.01


def _parts(communities: list[Community]) -> list[set[int]]:
    return [set(root.members) for root in roots(communities)]


def test_all_components_have_communities() -> None:
    triangles = {(3 * i + a, 3 * i + b): 1.0 for i in range(4) for a, b in combinations(range(3), 2)}
    communities = hierarchy(edges(triangles))
    assert [community.members for community in communities] == [(0, 1, 2), (3, 4, 5), (6, 7, 8), (9, 10, 11)]


@table("weights", [{(0, i): 1.0 for i in range(1, 300)}, dict.fromkeys(combinations(range(40), 2), 1.0)])
def test_division_ends_where_leiden_cannot_divide(weights: WeightedGraph) -> None:
    communities = hierarchy(edges(weights))
    assert [len(community.members) for community in communities] == [len({end for pair in weights for end in pair})]


def test_one_giant_component_is_divided() -> None:
    ring = {(i, i + 1): 1.0 for i in range(999)} | {(0, 999): 1.0}
    communities = hierarchy(edges(ring))
    assert_sound(communities, ring)
    assert max(len(community.members) for community in communities if not community.children) <= 10


def test_graph_without_edges_gives_no_communities() -> None:
    assert hierarchy(edges({})) == []


def test_without_the_package_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "graspologic_native", None)
    with pytest.raises(SettingsError, match=r"memgraph_rag\[communities\]"):
        require_leiden()
