"""Kept questions, on every engine: as they were, stale with what changed, and gone with what they quote."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from memgraph_rag.contracts import GraphStore
from memgraph_rag.testing.sample_graphs import make_graph, make_question


def test_question_that_becomes_stale_during_read_is_read_again(
    store: GraphStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.write(graph := make_graph(store.namespace))
    question = make_question(store.namespace, graph.segments)
    store.keep(question)
    store.keep(newer := make_question(store.namespace, [], "Newer?", asked_at="2026-11-21T11:00:00+00:00"))
    run: Callable[..., Any] = store._run  # type: ignore[attr-defined]

    def replaced_meanwhile(name: str, /, **parameters: Any) -> Any:
        if name == "read/list_reads":
            monkeypatch.undo()
            store.write(make_graph(store.namespace, texts=("Bob slept.",)))
        return run(name, **parameters)

    monkeypatch.setattr(store, "_run", replaced_meanwhile)

    assert [(kept.text, kept.is_stale) for kept in store.questions()] == [(newer.text, False), (question.text, True)]


def test_failed_keep_leaves_earlier_question(store: GraphStore, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = make_graph(store.namespace)
    store.write(graph)
    held = make_question(store.namespace, graph.segments)
    store.keep(held)
    with monkeypatch.context() as patch:
        patch.setattr("memgraph_rag.stores.shared.question_rows.read_columns", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            store.keep(make_question(store.namespace, graph.segments[:1]))

    assert store.questions() == [held]


def test_failed_write_makes_no_question_stale(store: GraphStore, monkeypatch: pytest.MonkeyPatch) -> None:
    store.write(graph := make_graph(store.namespace))
    store.keep(question := make_question(store.namespace, graph.segments))
    with monkeypatch.context() as patch:
        patch.setattr("memgraph_rag.stores.shared.rows.segment_columns", lambda _: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            store.write(make_graph(store.namespace, texts=("Bob slept.",)))

    assert store.questions() == [question]
