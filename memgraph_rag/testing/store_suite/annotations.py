"""Tests of annotations: stored, replaced by layer, read back, refused, deleted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from memgraph_rag.contracts import GraphStore
from memgraph_rag.errors import DocumentError, StoreError
from memgraph_rag.testing.sample_graphs import make_graph, random_units
from memgraph_rag.types import Annotation, DocumentGraph, annotation_id

HOSTILE = 'He said "it\'s" -- {curly} $dollar `tick` \\back \\u0041 // \u202e شكرا 👩‍👩‍👧 \x07'


def with_annotations(
    graph: DocumentGraph, layer: str = "own", texts: Sequence[str] = ("first", "second")
) -> DocumentGraph:
    """Return a copy of the document with one more annotation for each text.

    The first annotation belongs to all segments, each other annotation to the whole document.
    """
    document = graph.document
    everything = tuple(segment.id for segment in graph.segments)
    annotations = tuple(
        Annotation(text, () if index else everything, "kind", {"b": True, "n": index, "x": 0.5, "s": text})
        for index, text in enumerate(texts)
    )
    return replace(
        graph,
        document=replace(document, layers=tuple(sorted({*document.layers, layer}))),
        annotations=(*graph.annotations, *(replace(item, layer=layer) for item in annotations)),
    )


def add_places(store: GraphStore, graph: DocumentGraph) -> DocumentGraph:
    """Return the document with the id, document id and index of each annotation, for the namespace of a store."""
    layers: dict[str, int] = {}
    items = []
    for item in graph.annotations:
        index = layers[item.layer] = layers.get(item.layer, -1) + 1
        new_id = annotation_id(store.namespace, graph.document.id, item.layer, index)
        items.append(replace(item, id=new_id, document_id=graph.document.id, index=index))
    return replace(graph, annotations=tuple(items))


def test_annotations_are_read_unchanged(store: GraphStore) -> None:
    graph = add_places(
        store, with_annotations(with_annotations(make_graph(store.namespace)), "another", (HOSTILE, "z"))
    )

    receipt = store.write(graph)

    assert (receipt.counts["Annotation"], receipt.counts["ANNOTATES"]) == (4, 6)
    expected = sorted(graph.annotations, key=lambda item: (item.layer, item.index))
    assert store.annotations(graph.document.id) == expected
    (read,) = store.read_graphs([graph.document.id])
    assert list(read.annotations) == expected
    assert store.annotations("0" * 32) == []


def test_segments_get_new_embeddings_with_a_layer(store: GraphStore) -> None:
    bare = make_graph(store.namespace, named=False)
    store.write(bare)
    version = store.version()
    count = len(bare.segments)
    graph = replace(add_places(store, with_annotations(bare)), segment_embeddings=random_units(count, seed=7))

    assert store.extend(graph, layers=["own"]).counts["Annotation"] == 2

    (read,) = store.read_graphs([bare.document.id])
    assert np.allclose(read.segment_embeddings, graph.segment_embeddings)
    assert [item.id for item in store.list_indexed_segments(since=version)] == [item.id for item in bare.segments]
    with pytest.raises(StoreError, match="length 1"):
        store.extend(replace(graph, segment_embeddings=2 * graph.segment_embeddings), layers=["own"])
    with pytest.raises(StoreError, match="shape"):
        store.extend(replace(graph, segment_embeddings=random_units(count + 1)), layers=["own"])


def test_removing_layer_restores_embeddings(store: GraphStore) -> None:
    bare = make_graph(store.namespace, named=False)
    embeddings = random_units(len(bare.segments), seed=7)
    store.write(replace(add_places(store, with_annotations(bare)), segment_embeddings=embeddings))

    receipt = store.extend(bare, layers=["own"])

    assert "Annotation" not in receipt.counts
    assert store.annotations(bare.document.id) == []
    assert store.documents()[0].layers == bare.document.layers
    (read,) = store.read_graphs([bare.document.id])
    assert np.allclose(read.segment_embeddings, bare.segment_embeddings)


REFUSED: dict[str, dict[str, Any]] = {
    "another layer": {"layer": "not-there"},
    "another id": {"id": "0" * 32},
    "another document": {"document_id": "0" * 32},
    "another place": {"index": 7},
    "a text that says nothing": {"text": " "},
    "a text with half a surrogate pair": {"text": "\ud800"},
    "a property with half a surrogate pair": {"properties": {"a": "\ud800"}},
    "a segment that is not there": {"segment_ids": ("0" * 32,)},
}


def test_incomplete_annotations_are_refused(store: GraphStore) -> None:
    graph = add_places(store, with_annotations(make_graph(store.namespace)))
    first, *others = graph.annotations
    for case, change in REFUSED.items():
        with pytest.raises((StoreError, DocumentError), match=r"[Ee]xpected"):
            store.write(replace(graph, annotations=(replace(first, **change), *others)))
        assert not any(store.statistics().values()), case


def test_annotations_of_echoes_are_refused(store: GraphStore) -> None:
    graph = add_places(store, with_annotations(make_graph(store.namespace, named=False)))
    segments = (replace(graph.segments[0], echo=True), *graph.segments[1:])
    record = replace(graph.document, echoes=1)

    with pytest.raises(StoreError, match="evidence only"):
        store.write(replace(graph, document=record, segments=segments))
