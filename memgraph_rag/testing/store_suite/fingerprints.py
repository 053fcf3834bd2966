"""Tests of finding documents by the hash of their file or of their whole text."""

from __future__ import annotations

from dataclasses import replace

from memgraph_rag.contracts import GraphStore
from memgraph_rag.testing.sample_graphs import MakeStore, make_graph
from memgraph_rag.types import Fingerprint, text_hash

TEXTS = ("Alice met Bob. ", "Bob met Carol.\n")


HASH = text_hash("Alice met Bob. Bob met Carol.")


def test_a_document_has_the_hash_of_its_whole_text(store: GraphStore) -> None:
    graph = make_graph(store.namespace, "a", TEXTS)
    store.write(graph)
    fingerprint = Fingerprint(graph.document.id, "a", "/books/a", HASH)
    assert store.find_fingerprints(sources=["/books/a", "/books/none", "/books/a"]) == [fingerprint]


def test_documents_are_matched_by_text_or_by_file(store: GraphStore) -> None:
    first, second = (make_graph(store.namespace, key, TEXTS) for key in ("b", "a"))
    other = make_graph(store.namespace, "c")
    store.write_many([first, second, other])

    def keys(**wanted: list[str]) -> list[str]:
        return [fingerprint.key for fingerprint in store.find_fingerprints(**wanted)]

    assert keys(text_hashes=[HASH]) == ["a", "b"]
    assert keys(sources=["/books/b", "/books/none"]) == ["b"]
    assert keys(sources=["/books/b", "/books/c"], text_hashes=[HASH]) == ["a", "b", "c"], "each once"
    assert keys() == keys(sources=[""], text_hashes=[""]) == []


def test_new_text_changes_hash(store: GraphStore) -> None:
    store.write(make_graph(store.namespace, "a", TEXTS))
    graph = make_graph(store.namespace, "a", TEXTS[:1])
    store.write(graph)
    stored = store.find_fingerprints(sources=["/books/a"])
    assert [fingerprint.text_sha256 for fingerprint in stored] == [text_hash(TEXTS[0])]
    store.forget(graph.document.id)
    assert store.find_fingerprints(sources=["/books/a"], text_hashes=[HASH, text_hash(TEXTS[0])]) == []


def test_text_without_file_matches_no_file(store: GraphStore) -> None:
    graph = make_graph(store.namespace, "a", TEXTS)
    store.write(replace(graph, document=replace(graph.document, source="")))
    assert store.find_fingerprints(sources=[""]) == []
    assert [item.key for item in store.find_fingerprints(document_ids=[*store.document_ids(), "x"])] == ["a"]
    assert [fingerprint.source for fingerprint in store.find_fingerprints(text_hashes=[HASH])] == [""]


def test_another_namespace_matches_nothing(make_store: MakeStore) -> None:
    mine, yours = make_store(), make_store()
    graph = make_graph(yours.namespace, "a", TEXTS)
    yours.write(graph)
    assert mine.find_fingerprints(sources=["/books/a"], text_hashes=[HASH]) == []
