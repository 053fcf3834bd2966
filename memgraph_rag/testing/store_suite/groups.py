"""Tests of documents that are written and read together: all or none are stored, as by single writes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from memgraph_rag.contracts import GraphStore
from memgraph_rag.errors import DocumentNotFound, StoreError
from memgraph_rag.testing.sample_graphs import DIMENSION, MakeStore, make_graph, make_question, random_units
from memgraph_rag.testing.store_suite.annotations import add_places, with_annotations
from memgraph_rag.testing.store_suite.clusters import with_clusters
from memgraph_rag.testing.store_suite.outlines import make_outlined
from memgraph_rag.testing.store_suite.relations import make_related
from memgraph_rag.testing.store_suite.writes import snapshot
from memgraph_rag.types import OPEN_KIND, DocumentGraph

MATRICES = ("segment_embeddings", "point_embeddings", "end_embeddings")
ROWS = ("document", "segments", "points", "titles", "annotations", "sections")
SORTED = ("mentions", "summarizes", "relations")


def make_all_kinds(store: GraphStore) -> list[DocumentGraph]:
    """Return documents with rows of every kind and one without rows; some name the same entities."""
    namespace = store.namespace
    return [
        make_related(namespace, "related", levels=(1,), title="Alice"),
        make_graph(namespace, "empty", ()),
        with_clusters(namespace, make_graph(namespace, "clustered", levels=(2, 1))),
        add_places(store, with_annotations(with_annotations(make_outlined(namespace, "A", key="outlined")), "thing")),
        add_places(store, with_annotations(make_related(namespace, "annotated", ("Bob met Carol.", "Carol saw Eve.")))),
        make_graph(namespace, "bare", named=False),
    ]


def assert_equal(read: DocumentGraph, graph: DocumentGraph) -> None:
    for name in ROWS:
        assert getattr(read, name) == getattr(graph, name), name
    for name in SORTED:
        assert sorted(getattr(read, name), key=repr) == sorted(getattr(graph, name), key=repr), name
    for name in MATRICES:
        matrix = getattr(read, name).reshape(-1, DIMENSION)
        np.testing.assert_allclose(matrix, getattr(graph, name).reshape(-1, DIMENSION), atol=1e-6, err_msg=name)
    vectors = {relation.id: row for relation, row in zip(read.relations, read.relation_embeddings, strict=True)}
    for relation, row in zip(graph.relations, graph.relation_embeddings, strict=True):
        np.testing.assert_allclose(vectors[relation.id], row, atol=1e-6)


def test_documents_are_read_together_as_they_were(make_store: MakeStore) -> None:
    store, other = make_store(), make_store()
    graphs = make_all_kinds(store)
    store.write_many(graphs)
    stranger = make_graph(other.namespace, "stranger")
    other.write(stranger)
    before, ids = snapshot(store), [graph.document.id for graph in graphs]

    together = store.read_graphs([stranger.document.id, *ids, "nobody"])

    assert [graph.document.id for graph in together] == ids
    for read, graph in zip(together, graphs, strict=True):
        assert_equal(read, graph)
    assert all(any(len(getattr(read, name)) for read in together) for name in (*ROWS[1:], *SORTED, *MATRICES))
    assert [graph.document.id for graph in store.read_graphs(ids[::-1])] == ids[::-1]
    assert store.read_graphs([]) == store.read_graphs([stranger.document.id]) == []
    store.write_many(together)
    assert snapshot(store) == before


def test_documents_are_counted_together_as_one_by_one(make_store: MakeStore) -> None:
    store, other = make_store(), make_store()
    counts = {receipt.document_id: receipt.counts for receipt in map(store.write, make_all_kinds(store))}
    stranger = make_graph(other.namespace, "stranger")
    other.write(stranger)

    together = store.count_by_document([stranger.document.id, *counts, *counts, "nobody"])

    assert together == {stranger.document.id: {}, **counts, "nobody": {}}
    assert [store.count_by_document([document_id]) for document_id in counts] == [
        {name: counts[name]} for name in counts
    ]


def test_parts_of_documents_are_listed_together_as_one_by_one(make_store: MakeStore) -> None:
    store, other = make_store(), make_store()
    ids = [receipt.document_id for receipt in store.write_many(make_all_kinds(store))]
    stranger = make_graph(other.namespace, "stranger").document.id
    other.write(make_graph(other.namespace, "stranger"))

    for together, one_by_one in (
        (store.list_segments_by_document, store.list_segments),
        (store.list_sections_by_document, store.sections),
        (store.list_mentions_by_document, store.mentions),
    ):
        parts = {document_id: one_by_one(document_id) for document_id in ids}
        assert any(parts.values())
        assert together([stranger, *ids[::-1], *ids, "nobody"]) == {stranger: [], **parts, "nobody": []}
        assert together([]) == {}


def without_layers(graph: DocumentGraph) -> DocumentGraph:
    """Return the document with only its record and its segments, without layers."""
    document = replace(graph.document, layers=(), model="", recognizer="")
    return DocumentGraph(document, graph.segments, graph.segment_embeddings)


def with_layer_names(graph: DocumentGraph) -> DocumentGraph:
    """Return a copy of the document whose record names the layers that have rows in the document, sorted."""
    layers = {item.layer for item in (*graph.points, *graph.annotations)}
    layers |= {"relations" if mention.kind == OPEN_KIND else "entities" for mention in graph.mentions}
    further = {"entities": graph.titles, "relations": graph.relations, "outline": graph.sections}
    layers |= {layer for layer, rows in further.items() if rows}
    return replace(graph, document=replace(graph.document, layers=tuple(sorted(layers))))


def test_layers_stored_together_are_the_graph_of_one_by_one(make_store: MakeStore) -> None:
    store, other = make_store(), make_store()
    graphs = [with_layer_names(graph) for graph in make_all_kinds(store)]
    layers = {layer for graph in graphs for layer in graph.document.layers}
    assert layers >= {"points", "clusters", "entities", "relations", "outline", "thing"}
    other.write_many([without_layers(graph) for graph in make_all_kinds(other)])
    strangers = snapshot(other)
    before = [*map(without_layers, graphs[:3]), *graphs[3:]]  # some have the layers already
    store.write_many(before)
    receipts = [store.extend(graph, layers=layers) for graph in graphs]
    one_by_one = snapshot(store)
    store.write_many(before)
    version = store.version()

    assert store.extend_many(graphs, layers=layers) == receipts

    assert store.version() == version + 1
    assert snapshot(store) == one_by_one
    for read, graph in zip(store.read_graphs([graph.document.id for graph in graphs]), graphs, strict=True):
        assert_equal(read, graph)
    assert [record.key for record in store.list_written_documents(since=version)] == sorted(
        graph.document.key for graph in graphs
    )
    assert snapshot(other) == strangers
    without = [without_layers(graph) for graph in graphs]
    assert [receipt.key for receipt in store.extend_many(without, layers=layers)] == [item.key for item in receipts]
    assert store.statistics()["Entity"] == store.statistics()["Annotation"] == store.statistics()["Section"] == 0
    assert store.extend_many([], layers=layers) == []


def test_layers_stored_together_report_stale_questions(store: GraphStore) -> None:
    tall = [make_graph(store.namespace, key, levels=(2,), named=False) for key in ("first", "second", "third")]
    store.write_many(tall)
    for text, read in (("One?", tall[:1]), ("Both?", tall[:2]), ("Of segments?", ())):
        nodes = [node for graph in read for node in graph.points]
        store.keep(make_question(store.namespace, [*tall[2].segments, *nodes], text))
    again = [replace(graph, point_embeddings=random_units(2, seed=9)) for graph in tall]

    receipts = store.extend_many(again, layers=["points"])

    assert [receipt.stale_questions for receipt in receipts] == [2, 1, 0]


def test_layers_are_stored_together_or_not_at_all(store: GraphStore) -> None:
    graphs = [make_graph(store.namespace, key) for key in ("first", "second", "third")]
    store.write_many([without_layers(graph) for graph in graphs[:2]])
    before, version = snapshot(store), store.version()
    changed = replace(graphs[1], document=replace(graphs[1].document, sha256="1" * 64))
    cut = replace(graphs[1], segments=graphs[1].segments[:1], mentions=(), segment_embeddings=random_units(1))

    for last, error in (
        (graphs[2], DocumentNotFound),
        (changed, DocumentNotFound),
        (cut, StoreError),
        (graphs[0], StoreError),
    ):
        with pytest.raises(error):
            store.extend_many([graphs[0], last], layers=["entities"])
    assert (snapshot(store), store.version()) == (before, version)


def test_documents_are_listed_by_page_and_key(make_store: MakeStore) -> None:
    store, other = make_store(), make_store()
    keys = ["!", "A", "Z", "a", "a b", "a/b", "aa", "ab", "é", "\ufb00", "\U0001f600", "$key' OR true"]
    store.write_many([make_graph(store.namespace, key, named=False) for key in keys])
    other.write(make_graph(other.namespace, "b"))
    pages = [store.list_documents_after("", k=5)]
    while pages[-1]:
        pages.append(store.list_documents_after(pages[-1][-1].key, k=5))

    assert [len(page) for page in pages] == [5, 5, 2, 0]
    assert [record.key for page in pages for record in page] == sorted(keys)
    assert [record for page in pages for record in page] == store.documents()
    assert [record.key for record in store.list_documents_after("a0", k=2)] == ["aa", "ab"]
    assert sorted(store.document_keys("a").values()) == ["a", "a b", "a/b", "aa", "ab"]


def test_documents_are_listed_by_a_part_of_key_or_title(make_store: MakeStore) -> None:
    store = make_store()
    titles = {
        "a": "Winter notes",
        "b": "",
        "c/notes": "",
        "d": "Überall",
        "NOTES e": "",
        "it's $part": "",
        "ΑΘΗΝΑΣ": "İzmir",
    }
    store.write_many([make_graph(store.namespace, key, title=title, named=False) for key, title in titles.items()])

    def keys(part: str, *, after: str = "", k: int = 9) -> list[str]:
        return [record.key for record in store.list_documents_after(after, k=k, part=part)]

    assert keys("notes") == keys("NoTes") == ["NOTES e", "a", "c/notes"]
    assert keys("notes", after="a") == ["c/notes"]
    assert keys("notes", k=2) == ["NOTES e", "a"]
    assert keys("ÜBER") == ["d"]
    assert keys("αθηνας") == keys("ΑΘΗΝΑΣ") == keys("İz") == keys("izm") == ["ΑΘΗΝΑΣ"]
    assert keys("'s $") == ["it's $part"]
    assert keys("absent") == []


def test_large_group_is_written(make_store: MakeStore) -> None:
    store = make_store()
    graphs = [make_graph(store.namespace, f"{number}", ("Alice.", f"Number{number}.")) for number in range(600)]

    receipts = store.write_many(graphs)

    assert {tuple(sorted(receipt.counts.items())) for receipt in receipts} == {
        (("Document", 1), ("HAS_SEGMENT", 2), ("MENTIONS", 2), ("NEXT", 1), ("Segment", 2))
    }
    assert (store.count_documents(), store.statistics()["Entity"]) == (600, 601)
