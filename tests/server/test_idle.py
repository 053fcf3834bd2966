"""A namespace without calls is closed and opened again; one in use, or with work in the background, is not."""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Event
from typing import Any

import pytest
from mcp_agents import Connect, in_loop
from memories import FOX

from memgraph_rag.errors import StoreError
from memgraph_rag.server.memories import Memories

IDLE_S = 0.2
LONG_S = 5 * IDLE_S


def closes(memories: Memories, namespace: str) -> bool:
    """Whether a namespace is closed soon."""
    end = time.monotonic() + 10
    while namespace in memories.list_open() and time.monotonic() < end:
        time.sleep(0.01)
    return namespace not in memories.list_open()


def test_idle_namespace_is_closed_and_opened_again(open_memories: Callable[..., Memories]) -> None:
    memories = open_memories(idle_s=IDLE_S)
    with memories.keep_open("ann"):
        former = memories.get("ann")
        former.add(FOX, key="note")
        assert memories.list_open() == ("ann",)

    assert closes(memories, "ann")
    with pytest.raises(StoreError, match="closed"):
        former.documents()
    with memories.keep_open("ann"):
        assert [record.key for record in memories.get("ann").documents()] == ["note"]


def test_namespace_in_use_stays_open(open_memories: Callable[..., Memories]) -> None:
    memories = open_memories(idle_s=IDLE_S)
    with memories.keep_open("ann"), memories.keep_open("ann"):
        memory = memories.get("ann")
        with memories.keep_open("tom"):
            memories.get("tom")
        assert closes(memories, "tom")
        assert memories.list_open() == ("ann",)
        assert memory.documents() == []
    assert closes(memories, "ann")


def test_namespace_with_documents_to_build_stays_open(open_memories: Callable[..., Memories]) -> None:
    memories = open_memories(idle_s=IDLE_S, later=("points",))
    may_build = Event()
    with memories.keep_open("ann"):
        memory = memories.get("ann")
        build = memory.deepen

        def build_late(*arguments: Any, **options: Any) -> Any:
            may_build.wait(10)
            return build(*arguments, **options)

        memory.deepen = build_late  # type: ignore[method-assign]
        memories.follow(memory, memory.add(FOX))
    time.sleep(LONG_S)
    assert memories.list_open() == ("ann",)
    may_build.set()
    assert memories.wait(10)
    assert closes(memories, "ann")
    with memories.keep_open("ann"):
        assert "points" in memories.get("ann").documents()[0].layers


def test_memories_without_idle_limit_stay_open(open_memories: Callable[..., Memories]) -> None:
    memories = open_memories()
    memories.get("ann")
    time.sleep(LONG_S)
    assert memories.list_open() == ("ann",)


def test_memory_that_fails_to_close_keeps_no_other_open(
    open_memories: Callable[..., Memories], monkeypatch: pytest.MonkeyPatch
) -> None:
    memories = open_memories(idle_s=IDLE_S)
    close = memories.get("ann").close

    def fail() -> None:
        close()
        raise StoreError("Expected space on the disk, got none. Free some.")

    monkeypatch.setattr(memories.get("ann"), "close", fail)
    assert closes(memories, "ann")
    memories.get("tom")
    assert closes(memories, "tom")


@in_loop
async def test_calls_count_as_use(open_memories: Callable[..., Memories], connect: Connect) -> None:
    memories = open_memories(idle_s=IDLE_S)
    async with connect(memories) as ann:
        stored = await ann("remember", text=FOX, key="note")
        assert closes(memories, "ann")
        assert {passage["document_key"] for passage in (await ann("recall", query="fox"))["passages"]} == {"note"}
        assert closes(memories, "ann")
        assert (await ann.client.read_resource(f"memory://documents/{stored['document_id']}")).contents
