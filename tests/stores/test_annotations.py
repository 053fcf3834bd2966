"""Annotations on every engine: stored, replaced by layer, read back, refused, forgotten."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from store_snapshot import whole_graph

from memgraph_rag.contracts import GraphStore
from memgraph_rag.testing.sample_graphs import MakeStore, make_graph
from memgraph_rag.testing.store_suite.annotations import add_places, with_annotations


def test_a_layer_is_replaced_and_others_stay(store: GraphStore, place: dict[str, Any]) -> None:
    both = add_places(store, with_annotations(with_annotations(make_graph(store.namespace, levels=(2,))), "another"))
    own = replace(both, annotations=both.annotations[:2])
    store.write(replace(both, document=own.document, annotations=()))

    layers = ["own"]
    bare = replace(own, points=(), summarizes=(), mentions=(), titles=())
    assert store.extend(bare, layers=layers).counts["Annotation"] == 2
    rest = replace(bare, annotations=both.annotations[2:])
    assert store.extend(rest, layers=["another"]).counts["Annotation"] == 4
    before = whole_graph(store, place)
    assert store.extend(rest, layers=["another"]).counts["Annotation"] == 4
    assert whole_graph(store, place) == before
    counts = store.extend(replace(bare, annotations=()), layers=["another"]).counts
    assert (counts["Annotation"], counts["InformationPoint"]) == (2, 2)
    assert [item.layer for item in store.annotations(own.document.id)] == ["own", "own"]


def test_other_namespaces_keep_theirs(make_store: MakeStore, place: dict[str, Any]) -> None:
    store, other = make_store(), make_store()
    for each in (store, other):
        each.write(add_places(each, with_annotations(make_graph(each.namespace))))
    before = whole_graph(other, place)

    store.forget(store.document_ids()[0])

    assert whole_graph(other, place) == before
    assert not any(store.statistics().values())
    assert other.statistics()["Annotation"] == 2
