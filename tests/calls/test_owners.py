"""Whose a document is: two users who say the same, another user's key, and the keys of a session's pages."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from memories import graph_of, options
from tables import table

from memgraph_rag import Document, Memory
from memgraph_rag.errors import DocumentError
from memgraph_rag.maintenance.archive_check import check_as_added
from memgraph_rag.types import Failure

SAID = "I am allergic to peanuts."
CHAT = [{"role": "user", "content": SAID}]


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory(tmp_path / "notes.lbug", **options(layers=("entities",))) as memory:
        yield memory


def add_by_tool(memory: Memory, *, key: str | None = None, text: str = SAID, **owner: str) -> dict[str, Any]:
    (tool,) = memory.tools(["add"], **owner)
    return json.loads(tool.to_text({"text": text, "key": key}))


@pytest.mark.parametrize("source", [SAID, CHAT], ids=["text", "chat"])
def test_two_owners_of_the_same_words_have_a_document_each(memory: Memory, source: Any) -> None:
    owners = [{"user": "ann"}, {"user": "bob"}, {"user": "ann", "session": "1"}, {"session": "1"}, {}]

    keys = {memory.add(source, metadata=owner).key for owner in owners}

    assert len(keys) == len(owners)
    assert len(memory.forget(user="bob")) == 1
    assert len(memory.search("peanuts", user="ann")) == 2
    for owner in owners:
        memory.add(source, metadata=owner)
    assert {record.key for record in memory.documents()} == keys


def test_tools_of_two_users_store_the_same_words_apart(memory: Memory) -> None:
    receipts = [add_by_tool(memory, user=user) for user in ("ann", "bob", "ann")]

    assert [receipt["action"] for receipt in receipts] == ["added", "added", "unchanged"]
    assert len(memory.search("peanuts", user="ann")) == 1


@table("text", [SAID, "I like peanuts."])
@table(
    ("stored", "named"),
    [
        ({"user": "ann"}, {"user": "bob"}),
        ({"user": "ann"}, {}),
        ({}, {"user": "bob"}),
        ({"user": "ann", "session": "1"}, {"user": "ann"}),
        ({"user": "ann", "session": "1"}, {"user": "ann", "session": "2"}),
    ],
)
def test_document_keeps_its_owner(memory: Memory, stored: dict[str, str], named: dict[str, str], text: str) -> None:
    memory.add(SAID, key="note", metadata=stored)
    before = graph_of(memory)

    with pytest.raises(DocumentError, match="Expected the user and session of the stored document 'note'") as refused:
        memory.add(text, key="note", metadata=named)
    (outcome,) = memory.add_many([Document(text, "note", metadata=named)])

    assert "ann" not in str(refused.value)
    assert isinstance(outcome, Failure)
    assert graph_of(memory) == before
    memory.forget("note")


def test_file_of_another_user_is_refused(memory: Memory, tmp_path: Path) -> None:
    path = tmp_path / "diary.txt"
    path.write_text(SAID)
    memory.add(path, metadata={"user": "ann"})

    with pytest.raises(DocumentError, match="Expected the user"):
        memory.add(path, metadata={"user": "bob"})


def test_owner_describes_and_replaces(memory: Memory) -> None:
    memory.add(SAID, key="note", metadata={"user": "ann"})

    assert memory.add(SAID, key="note", metadata={"user": "ann", "project": "x"}).action.value == "described"
    assert len(memory.search("peanuts", where={"project": "x"})) == 1, "an open memory sees other metadata"
    assert memory.add("I like peanuts.", key="note").action.value == "replaced", "without metadata the owner stays"
    assert memory.documents()[0].metadata["user"] == "ann"


def test_tool_takes_no_key_of_others(memory: Memory) -> None:
    memory.add(SAID, key="handbook")
    memory.add(SAID, key="diary", metadata={"user": "ann"})
    before = graph_of(memory)

    for key in ("handbook", "diary"):
        assert "another key" in add_by_tool(memory, key=key, text="Mine.", user="bob")["error"]
    assert graph_of(memory) == before


def test_receipt_names_no_document_of_others(memory: Memory) -> None:
    memory.add(SAID, key="secret plan", metadata={"user": "ann"})

    assert memory.add(SAID, key="x", metadata={"user": "bob"}).same_as == ()
    assert memory.add(SAID, key="y", metadata={"user": "bob"}).same_as == ("x",)


@pytest.mark.parametrize("key", ["session/bob/default/0", "session/ann%2Flee/1/12", f"session#{'0' * 32}/0"])
def test_session_pages_keys_are_refused(memory: Memory, key: str) -> None:
    for source in (SAID, Document(SAID, key)):
        with pytest.raises(DocumentError, match="Expected a key of your own"):
            memory.add(source, key=key)
    assert "Expected a key of your own" in add_by_tool(memory, key=key, user="ann")["error"]
    assert memory.documents() == []


def test_every_page_has_a_reserved_key(memory: Memory) -> None:
    for user in ("bob", "o'neil/../x", "x" * 500, "日本"):
        memory.session(user=user, session="a/b").add(CHAT)

    for record in memory.documents():
        with pytest.raises(DocumentError, match="Expected a key of your own"):
            memory.add(SAID, key=record.key)


@table("key", ["session/notes.md", "session/a/b/0/c", "sessions/a/b/0", "my session/a/b/0"])
def test_similar_keys_are_free(memory: Memory, key: str) -> None:
    assert memory.add(SAID, key=key).key == key


def test_metadata_of_pages_make_no_page(tmp_path: Path) -> None:
    turns: dict[int, Any] = dict(enumerate([12, "see below", "{}", "null", True, "[1]", "[]"]))
    with Memory(tmp_path / "notes.lbug", **options(layers=())) as memory:
        for session, value in turns.items():
            memory.add(SAID, key=f"chat {session}", metadata={"user": "ann", "session": str(session), "turns": value})

    with Memory(tmp_path / "notes.lbug", **options(layers=("entities",))) as memory:
        assert [receipt.key for receipt in memory.deepen()] == [f"chat {session}" for session in turns]


def test_archive_brings_pages_and_no_others_under_their_keys(tmp_path: Path) -> None:
    archive = tmp_path / "notes.jsonl"
    with Memory(tmp_path / "a.lbug", **options(layers=())) as memory:
        memory.session(user="ann").add(CHAT)
        memory.session(user="x" * 500).add(CHAT)
        memory.maintenance.export_to(archive)
        pages = [record.key for record in memory.documents()]
    with Memory(tmp_path / "b.lbug", namespace="other", **options(layers=())) as memory:
        assert sorted(receipt.key for receipt in memory.maintenance.import_from(archive)) == sorted(pages)
    with Memory(tmp_path / "c.lbug", **options(layers=())) as memory:
        receipt = memory.add(SAID, key="squat", metadata={"user": "mallory", "session": "1", "turns": "[]"})
        (graph,) = memory._parts.store.read_graphs([receipt.document_id])
        check_as_added(graph)
        taken = replace(graph, document=replace(graph.document, key="session/ann/default/0"))
        with pytest.raises(DocumentError, match="turns of a session"):
            check_as_added(taken)
