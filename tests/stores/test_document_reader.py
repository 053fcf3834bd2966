"""Documents read together: by as many statements as one, in groups of bounded size, each as of one moment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from memgraph_rag.contracts import GraphStore
from memgraph_rag.errors import StoreError
from memgraph_rag.stores import open_store
from memgraph_rag.stores.shared import document_reader
from memgraph_rag.stores.shared.document_reader import iterate_graphs
from memgraph_rag.testing.sample_graphs import DIMENSION, EMBEDDER, make_graph
from memgraph_rag.types import DocumentGraph


def written(store: GraphStore, *keys: str) -> list[str]:
    """The ids of documents with these keys, which are stored."""
    graphs = [make_graph(store.namespace, key, levels=(2, 1), title="Alice") for key in keys]
    return [receipt.document_id for receipt in store.write_many(graphs)]


class Statements:
    """The statements that a store runs, with the documents that they ask for; ``before`` is called before each."""

    def __init__(self, store: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        self.listed: list[tuple[str, list[str]]] = []
        self.before: Any = lambda *_: None
        self._run = store._run
        monkeypatch.setattr(store, "_run", self)

    def __call__(self, name: str, /, **parameters: Any) -> list[dict[str, Any]]:
        document_ids = parameters.get("document_ids", [])
        self.listed.append((name, document_ids))
        self.before(name, document_ids)
        return self._run(name, **parameters)


def test_reading_many_documents_takes_statements_of_two(store: GraphStore, monkeypatch: pytest.MonkeyPatch) -> None:
    document_ids = written(store, *"abcdefgh")
    statements = Statements(store, monkeypatch)
    store.read_graphs(document_ids[:2])
    of_two, statements.listed = [name for name, _ in statements.listed], []

    assert len(store.read_graphs(document_ids)) == len(document_ids)

    assert [name for name, _ in statements.listed] == of_two


def test_reader_repeats_only_documents_written_meanwhile(store: GraphStore, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second, third = written(store, *"abc")
    statements = Statements(store, monkeypatch)
    other = make_graph(store.namespace, "b", ("Dan left.",))

    def write_once(name: str, _: Sequence[str]) -> None:
        if name == "read/list_mentions":
            statements.before = lambda *_: None
            store.write(other)
            store.forget(third)

    statements.before = write_once
    graphs = store.read_graphs([second, third, first])

    assert [graph.document.id for graph in graphs] == [second, first]
    assert [segment.text for segment in graphs[0].segments] == ["Dan left."]
    asked = [document_ids for name, document_ids in statements.listed if name == "read/list_titles"]
    assert asked == [[first, second, third], [second]]


def test_error_names_document_written_during_each_try(store: GraphStore, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = written(store, *"ab")
    statements = Statements(store, monkeypatch)
    graph = make_graph(store.namespace, "b", ("Dan left.",))

    def write(name: str, _: Sequence[str]) -> None:
        if name == "read/list_mentions":
            store.write(graph)

    statements.before = write
    with pytest.raises(StoreError, match=f"{second} to stay unchanged") as raised:
        store.read_graphs([first, second])
    assert raised.value.facts["document_id"] == second


def test_reader_groups_have_bounded_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document_reader, "SEGMENTS_TOGETHER", 6)
    store = open_store(":memory:", namespace="n")
    store.migrate(embedder=EMBEDDER, dimension=DIMENSION)
    lengths = (2, 3, 9, 1, 1, 1, 1, 1)
    graphs = [make_graph("n", str(place), ("Alice.",) * length) for place, length in enumerate(lengths)]
    store.write_many(graphs)
    document_ids = [graph.document.id for graph in graphs]
    asked: list[list[str]] = []
    graphs_of = store.read_graphs

    def counted(ids: Sequence[str]) -> list[DocumentGraph]:
        asked.append(list(ids))
        return graphs_of(ids)

    monkeypatch.setattr(store, "read_graphs", counted)
    read = list(iterate_graphs(store, [*document_ids[:7], "nobody", document_ids[7]]))

    assert [graph.document.id for graph in read] == document_ids
    assert [[*map(len, asked)], asked[-1]] == [[2, 1, 3, 3], [document_ids[6], "nobody", document_ids[7]]]
    assert list(iterate_graphs(store, [])) == []
