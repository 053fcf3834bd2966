"""Views of a memory: they add as their owner, narrow, and refuse what reaches beyond them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from memories import FOX, QUESTION, RIVER, options

from memgraph_rag import Memory
from memgraph_rag.errors import DocumentNotFound, SettingsError

DAYS = ("2026-01-10", "2026-02-10")


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory(tmp_path / "notes.lbug", **options(layers=("entities",))) as opened:
        opened.add(FOX, key="fox", metadata={"user": "ann", "date": DAYS[0]})
        opened.add(RIVER, key="river", metadata={"user": "bob", "date": DAYS[1]})
        yield opened


def keys(memory: Memory) -> list[str]:
    return [record.key for record in memory.documents()]


def test_view_searches_and_lists_its_scope(memory: Memory) -> None:
    ann = memory.scoped(user="ann")
    assert {item.document_key for item in ann.search(QUESTION)} == {"fox"}
    assert [record.key for record in ann.documents()] == ["fox"]
    assert memory.search(QUESTION, user="ann") == ann.search(QUESTION)


def test_view_keeps_documents_of_a_generator(memory: Memory) -> None:
    view = memory.scoped(documents=(key for key in ("fox",)))
    assert [{item.document_key for item in view.search(QUESTION)} for _ in range(2)] == [{"fox"}, {"fox"}]
    with pytest.raises(SettingsError, match="Put a single name into a list"):
        memory.scoped(documents="fox")


def test_number_in_metadata_names_a_user(memory: Memory) -> None:
    memory.add("The mill turns at night.", key="mill", metadata={"user": 7, "session": 1})
    assert [record.key for record in memory.scoped(user="7", session="1").documents()] == ["mill"]
    assert {item.document_key for item in memory.search(QUESTION, user="7")} == {"mill"}
    assert [receipt.key for receipt in memory.forget(user="7")] == ["mill"]


def test_view_adds_as_its_owner(memory: Memory) -> None:
    view = memory.scoped(user="ann", session="1", where={"project": "mill"})
    assert view.add("The mill stands still.", metadata={"page": 3}).key
    (record,) = view.documents()
    assert record.metadata == {"page": 3, "user": "ann", "session": "1", "project": "mill"}
    with pytest.raises(SettingsError, match="Expected metadata of this view"):
        view.add("Another mill.", metadata={"user": "bob"})


def test_calls_narrow_a_view_and_do_not_leave_it(memory: Memory) -> None:
    ann = memory.scoped(user="ann")
    assert ann.search(QUESTION, since=DAYS[1]) == []
    assert ann.search(QUESTION, user="ann")
    with pytest.raises(SettingsError, match="Expected user of this view, 'ann', got 'bob'"):
        ann.search(QUESTION, user="bob")
    assert ann.documents(documents=["river"]) == []


def test_view_forgets_only_what_it_holds_as_a_whole(memory: Memory) -> None:
    for view in (memory.scoped(user="ann"), memory.scoped(documents=["fox"]), memory.scoped(until=DAYS[1])):
        with pytest.raises(DocumentNotFound, match="Expected a document of this view"):
            view.forget("river")
    assert keys(memory) == ["fox", "river"]
    assert memory.scoped(since=DAYS[1]).forget("river").key == "river"


def test_all_of_a_user_is_forgotten_by_a_view_of_the_user_alone(memory: Memory) -> None:
    for view in (memory.scoped(), memory.scoped(since=DAYS[0]), memory.scoped(user="ann", since=DAYS[0])):
        with pytest.raises(SettingsError, match="Expected a view with a user and at most a session"):
            view.forget()
    assert [receipt.key for receipt in memory.scoped(user="ann").forget()] == ["fox"]
    assert keys(memory) == ["river"]


def test_sessions_are_of_the_views_user(memory: Memory) -> None:
    session = memory.scoped(user="ann", session="1").session()
    assert (session.user, session.session) == ("ann", "1")
    with pytest.raises(SettingsError, match="Expected session of this view, '1', got '2'"):
        memory.scoped(user="ann", session="1").session("2")
    with pytest.raises(SettingsError, match="Expected a view of one user"):
        memory.scoped().session()


def test_tools_of_a_view_stay_in_its_scope(memory: Memory) -> None:
    search, forget = memory.scoped(until=DAYS[1]).tools(("search", "forget"))
    assert {passage["document_key"] for passage in search(query="river boat", k=9)} == {"fox"}
    assert "error" in forget.to_text({"document": "river"})
    assert keys(memory) == ["fox", "river"]


def test_archive_of_a_view_holds_its_documents(memory: Memory, tmp_path: Path) -> None:
    assert memory.scoped(user="ann").export_to(tmp_path / "ann.jsonl") == 1
    assert "Oak Hill" in (tmp_path / "ann.jsonl").read_text("utf-8") or FOX[:9] in (tmp_path / "ann.jsonl").read_text()
    with pytest.raises(SettingsError, match="Expected a scope without a time"):
        memory.scoped(until=DAYS[1]).export_to(tmp_path / "early.jsonl")


@pytest.mark.parametrize(
    "scope",
    [
        {"user": ""},
        {"session": 3},
        {"where": 5},
        {"user": "ann", "where": {"user": "bob"}},
        {"since": "soon"},
        {"until": "2026", "at": "2026"},
    ],
)
def test_invalid_scope_is_refused_at_once(memory: Memory, scope: dict[str, object]) -> None:
    with pytest.raises(SettingsError):
        memory.scoped(**scope)  # type: ignore[arg-type]
