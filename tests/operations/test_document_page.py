"""Documents page by page: in the order of their keys, and the database reads no other records."""

from __future__ import annotations

from typing import Any

import pytest

from memgraph_rag import Document, Memory
from memgraph_rag.errors import SettingsError

KEYS = ["a", "b", "ä", "\ufb00", "\U0001f600"]


@pytest.fixture
def listed(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> Memory:
    """A memory of five documents that cannot list them all at once."""
    list(memory.add_many([Document("A fox.", key=key) for key in reversed(KEYS)]))

    def documents(*_: Any) -> None:
        raise AssertionError

    monkeypatch.setattr(memory._store, "documents", documents)
    return memory


def test_pages_follow_one_another(listed: Memory) -> None:
    pages = [listed.document_page(limit=2)]
    while pages[-1].next_after:
        pages.append(listed.document_page(after=pages[-1].next_after, limit=2))
    assert [[record.key for record in page.documents] for page in pages] == [KEYS[:2], KEYS[2:4], KEYS[4:]]
    assert [page.total for page in pages] == [5, 5, 5]


def test_a_key_that_is_not_there_has_a_place(listed: Memory) -> None:
    assert [record.key for record in listed.document_page(after="aa").documents] == KEYS[1:]
    assert listed.document_page(after=KEYS[-1]).documents == ()
    assert listed.document_page(limit=5).next_after == ""


@pytest.mark.parametrize("arguments", [{"limit": 0}, {"limit": True}, {"after": None}, {"after": "\ud800"}])
def test_what_is_no_page_is_refused(listed: Memory, arguments: dict[str, Any]) -> None:
    with pytest.raises(SettingsError, match=r"Expected (limit|after) as .*, got"):
        listed.document_page(**arguments)
