"""Tests of echoes: segments that repeat an answer of the memory."""

from __future__ import annotations

from dataclasses import replace

import pytest

from memgraph_rag.contracts import GraphStore
from memgraph_rag.errors import StoreError
from memgraph_rag.testing.sample_graphs import MakeStore, make_graph, make_relations, unit
from memgraph_rag.types import DocumentGraph

TEXTS = ("Alice met Bob.", "Bob met Carol.", "Carol met Alice.")


def with_echoes(graph: DocumentGraph, *places: int) -> DocumentGraph:
    """Return the document with the segments of these indexes as echoes of answers, without rows derived from them."""
    segments = tuple(replace(item, echo=item.index in places) for item in graph.segments)
    evidence = {segment.id for segment in segments if not segment.echo}
    summarizes = tuple(edge for edge in graph.summarizes if edge.target_id in evidence)
    summarizing = {edge.source_id for edge in summarizes}
    kept = [place for place, point in enumerate(graph.points) if point.id in summarizing]
    return replace(
        graph,
        points=tuple(graph.points[place] for place in kept),
        point_embeddings=graph.point_embeddings[kept],
        document=replace(graph.document, echoes=len(places)),
        segments=segments,
        mentions=tuple(item for item in graph.mentions if item.segment_id in evidence),
        summarizes=summarizes,
    )


def test_echo_is_stored_but_not_searched(store: GraphStore) -> None:
    graph = with_echoes(make_graph(store.namespace, texts=TEXTS, levels=(2,)), 1)
    echo = graph.segments[1]

    store.write(graph)

    assert store.documents() == [graph.document]
    assert store.list_segments(graph.document.id) == list(graph.segments)
    assert store.nodes([echo.id]) == [echo]
    assert [item.echo for item in store.list_indexed_segments(since=-1)] == [False, True, False]
    vector, document_ids = graph.segment_embeddings[1], [graph.document.id]
    for hits in (
        store.find_nearest(vector, k=9),
        store.find_nearest(vector, k=9, documents=document_ids),
        store.similarities(vector, documents=document_ids),
        store.find_matching("Bob Carol", k=9),
        store.find_matching("Bob Carol", k=9, documents=document_ids),
        store.segments_naming([item.entity_id for item in graph.mentions], vector=vector, k=9),
    ):
        assert hits
        assert echo.id not in {hit.node_id for hit in hits}


def test_echo_is_no_top_node_without_points(store: GraphStore) -> None:
    graph = with_echoes(make_graph(store.namespace, texts=TEXTS), 0, 2)
    store.write(graph)
    assert store.top_nodes([graph.document.id]) == [graph.segments[1]]


def test_new_echo_is_not_searched(store: GraphStore) -> None:
    graph = make_graph(store.namespace, texts=TEXTS)
    other = make_graph(store.namespace, "other", ("Bob came too.",))
    store.write_many([graph, other])
    assert len(store.find_matching("Bob", k=9)) == 3

    store.write(with_echoes(graph, 0, 1, 2))

    assert [hit.node_id for hit in store.find_matching("Bob", k=9)] == [other.segments[0].id]
    assert [hit.node_id for hit in store.find_nearest(unit(1), k=9)] == [other.segments[0].id]


def test_rows_derived_from_echo_are_refused(store: GraphStore) -> None:
    graph = make_relations(store.namespace, make_graph(store.namespace, texts=TEXTS, levels=(1,)))
    fit = with_echoes(graph, 1)
    for wrong in (
        replace(fit, mentions=graph.mentions, relations=()),
        replace(fit, relations=(), summarizes=graph.summarizes),
    ):
        with pytest.raises(StoreError, match="echo"):
            store.write(wrong)
    assert store.documents() == []


def test_echo_survives_export_and_import(make_store: MakeStore) -> None:
    store = make_store()
    graph = with_echoes(make_graph(store.namespace, texts=TEXTS), 1)
    store.write(graph)
    (read,) = store.read_graphs([graph.document.id])
    assert (read.document, read.segments) == (graph.document, graph.segments)
