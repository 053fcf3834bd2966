"""Tests of documents that grow: appended segments give the same graph as one write, and no change is lost."""

from __future__ import annotations

from dataclasses import replace

import pytest

from memgraph_rag.contracts import GraphStore
from memgraph_rag.errors import DocumentChanged, StoreError
from memgraph_rag.testing.sample_graphs import MakeStore, make_graph
from memgraph_rag.testing.store_suite.annotations import add_places
from memgraph_rag.types import Action, Annotation, DocumentGraph

TEXTS = ("Ann lives here. ", "Tom left. ", "Ann came. ", "It rained. ")


def make_page(store: GraphStore, count: int, key: str = "page") -> DocumentGraph:
    """Return a document of the first ``count`` texts, with an annotation of each segment."""
    graph = make_graph(store.namespace, key, TEXTS[:count], named=False)
    annotations = tuple(
        Annotation(segment.text.strip(), (segment.id,), "fact", {"n": segment.index}, layer="facts")
        for segment in graph.segments
    )
    record = replace(graph.document, layers=("facts",), sha256=f"{count:064}", added_at="2024-05-01T10:00:00+00:00")
    return add_places(store, replace(graph, document=record, annotations=annotations))


def test_appended_segments_give_the_graph_of_one_write(make_store: MakeStore) -> None:
    store, whole = make_store("grown"), make_store()
    first = make_page(store, 2)
    assert store.revise(first, before="") is Action.ADDED

    assert store.revise(make_page(store, 3), before=first.document.sha256, kept=2) is Action.REPLACED
    assert store.revise(make_page(store, 4), before=f"{3:064}", kept=3) is Action.REPLACED

    expected = make_page(store, 4)
    (read,) = store.read_graphs([expected.document.id])
    assert (read.document, read.segments, read.annotations) == (
        expected.document,
        expected.segments,
        expected.annotations,
    )
    assert abs(read.segment_embeddings - expected.segment_embeddings).max() < 1e-6
    whole.write(make_page(whole, 4))
    assert store.statistics() == whole.statistics()
    assert not store.flaws()
    assert [segment.text for segment in store.list_indexed_segments(since=2)] == [*TEXTS]


def test_last_kept_segments_are_embedded_anew(store: GraphStore) -> None:
    first, grown = make_page(store, 2), make_page(store, 3)
    store.revise(first, before="")
    turned = grown.segment_embeddings.copy()
    turned[1] = turned[1][::-1]

    store.revise(replace(grown, segment_embeddings=turned), before=first.document.sha256, kept=2)

    (read,) = store.read_graphs([grown.document.id])
    assert abs(read.segment_embeddings - turned).max() < 1e-6


@pytest.mark.parametrize("kept", [0, 2])
def test_only_the_content_that_was_read_is_revised(store: GraphStore, kept: int) -> None:
    first, grown = make_page(store, 2), make_page(store, 3)
    with pytest.raises(DocumentChanged, match=r"[Ee]xpected"):
        store.revise(grown, before=first.document.sha256, kept=kept)
    assert not any(store.statistics().values())
    store.revise(first, before="")
    version = store.version()

    for before in ("", "0" * 64):
        with pytest.raises(DocumentChanged, match=r"[Ee]xpected"):
            store.revise(grown, before=before, kept=kept)
    assert [record.sha256 for record in store.documents()] == [first.document.sha256]
    assert store.version() == version


def test_revising_without_kept_segments_replaces_all(store: GraphStore) -> None:
    first = make_page(store, 4)
    store.revise(first, before="")

    assert store.revise(make_page(store, 1), before=first.document.sha256) is Action.REPLACED

    counts = {"Document": 1, "Segment": 1, "HAS_SEGMENT": 1, "Annotation": 1, "ANNOTATES": 1}
    assert store.count_by_document([first.document.id]) == {first.document.id: counts}
    assert not store.flaws()


@pytest.mark.parametrize("kept", [-1, 3, 9])
def test_nothing_new_is_refused(store: GraphStore, kept: int) -> None:
    first = make_page(store, 3)
    store.revise(first, before="")

    with pytest.raises(StoreError, match=r"[Ee]xpected"):
        store.revise(first, before=first.document.sha256, kept=kept)


def test_annotations_of_a_layer_since_a_version(make_store: MakeStore) -> None:
    store, other = make_store(), make_store()
    store.write(make_page(store, 2, "a"))
    other.write(make_page(other, 2, "a"))
    since = store.version()
    store.write(make_page(store, 1, "b"))

    texts = [(item.text, len(item.segment_ids)) for item in store.layer_annotations("facts")]
    assert sorted(texts) == [("Ann lives here.", 1), ("Ann lives here.", 1), ("Tom left.", 1)]
    assert [item.properties for item in store.layer_annotations("facts", since=since)] == [{"n": 0}]
    assert store.layer_annotations("other") == []
