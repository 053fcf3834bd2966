"""Namespaces are opened beside one another, and what fails to open fails once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Event, Semaphore
from typing import Any

import pytest

from memgraph_rag import Memory
from memgraph_rag.errors import StoreUnavailable
from memgraph_rag.server.memories import Memories
from memgraph_rag.testing.fakes import FakeEmbedder, FakeLanguageModel

WAIT_S = 10


class Openings:
    """Opens namespaces in memory; that of ann not before it may, and then it fails."""

    def __init__(self) -> None:
        self.began, self.may_fail = Event(), Event()
        self.tries: list[str] = []

    def __call__(self, namespace: str, **_: Any) -> Memory:
        self.tries.append(namespace)
        if namespace == "ann" and not self.may_fail.is_set():
            self.began.set()
            assert self.may_fail.wait(WAIT_S)
            raise StoreUnavailable("Expected a server, got none. Start it.")
        return Memory(
            ":memory:", namespace=namespace, model=FakeLanguageModel(), embedder=FakeEmbedder(), recognizer="rules"
        )


def test_namespace_that_cannot_be_opened_holds_up_no_other() -> None:
    openings = Openings()
    memories = Memories(openings)
    with ThreadPoolExecutor() as pool:
        stuck = pool.submit(memories.get, "ann")
        assert openings.began.wait(WAIT_S)

        assert memories.get("tom").namespace == "tom"
        openings.may_fail.set()
        with pytest.raises(StoreUnavailable):
            stuck.result(WAIT_S)
    memories.close()


def test_calls_that_waited_for_an_opening_fail_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    openings = Openings()
    memories = Memories(openings)
    with ThreadPoolExecutor(8) as pool:
        first = pool.submit(memories.get, "ann")
        assert openings.began.wait(WAIT_S)
        waiting = Semaphore(0)
        turn = memories._turn
        monkeypatch.setattr(memories, "_turn", lambda namespace: [turn(namespace), waiting.release()][0])
        others = [pool.submit(memories.get, "ann") for _ in range(5)]
        assert all(waiting.acquire(timeout=WAIT_S) for _ in others)
        openings.may_fail.set()
        for future in (first, *others):
            with pytest.raises(StoreUnavailable):
                future.result(WAIT_S)

    assert openings.tries == ["ann"]
    assert memories.get("ann").namespace == "ann"  # a later call tries again
    memories.close()


def test_closed_memories_open_nothing() -> None:
    openings = Openings()
    memories = Memories(openings)
    memories.get("tom")
    memories.close()
    with pytest.raises(StoreUnavailable, match="ending"):
        memories.get("tom")
    assert openings.tries == ["tom"]
