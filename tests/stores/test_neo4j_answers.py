"""What Neo4j's indexes answer: how it is read, and when it is trusted."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

from memgraph_rag.stores import open_store
from memgraph_rag.stores.neo4j.answers import decode_hits, index_width, select_trusted_hits
from memgraph_rag.stores.neo4j.store import Neo4jStore
from memgraph_rag.testing.sample_graphs import DIMENSION, EMBEDDER, make_graph
from memgraph_rag.types import Hit


def hits(*scores: float) -> list[Hit]:
    return [Hit(f"{place}", score) for place, score in enumerate(scores)]


def test_a_tie_that_may_be_cut_off_is_not_trusted() -> None:
    assert select_trusted_hits(hits(3, 2, 1), 2) == hits(3, 2)
    assert select_trusted_hits(hits(3, 2, 2, 1), 2) == hits(3, 2)
    assert select_trusted_hits(hits(3, 2, 2), 2) == []
    assert select_trusted_hits(hits(3, 2), 2) == []


def test_hits_of_one_row_are_sorted_and_deleted_ones_left_out() -> None:
    assert decode_hits([{"hits": [["b", 1.0], [None, 9.0], ["a", 1.0], ["c", 2.0]]}]) == [
        *(Hit("c", 2.0), Hit("a", 1.0), Hit("b", 1.0))
    ]
    assert decode_hits([]) == []


@pytest.mark.parametrize("release", ["5.26", "2026"])
def test_ties_are_looked_for_as_far_as_they_reach(
    release: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = request.getfixturevalue("neo4j_servers")[release]
    place: dict[str, Any] = {"address": server.uri, "user": server.user, "password": server.password}
    store = open_store(**place, namespace=f"test-{uuid4().hex}")
    assert isinstance(store, Neo4jStore)
    try:
        store.migrate(embedder=EMBEDDER, dimension=DIMENSION)
        graphs = [make_graph(store.namespace, f"{number}", ("Alice slept.",), named=False) for number in range(130)]
        store.write_many(graphs)
        widths: list[int] = []
        asked = store._get_hits

        def counted(name: str, /, **parameters: Any) -> list[Hit]:
            widths.append(parameters["width"])
            return asked(name, **parameters)

        monkeypatch.setattr(store, "_get_hits", counted)
        first = [hit.node_id for hit in store.find_matching("alice", k=3)]
        assert first == sorted(segment.id for graph in graphs for segment in graph.segments)[:3]
        assert widths == [index_width(3), 8 * index_width(3)]
    finally:
        for record in store.documents():
            store.forget(record.id)
        store.close()
