"""Documents written together: the same graph as one by one, all of them or none."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from store_snapshot import whole_graph

from memgraph_rag.contracts import GraphStore
from memgraph_rag.errors import StoreError
from memgraph_rag.testing.sample_graphs import make_graph
from memgraph_rag.types import Action, DocumentGraph


def group(namespace: str) -> list[DocumentGraph]:
    """Documents of all shapes that share entities, which they write differently."""
    return [
        make_graph(namespace, "a", levels=(2, 1), title="Alice"),
        make_graph(namespace, "b", ("ALICE met Bob.", "Bob left."), title="BOB", kind="PERSON"),
        make_graph(namespace, "c", ()),
        make_graph(namespace, "d", ("nobody",), named=False),
        make_graph(namespace, "e", ("ALICE again.",), levels=(1,), seed=5),
    ]


def test_group_gives_same_graph_as_single_writes(store: GraphStore, place: dict[str, Any]) -> None:
    graphs = group(store.namespace)
    receipts = [store.write(graph) for graph in graphs]
    before = whole_graph(store, place)
    for graph in graphs:
        store.forget(graph.document.id)
    version = store.version()

    assert store.write_many(graphs) == receipts

    assert store.version() == version + 1
    assert whole_graph(store, place) == before
    counts = {receipt.document_id: receipt.counts for receipt in receipts}
    assert store.count_by_document(list(counts)) == counts


def test_group_replaces_stored_documents(store: GraphStore, place: dict[str, Any]) -> None:
    graphs = group(store.namespace)
    store.write_many(graphs)
    before = whole_graph(store, place)
    others = [make_graph(store.namespace, key, ("Alice met Eve.",), levels=(1,), kind="ORG") for key in "bd"]
    store.write_many([*others, make_graph(store.namespace, "z", ("Eve",))])

    receipts = store.write_many([*graphs, make_graph(store.namespace, "y", ("Eve",))])

    assert [receipt.action for receipt in receipts] == [*[Action.REPLACED] * 5, Action.ADDED]
    for key in "yz":
        store.forget(make_graph(store.namespace, key).document.id)
    assert whole_graph(store, place) == before


def test_a_group_is_written_whole_or_not_at_all(store: GraphStore, place: dict[str, Any]) -> None:
    first, *others = group(store.namespace)
    store.write(first)
    before = whole_graph(store, place), store.version()
    twice = replace(others[1], segments=first.segments, segment_embeddings=first.segment_embeddings)

    with pytest.raises(StoreError, match="more than once"):
        store.write_many([others[0], others[0]])
    with pytest.raises(StoreError):
        store.write_many([others[0], twice])  # its segments are the first one's

    assert (whole_graph(store, place), store.version()) == before
