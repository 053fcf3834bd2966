"""What every store does, on every engine: one suite for the contract ``GraphStore``."""

from __future__ import annotations

import logging
import threading
from typing import Any

import pytest

from memgraph_rag.contracts import GraphStore
from memgraph_rag.stores.shared.graph_reads import count_rows
from memgraph_rag.testing.sample_graphs import make_graph, unit
from memgraph_rag.testing.store_suite.writes import snapshot
from memgraph_rag.types import Action


def test_receipt_reports_forgotten_document_that_was_added_again(
    store: GraphStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    small, large = (make_graph(store.namespace, texts=("Alice was tired.",) * number) for number in (1, 9))
    written = store.write(small)
    writing: Any = store
    transaction = writing._transaction

    def added_again(*given: Any) -> Any:
        done = transaction(*given)
        monkeypatch.undo()
        store.write(large)
        return done

    monkeypatch.setattr(store, "_transaction", added_again)
    assert store.forget(small.document.id).counts == written.counts
    assert store.documents() == [large.document]


@pytest.mark.parametrize("failure", [KeyboardInterrupt, MemoryError])
def test_interrupted_write_leaves_store_unchanged(
    store: GraphStore, monkeypatch: pytest.MonkeyPatch, failure: type[BaseException]
) -> None:
    store.write(make_graph(store.namespace, levels=(2, 1)))
    before = snapshot(store)
    from memgraph_rag.stores.shared import rows

    def interrupted(edges: object) -> None:
        raise failure

    with monkeypatch.context() as patch:
        patch.setattr(rows, "link_columns", interrupted)  # after the old is removed and the nodes are made
        with pytest.raises(failure):
            store.write(make_graph(store.namespace, texts=("other",), levels=(1,), seed=5))
    assert snapshot(store) == before
    assert store.write(make_graph(store.namespace, texts=("other",))).action is Action.REPLACED


def test_several_threads_use_one_store(store: GraphStore, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "memgraph_rag")
    failures: list[Exception] = []

    def work(number: int) -> None:
        try:
            for turn in range(4):
                graph = make_graph(store.namespace, f"{number}", (f"text {number}", f"turn {turn}"), levels=(1,))
                store.write(graph)
                assert store.list_segments(graph.document.id) == list(graph.segments)
                assert store.find_nearest(unit(1), k=1, documents=[graph.document.id])
                assert store.find_matching(f"{turn}", k=1, documents=[graph.document.id])
        except Exception as exc:  # noqa: BLE001 (told to the main thread)
            failures.append(exc)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert not failures
    assert store.statistics()["Segment"] == 8
    retried = [record.getMessage() for record in caplog.records if "will be retried" in record.getMessage()]
    assert not retried, "writers of one namespace wait for each other, and do not lock each other out"


def test_document_written_during_count_counts_as_absent() -> None:
    counted = [{"document_id": "a document", "name": "InformationPoint", "count": 4}]
    assert count_rows(lambda *_, **__: counted, ["a document"]) == {"a document": {}}


def test_repr_hides_password(store: GraphStore, place: dict[str, Any]) -> None:
    assert place.get("password", "never") not in repr(store) + str(vars(store))
