"""The queue of a former version: what it left is stored once, and its folder goes."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from memories import FOX, RIVER

from memgraph_rag import Memory
from memgraph_rag.errors import StoreUnavailable
from memgraph_rag.server.former_jobs import finish_jobs
from memgraph_rag.server.memories import Memories


class Queue:
    """Files as the former version wrote them."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._accepted = 0

    def folder(self, namespace: str = "ann") -> Path:
        folder = self.root / hashlib.sha256(namespace.encode()).hexdigest()[:32]
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        (folder / "lock").touch()
        return folder

    def write(self, form: object, *, namespace: str = "ann", state: str = "queued") -> Path:
        self._accepted += 1
        path = self.folder(namespace) / f"{self._accepted:016x}{7:016x}.{state}"
        path.write_text(form if isinstance(form, str) else json.dumps(form))
        return path

    def accept(self, namespace: str = "ann", *, state: str = "queued", **arguments: Any) -> Path:
        return self.write({"namespace": namespace, "arguments": arguments}, namespace=namespace, state=state)


@pytest.fixture
def queue(tmp_path: Path) -> Queue:
    return Queue(tmp_path / "jobs" / "0123456789abcdef")


def test_waiting_documents_are_stored_and_the_folder_goes(queue: Queue, memories: Memories) -> None:
    queue.accept(state="storing", text=FOX, key="fox", metadata={"place": "barn"})
    queue.accept(messages=[{"role": "Ann", "content": "I moved to Rome.", "time": "2026-05-01"}], key="talk")
    queue.accept("tom", text=RIVER, key="river", user="tom")
    lines = list(finish_jobs(queue.root, memories))
    ann, tom = (memories.get(name).documents() for name in ("ann", "tom"))
    assert {record.key: record.metadata.get("place") for record in ann} == {"fox": "barn", "talk": None}
    assert [(record.key, record.metadata["user"]) for record in tom] == [("river", "tom")]
    assert not queue.root.exists()
    assert lines[-1].startswith("The queue of a former version is finished")
    assert "Stored 1 document that a former version had accepted." in lines


def test_documents_are_stored_in_the_order_of_acceptance(queue: Queue, memories: Memories) -> None:
    queue.accept(text=FOX, key="note")
    queue.accept(text=RIVER, key="note")
    list(finish_jobs(queue.root, memories))
    assert memories.get("ann").get("note").text == RIVER


def test_stored_documents_are_not_stored_again(queue: Queue, memories: Memories) -> None:
    killed = queue.accept(state="storing", text=FOX, key="forgotten since")
    killed.with_suffix(".ended").write_text('{"result": {"key": "forgotten since"}}')
    queue.write({"error": {"title": "DocumentError", "status": 422, "detail": "Expected text."}}, state="ended")
    list(finish_jobs(queue.root, memories))
    assert memories.get("ann").documents() == []
    assert not queue.root.exists()


@pytest.mark.parametrize(
    ("form", "told"),
    [
        ('{"namespace": "ann", "argum', "the file is damaged"),
        ({"namespace": "tom", "arguments": {"text": FOX}}, "the file is damaged"),
        ({"namespace": "ann", "arguments": [FOX]}, "the file is damaged"),
        ({"namespace": "ann", "arguments": {"text": 3}}, "Expected arguments as the schema of remember says"),
        ({"namespace": "ann", "arguments": {}}, "Expected text or messages, got neither"),
    ],
    ids=["half", "foreign", "list", "number", "empty"],
)
def test_damaged_document_is_told_and_left_out(queue: Queue, memories: Memories, form: object, told: str) -> None:
    damaged = queue.write(form)
    queue.accept(text=RIVER, key="river")
    lines = list(finish_jobs(queue.root, memories))
    assert f"A document that a former version accepted is left out, {damaged.name}: {told}" in lines[0]
    assert [record.key for record in memories.get("ann").documents()] == ["river"]
    assert not queue.root.exists()


def test_refused_text_of_a_full_disk_goes(queue: Queue, memories: Memories) -> None:
    part = queue.accept(state="queued.part", text="a word that was refused")
    list(finish_jobs(queue.root, memories))
    assert memories.get("ann").documents() == []
    assert not part.exists()


def test_files_of_others_stay(queue: Queue, memories: Memories) -> None:
    queue.accept(text=FOX)
    others = [queue.root / "downloads" / "film.mkv.part", queue.folder() / "race.ended", queue.folder() / "film.part"]
    for path in others:
        path.parent.mkdir(exist_ok=True)
        path.write_text("mine")
    list(finish_jobs(queue.root, memories))
    assert len(memories.get("ann").documents()) == 1
    assert sorted(path for path in queue.root.rglob("*") if path.is_file()) == sorted(others)


def test_store_that_is_away_keeps_what_waits(queue: Queue, memories: Memories, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = queue.accept(text=FOX), queue.accept(text=RIVER)
    add = Memory.add

    def fail_of_second(memory: Memory, source: str, **options: Any) -> Any:
        if source == RIVER:
            raise StoreUnavailable("Expected a server, got none. Start it.")
        return add(memory, source, **options)

    with monkeypatch.context() as patch:
        patch.setattr(Memory, "add", fail_of_second)
        with pytest.raises(StoreUnavailable):
            list(finish_jobs(queue.root, memories))
    assert (first.exists(), second.exists()) == (False, True)
    list(finish_jobs(queue.root, memories))
    assert len(memories.get("ann").documents()) == 2
    assert not queue.root.exists()
