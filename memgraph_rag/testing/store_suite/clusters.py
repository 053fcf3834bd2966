"""Tests of documents with both layers ``points`` and ``clusters``: each reader sees the nodes of its own layer."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from memgraph_rag.contracts import GraphStore
from memgraph_rag.errors import StoreError
from memgraph_rag.testing.sample_graphs import DIMENSION, make_graph, make_question, random_units, unit
from memgraph_rag.types import Action, DocumentGraph, InformationPoint, Summarizes, point_id


def with_clusters(namespace: str, graph: DocumentGraph) -> DocumentGraph:
    """Return a copy of a document with three cluster summaries: two on level 1, and one on level 2.

    The upper one summarizes the first lower one and the last segment.
    """
    document, segments = graph.document, graph.segments

    def summary(level: int, index: int) -> InformationPoint:
        node_id = point_id(namespace, document.id, level, index, layer="clusters")
        return InformationPoint(node_id, document.id, level, index, f"cluster {level}.{index}", 5, "clusters")

    low, left, top = summary(1, 0), summary(1, 1), summary(2, 0)
    ends = [(low, segments[0]), (low, segments[1]), (left, segments[1]), (top, low), (top, segments[2])]
    weights = [0.75, 0.25, 1.0, 0.5, 0.5]
    edges = tuple(Summarizes(a.id, b.id, weight) for (a, b), weight in zip(ends, weights, strict=True))
    return replace(
        graph,
        document=replace(document, layers=(*document.layers, "clusters"), model="small"),
        points=(*graph.points, low, left, top),
        point_embeddings=np.concatenate([graph.point_embeddings, random_units(3, seed=5)]),
        summarizes=(*graph.summarizes, *edges),
    )


def both(store: GraphStore) -> DocumentGraph:
    """Return a document with the layers ``points`` (on two levels) and ``clusters``; it is not stored."""
    return with_clusters(store.namespace, make_graph(store.namespace, levels=(2, 1)))


def select_layer(graph: DocumentGraph, layer: str) -> DocumentGraph:
    """Return the part of a document that ``extend`` takes for one of the two layers."""
    places = [place for place, point in enumerate(graph.points) if point.layer == layer]
    ids = {graph.points[place].id for place in places}
    return replace(
        graph,
        segment_embeddings=np.zeros((0, DIMENSION), np.float32),
        points=tuple(graph.points[place] for place in places),
        point_embeddings=graph.point_embeddings[places],
        summarizes=tuple(edge for edge in graph.summarizes if edge.source_id in ids),
        mentions=(),
        titles=(),
    )


def test_points_and_clusters_of_a_document_are_counted_apart(store: GraphStore) -> None:
    graph = both(store)
    receipt = store.write(graph)
    assert (receipt.counts["InformationPoint"], receipt.counts["ClusterSummary"]) == (3, 3)
    assert receipt.counts["SUMMARIZES"] == len(graph.summarizes) == 10
    assert {name: number for name, number in store.statistics().items() if number} == {**receipt.counts, "Entity": 3}
    assert not store.flaws()


def test_reader_sees_points_of_one_layer(store: GraphStore) -> None:
    graph = both(store)
    store.write(graph)
    points, clusters = graph.points[:3], graph.points[3:]
    by_layer = {
        layer: {hit.node_id for hit in store.similarities(unit(1), documents=[graph.document.id], layer=layer)}
        for layer in ("points", "clusters")
    }
    assert by_layer["points"] == {node.id for node in (*graph.segments, *points)}
    assert by_layer["clusters"] == {node.id for node in (*graph.segments, *clusters)}
    assert store.similarities(unit(1), documents=[graph.document.id]) == store.similarities(
        unit(1), documents=[graph.document.id], layer="points"
    )
    assert store.top_nodes([graph.document.id]) == [points[2]]
    assert store.top_nodes([graph.document.id], layer="clusters") == [clusters[2], clusters[1]]
    assert store.nodes([clusters[0].id]) == [clusters[0]]


def test_top_nodes_without_clusters_are_segments(store: GraphStore) -> None:
    graph = make_graph(store.namespace, levels=(2,))
    store.write(graph)
    assert store.top_nodes([graph.document.id], layer="clusters") == list(graph.segments)


def test_document_with_both_layers_is_read_unchanged(store: GraphStore) -> None:
    graph = both(store)
    store.write(graph)
    (read,) = store.read_graphs([graph.document.id])
    assert read.points == graph.points
    np.testing.assert_allclose(read.point_embeddings, graph.point_embeddings, atol=1e-6)
    assert set(read.summarizes) == set(graph.summarizes)
    store.write(read)
    assert store.count_by_document([graph.document.id]) == {graph.document.id: store.write(graph).counts}


@pytest.mark.parametrize("layer", ["points", "clusters"])
def test_replacing_one_layer_keeps_the_other(store: GraphStore, layer: str) -> None:
    graph = both(store)
    store.write(graph)
    before = store.count_by_document([graph.document.id])[graph.document.id]

    receipt = store.extend(select_layer(graph, layer), layers=[layer])
    assert (receipt.action, receipt.counts) == (Action.DEEPENED, before)

    nothing = replace(select_layer(graph, layer), points=(), point_embeddings=random_units(0), summarizes=())
    counts = store.extend(nothing, layers=[layer]).counts
    name, other = ("InformationPoint", "ClusterSummary")[:: 1 if layer == "points" else -1]
    assert (counts.get(name, 0), counts[other]) == (0, 3)
    assert not store.flaws()


def test_replaced_clusters_make_questions_stale(store: GraphStore) -> None:
    graph = both(store)
    store.write(graph)
    of_points = make_question(store.namespace, [*graph.segments, graph.points[0]], "Of points?")
    of_clusters = make_question(store.namespace, [*graph.segments, *graph.points[3:5]], "Of clusters?")
    store.keep(of_points)
    store.keep(of_clusters)

    assert store.extend(select_layer(graph, "clusters"), layers=["clusters"]).stale_questions == 1

    (kept,) = store.questions([of_clusters.id])
    assert [(change.action, change.reads) for change in kept.changes] == [(Action.DEEPENED, 2)]
    assert not store.questions([of_points.id])[0].is_stale


def test_an_edge_from_one_layer_to_the_other_is_refused(store: GraphStore) -> None:
    graph = both(store)
    across = Summarizes(graph.points[5].id, graph.points[0].id, 0.5)
    with pytest.raises(StoreError, match="within one layer"):
        store.write(replace(graph, summarizes=(*graph.summarizes, across)))
    assert store.documents() == []


def test_forget_deletes_clusters(store: GraphStore) -> None:
    graph = both(store)
    store.write(graph)
    assert store.forget(graph.document.id).counts["ClusterSummary"] == 3
    assert not any(store.statistics().values())
