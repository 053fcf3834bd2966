"""Which documents are of whom, kept between calls, against reading every record."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from memories import options

from memgraph_rag import Memory
from memgraph_rag.calls.scope_index import ScopeIndex

NAMES = st.sampled_from([None, "ann", "tom", "ann/tom"])


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    with Memory(tmp_path_factory.mktemp("scopes") / "notes.lbug", **options()) as memory:
        yield memory


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(st.tuples(st.integers(0, 3), NAMES, NAMES, st.booleans()), max_size=6), user=NAMES, session=NAMES)
def test_scope_index_equals_all_records(memory: Memory, steps: Any, user: Any, session: Any) -> None:
    index = ScopeIndex(memory._parts.store)
    for number, owner, conversation, is_added in steps:
        if is_added:
            metadata = {"user": owner, "session": conversation}
            metadata = {name: value for name, value in metadata.items() if value is not None}
            memory.add(f"Note {number}.", key=f"{number} {owner} {conversation}", metadata=metadata)
        elif keys := [record.key for record in memory.documents() if record.key.startswith(str(number))]:
            memory.forget(keys[0])
        scope = {name: value for name, value in (("user", user), ("session", session)) if value is not None}
        stored = [record.id for record in memory.documents() if scope.items() <= record.metadata.items()]
        assert index.documents(scope) == sorted(stored)


def test_scope_index_reads_only_what_was_written(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    memory.add("A first note.", key="first", metadata={"user": "eve"})
    index = ScopeIndex(memory._parts.store)
    index.documents({"user": "eve"})
    read: list[int] = []
    written_documents = memory._parts.store.list_written_documents

    def counted(*, since: int = -1) -> Any:
        records = written_documents(since=since)
        read.append(len(records))
        return records

    monkeypatch.setattr(memory._parts.store, "list_written_documents", counted)
    memory.add("A second note.", key="second", metadata={"user": "eve"})
    assert len(index.documents({"user": "eve"})) == 2
    assert len(index.documents({"user": "eve"})) == 2
    assert read == [1]
