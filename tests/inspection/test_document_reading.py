"""Documents by name, within a scope, and page by page: in the order of their keys."""

from __future__ import annotations

from typing import Any

import pytest
from tables import table

from memgraph_rag import Document, Memory
from memgraph_rag.errors import DocumentNotFound, SettingsError

KEYS = ["a", "b", "ä", "\ufb00", "\U0001f600"]


@pytest.fixture
def listed(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> Memory:
    """A memory of five documents that cannot list them all at once."""
    list(memory.add_many([Document("A fox.", key=key) for key in reversed(KEYS)]))

    def documents(*_: Any) -> None:
        raise AssertionError

    monkeypatch.setattr(memory._parts.store, "documents", documents)
    return memory


def test_pages_of_a_document_are_in_order(listed: Memory) -> None:
    pages = [listed.documents(limit=2)]
    while pages[-1]:
        pages.append(listed.documents(after=pages[-1][-1].key, limit=2))
    assert [[record.key for record in page] for page in pages] == [KEYS[:2], KEYS[2:4], KEYS[4:], []]


def test_after_may_be_a_missing_key(listed: Memory) -> None:
    assert [record.key for record in listed.documents(after="aa", limit=9)] == KEYS[1:]
    assert listed.documents(after=KEYS[-1], limit=9) == []


@table("arguments", [{"limit": 0}, {"limit": True}, {"after": None}, {"after": "\ud800"}])
def test_invalid_page_arguments_are_refused(listed: Memory, arguments: dict[str, Any]) -> None:
    with pytest.raises(SettingsError, match=r"Expected (limit|after) as .*, got"):
        listed.documents(**arguments)


@pytest.mark.data
def test_pages_keep_to_a_scope(memory: Memory) -> None:
    for number, user in enumerate(["ann", "bob", "ann", "ann"]):
        memory.add(f"Fox {number}.", key=str(number), metadata={"user": user, "date": f"2026-0{number + 1}-01"})
    assert [record.key for record in memory.documents(user="ann", after="0", limit=1)] == ["2"]
    assert [record.key for record in memory.documents(user="ann", until="2026-04-01")] == ["0", "2"]
    assert [record.key for record in memory.documents(documents=["3", "0"])] == ["3", "0"]


def test_get_finds_documents_by_key_and_id_and_nodes_by_id(memory: Memory) -> None:
    receipt = memory.add("A fox ran.", key="fox", title="Fox", metadata={"user": "ann"})
    for name in ("fox", receipt.document_id):
        assert memory.get(name) == Document("A fox ran.", "fox", "Fox", metadata={"user": "ann"})
    (segment,) = memory._parts.store.list_segments(receipt.document_id)
    assert memory.get(segment.id) == segment
    with pytest.raises(DocumentNotFound, match="Expected the key or id of a document"):
        memory.get("wolf")
