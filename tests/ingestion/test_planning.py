"""Documents that are compared with what is stored of them: many by the statements of two."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from memories import graph_of

from memgraph_rag import Memory
from memgraph_rag.testing import FakeLanguageModel
from memgraph_rag.types import Action, Document, Failure, Receipt

FIRST = ("entities", "outline")
ALL = (*FIRST, "context", "relations")
NOTES = [
    Document(
        f"# Foxes\n\nFox number {number} met Ann Lee in Lund.\n\n# Boxes\n\nAnn Lee sold {number} boxes.", f"{number}"
    )
    for number in range(8)
]
ANSWER = "The box was the work of her brother, who liked to carve."

OpenMemory = Callable[..., Memory]


def looks_into_documents(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, call: Callable[[], Iterator[Receipt | Failure]]
) -> tuple[list[Receipt], Counter[str]]:
    """The receipts of a call, and how often it listed something of documents."""
    names: Counter[str] = Counter()
    run = memory._parts.store._run  # pyright: ignore[reportAttributeAccessIssue]

    def named(name: str, /, **parameters: Any) -> Any:
        names[name] += 1
        return run(name, **parameters)

    with monkeypatch.context() as patch:
        patch.setattr(memory._parts.store, "_run", named)
        receipts = [outcome for outcome in call() if isinstance(outcome, Receipt)]
    return receipts, Counter({name: number for name, number in names.items() if name.startswith("read/list_")})


def stated(memory: Memory) -> list[str]:
    """All relations, in words."""
    store = memory._parts.store
    relations = [relation for record in store.documents() for relation in store.list_relations(record.id)]
    return sorted(relation.description for relation in relations)


def deepened(memory: Memory, monkeypatch: pytest.MonkeyPatch, notes: Sequence[Document]) -> Counter[str]:
    receipts, looks = looks_into_documents(memory, monkeypatch, lambda: memory.add_many(notes))
    assert [receipt.action for receipt in receipts] == [Action.DEEPENED] * len(notes)
    return looks


def test_missing_layers_are_found_in_few_statements(open_memory: OpenMemory, monkeypatch: pytest.MonkeyPatch) -> None:
    list(open_memory(layers=FIRST).add_many(NOTES))
    memory, whole = open_memory(layers=ALL), open_memory(layers=ALL, namespace="whole")
    looks = deepened(memory, monkeypatch, NOTES[:2])
    assert looks == {"read/list_segments": 1, "read/list_sections": 1, "read/list_mentions": 1}
    assert deepened(memory, monkeypatch, NOTES[2:]) == looks
    list(whole.add_many(NOTES))
    assert graph_of(memory)["counts"] == graph_of(whole)["counts"]
    assert stated(memory) == stated(whole) != []


def test_each_document_gets_its_own_segments_in_order(open_memory: OpenMemory) -> None:
    list(open_memory(layers=()).add_many(NOTES[::2]))
    receipts = list(open_memory(layers=("outline",)).add_many(NOTES))
    actions = [receipt.action for receipt in receipts if isinstance(receipt, Receipt)]
    assert actions == [Action.DEEPENED, Action.ADDED] * 4
    store = open_memory(layers=("outline",))._parts.store
    for note in NOTES:
        record = store.document(note.key)
        assert record is not None
        assert "".join(segment.text for segment in store.list_segments(record.id)) == note.text
        assert [section.title for section in store.sections(record.id)] == ["Foxes", "Boxes"]


def test_echoes_in_documents_that_are_replaced(open_memory: OpenMemory, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = open_memory(layers=("entities",), model=FakeLanguageModel(answer=ANSWER))
    own = [Document(ANSWER if number % 2 else note.text, note.key) for number, note in enumerate(NOTES)]
    list(memory.add_many(own))
    memory.ask("Who built a wooden box?")

    def replaced(notes: Sequence[Document]) -> tuple[list[int], Counter[str]]:
        changed = [Document(f"{ANSWER} {note.key}", note.key) for note in notes]
        receipts, looks = looks_into_documents(memory, monkeypatch, lambda: memory.add_many(changed))
        return [receipt.echoes for receipt in receipts], looks

    echoes, looks = replaced(NOTES[:2])
    assert [number > 0 for number in echoes] == [True, False], "what a document said before stays its own"
    assert looks["read/list_segments"] == 1
    assert replaced(NOTES[2:]) == ([*echoes] * 3, looks)
