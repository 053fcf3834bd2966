"""Tests of the version: every change of a record is a write, and readers see which documents it changed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from memgraph_rag.contracts import GraphStore, GraphWriter
from memgraph_rag.testing.sample_graphs import make_graph, make_question, make_relations
from memgraph_rag.testing.store_suite.overviews import edges, overview
from memgraph_rag.types import DocumentGraph, OverviewRows, question_id

TEXTS = ("Alice met Bob.", "They ran.")


def _describe(store: GraphStore, graph: DocumentGraph) -> None:
    record = replace(graph.document, metadata={"user": "bob"}, sha256="1" * 64)
    assert store.describe([record], before=[graph.document.sha256]) == [record.id]


def _revise(store: GraphStore, graph: DocumentGraph) -> None:
    changed = replace(graph, document=replace(graph.document, sha256="1" * 64))
    store.revise(changed, before=graph.document.sha256)


def _write_overviews(store: GraphStore, graph: DocumentGraph) -> None:
    low = overview(store.namespace, "low", [graph])
    store.write_overviews(OverviewRows((low,), edges(low, *graph.segments)), as_of=store.version())


def _forget_question(store: GraphStore, graph: DocumentGraph) -> None:
    store.keep(make_question(store.namespace, graph.segments))
    store.forget_question(question_id(store.namespace, "Who ran?"))


WRITES: dict[str, tuple[Callable[[GraphStore, DocumentGraph], object], list[str]]] = {
    "write": (lambda store, graph: store.write(graph), ["a"]),
    "write_many": (lambda store, graph: store.write_many([graph]), ["a"]),
    "revise": (_revise, ["a"]),
    "extend": (lambda store, graph: store.extend(graph, layers=["entities"]), ["a"]),
    "extend_many": (lambda store, graph: store.extend_many([graph], layers=["entities"]), ["a"]),
    "describe": (_describe, ["a"]),
    "learn": (lambda store, graph: store.learn(make_relations(store.namespace, graph)), ["a"]),
    "forget": (lambda store, graph: store.forget(graph.document.id), []),
    "write_overviews": (_write_overviews, []),
    "keep": (lambda store, graph: store.keep(make_question(store.namespace, graph.segments)), []),
    "forget_question": (_forget_question, []),
}
"""For each writing method: a call that changes something, and the keys of the documents whose rows it changes."""


def test_every_writing_method_has_a_call() -> None:
    methods = {name for name in vars(GraphWriter) if not name.startswith("_")}

    assert methods - {"migrate"} == set(WRITES)


@pytest.mark.parametrize("method", WRITES)
def test_write_advances_version(store: GraphStore, method: str) -> None:
    graph = make_graph(store.namespace, "a", TEXTS)
    store.write_many([graph, make_graph(store.namespace, "b", TEXTS)])
    write, changed = WRITES[method]
    before = store.version()

    write(store, graph)

    assert store.version() > before
    written = store.list_written_documents(since=before)
    assert [record.key for record in written] == changed
    assert written == store.documents([record.id for record in written])
