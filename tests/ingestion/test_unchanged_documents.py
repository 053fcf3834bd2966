"""Documents of which nothing changes: many are told of by the statements of two."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from memgraph_rag import Memory
from memgraph_rag.maintenance import layer_removal
from memgraph_rag.types import Action, Document, Failure, Receipt

NOTES = [Document(f"Fox number {number} sleeps in Lund.", key=f"{number}") for number in range(8)]

Outcomes = Iterator[Receipt | Failure]


def statements_of(memory: Memory, monkeypatch: pytest.MonkeyPatch, call: Callable[[], Outcomes]) -> list[str]:
    """The statements of a call, in which every document is found unchanged, and told with what it holds."""
    names: list[str] = []
    run = memory._parts.store._run  # pyright: ignore[reportAttributeAccessIssue]

    def named(name: str, /, **parameters: Any) -> Any:
        names.append(name)
        return run(name, **parameters)

    with monkeypatch.context() as patch:
        patch.setattr(memory._parts.store, "_run", named)
        receipts = [outcome for outcome in call() if isinstance(outcome, Receipt)]
    assert {receipt.action for receipt in receipts} == {Action.UNCHANGED}
    assert all(receipt.counts["Segment"] == 1 for receipt in receipts)
    return names


def test_second_add_takes_few_statements(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    list(memory.add_many(NOTES))
    two = statements_of(memory, monkeypatch, lambda: memory.add_many(NOTES[:2]))
    assert statements_of(memory, monkeypatch, lambda: memory.add_many(NOTES)) == two
    assert statements_of(memory, monkeypatch, memory.deepen).count("read/count_by_document") == 1


def test_removing_a_missing_layer_takes_few_statements(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    list(memory.add_many(NOTES))
    two = statements_of(memory, monkeypatch, lambda: memory.maintenance.remove_layer("context", ["0", "1"]))
    keys = [note.key for note in NOTES]
    assert statements_of(memory, monkeypatch, lambda: memory.maintenance.remove_layer("context", keys)) == two
    monkeypatch.setattr(layer_removal, "_COUNTED_TOGETHER", 3)
    groups = statements_of(memory, monkeypatch, lambda: memory.maintenance.remove_layer("context", keys))
    assert groups.count("read/count_by_document") == 3


def test_layer_is_removed_from_some_documents_in_order(memory: Memory) -> None:
    list(memory.add_many(NOTES[:4]))
    list(memory.deepen(["1", "2"], layers=["context"]))
    receipts = [outcome for outcome in memory.maintenance.remove_layer("context") if isinstance(outcome, Receipt)]
    actions = [(receipt.key, receipt.action, receipt.counts.get("Annotation", 0)) for receipt in receipts]
    changed, unchanged = (Action.DEEPENED, 0), (Action.UNCHANGED, 0)
    assert actions == [("0", *unchanged), ("1", *changed), ("2", *changed), ("3", *unchanged)]
