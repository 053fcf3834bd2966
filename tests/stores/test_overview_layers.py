"""Library and communities of one small corpus: row for row and edge for edge the same in each database."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from meetings import open_meetings
from memories import embedder

from memgraph_rag import Failure, Memory
from memgraph_rag.contracts import GraphStore
from memgraph_rag.stores import open_store
from memgraph_rag.testing.sample_graphs import DIMENSION, EMBEDDER
from memgraph_rag.types import Overview

LAYERS = ("library", "communities")


@pytest.mark.parametrize("engine", ["neo4j-5.26", "neo4j-2026"], indirect=True)
def test_layers_are_the_same_in_each_database(store: GraphStore, tmp_path: Path) -> None:
    twin = open_store(tmp_path / "twin.lbug", namespace=store.namespace)
    twin.migrate(embedder=EMBEDDER, dimension=DIMENSION)
    with open_meetings(store, embedder=embedder()) as one, open_meetings(twin, embedder=embedder()) as other:
        for memory in (one, other):
            deepen(memory, *LAYERS)
        assert all(map(store.overviews, LAYERS))
        assert_same(store, twin)
        for memory in (one, other):
            deepen(memory, "relations")
            memory.forget("2-3")
            memory.add("Zoe met Hugo and Ida in Narvik.", key="new")
            deepen(memory, *LAYERS)
        assert_same(store, twin)
        assert one.maintenance.examine() == other.maintenance.examine() == []
    twin.close()


def deepen(memory: Memory, *layers: str) -> None:
    assert not any(isinstance(outcome, Failure) for outcome in memory.deepen(layers=layers))


def assert_same(store: GraphStore, twin: GraphStore) -> None:
    overviews = [overview for layer in LAYERS for overview in store.overviews(layer)]
    assert max(overview.level for overview in overviews) > 1
    assert overviews == [overview for layer in LAYERS for overview in twin.overviews(layer)]
    ordered = sorted(overviews, key=lambda item: (item.level, item.layer, item.key))
    assert store.overview_ids() == twin.overview_ids() == [item.id for item in ordered]
    edges = weights(store, overviews)
    assert edges == pytest.approx(weights(twin, overviews))
    targets = sorted({target for _, target in edges})
    below = store.nodes(targets)
    assert below == twin.nodes(targets)
    assert any(isinstance(node, Overview) for node in below)
    counted = ("Overview", "RESTS_ON", "HAS_MEMBER", "SUMMARIZES", "RELATES_TO")
    assert {name: store.statistics()[name] for name in counted} == {name: twin.statistics()[name] for name in counted}


def weights(store: GraphStore, overviews: Sequence[Overview]) -> dict[tuple[str, str], float]:
    """Of the edges that leave these, by their ends."""
    edges = store.successors([overview.id for overview in overviews])
    return {(edge.source_id, edge.target_id): edge.weight for edge in edges}
