"""Export and import: from any store into any other, exactly, and nothing of a file that was touched."""

from __future__ import annotations

import hashlib
import json
import stat
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fault_world import KEYS, TEXTS, Place, World, open_journaled
from memories import graph_of
from store_samples import make_graph

from memgraph_rag import Action, Memory
from memgraph_rag.errors import DocumentError, SchemaMismatch, StoreError
from memgraph_rag.testing import FakeEmbedder
from memgraph_rag.types import Message

embedded = pytest.mark.parametrize("engine", ["ladybug"], indirect=True)


def fill(memory: Memory) -> None:
    for key in KEYS:
        memory.add(
            TEXTS[key, 2], key=key, title=f"Ann and {key}", metadata={"n": 1, "x": 0.1, "äö": "\u2028", "b": True}
        )
    memory.add([Message("user", "Where is Ann?", "2024-05-01T10:00"), Message("Tom", "In Rome.")], key="chat")
    memory.add('{"document": "\u2028 \\n" } \x1c "sha256":', key='"document":')


def without_ids(memory: Memory) -> object:
    """What a memory holds, in a form that does not depend on its namespace."""
    held = graph_of(memory)
    names = {record.id: record.key for record in held["documents"]}
    nodes = {one.id: (names[one.document_id], one.level, one.index, one.text) for one in held["nodes"].values()}
    entities = {one.id: (one.normal, one.name, one.kinds) for one in held["entities"]}
    return (
        [replace(record, id="") for record in held["documents"]],
        sorted(nodes.values()),
        {(nodes[source], nodes[target]): weight for (source, target), weight in held["edges"].items()},
        sorted(
            (nodes[one.id], one.embedding, sorted(map(entities.__getitem__, one.entities))) for one in held["indexed"]
        ),
        sorted(entities.values()),
        held["counts"],
    )


def test_a_round_trip_is_exact(place: Place, tmp_path: Path) -> None:
    memory, _ = open_journaled(place)
    file = tmp_path / "all.jsonl"
    with memory:
        fill(memory)
        graph, held = World(place).graph(memory), without_ids(memory)
        assert memory.export_to(file) == len(KEYS) + 2
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        for record in memory.documents():
            memory.forget(record.id)

        receipts = list(memory.import_from(file))

        assert World(place).graph(memory) == graph
        assert [memory._store.counts(one.document_id) for one in receipts] == [one.counts for one in receipts]
        assert memory.ask("Who built a wooden box?").citations
        again = tmp_path / "again.jsonl"
        memory.export_to(again)
        assert again.read_bytes() == file.read_bytes()
    elsewhere = Place({"address": tmp_path / "other.lbug"}, "another namespace", tmp_path)
    other, _ = open_journaled(elsewhere)
    with other:  # from each engine into an embedded file, and under other ids
        assert len(list(other.import_from(file))) == len(receipts)
        assert without_ids(other) == held
        back = tmp_path / "back.jsonl"
        other.export_to(back)
    memory, _ = open_journaled(place)
    with memory:  # and back again
        for record in memory.documents():
            memory.forget(record.id)
        list(memory.import_from(back))
        assert World(place).graph(memory) == graph


def test_what_is_stored_just_so_stays_with_its_questions(place: Place, tmp_path: Path) -> None:
    memory, _ = open_journaled(place)
    file = tmp_path / "all.jsonl"
    with memory:
        fill(memory)
        memory.export_to(file)
        memory.add(TEXTS[KEYS[0], 1], key=KEYS[0])
        memory.ask("Who built a wooden box?", documents=[KEYS[1]], keep_trace=True)

        told = {receipt.key: (receipt.action, dict(receipt.counts)) for receipt in memory.import_from(file)}

        assert {key for key, (action, _) in told.items() if action is not Action.UNCHANGED} == {KEYS[0]}
        assert told[KEYS[0]][0] is Action.REPLACED
        assert {record.key: memory._store.counts(record.id) for record in memory.documents()} == {
            key: counts for key, (_, counts) in told.items()
        }
        assert len(memory.questions()) == 1
        again = tmp_path / "again.jsonl"
        memory.export_to(again)
        assert again.read_bytes() == file.read_bytes()


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "a letter": lambda data: data.replace(b"Ann", b"Eve", 1),
    "a number": lambda data: data.replace(b'"n":1', b'"n":2', 1),
    "the last line": lambda data: data[: data.rindex(b"\n", 0, -1) + 1],
    "half": lambda data: data[: len(data) // 2],
    "a line": lambda data: b"".join(data.splitlines(keepends=True)[:1] + data.splitlines(keepends=True)[2:]),
    "the order": lambda data: b"".join(
        [data.splitlines(keepends=True)[at] for at in (0, 2, 1)] + data.splitlines(keepends=True)[3:]
    ),
    "more after the end": lambda data: data + data.splitlines(keepends=True)[1],
    "the format": lambda data: data.replace(b"archive", b"arkive", 1),
    "all": lambda _: b"",
    "no text": lambda _: b"\xff\xfe\x00",
    "other JSON": lambda _: b"[]\n",
}


@embedded
def test_of_a_file_that_was_touched_nothing_is_stored(place: Place, tmp_path: Path) -> None:
    memory, _ = open_journaled(place)
    file = tmp_path / "all.jsonl"
    with memory:
        fill(memory)
        memory.export_to(file)
        graph, whole = World(place).graph(memory), file.read_bytes()
        for name, damage in DAMAGE.items():
            file.write_bytes(damage(whole))
            assert file.read_bytes() != whole, name
            with pytest.raises(DocumentError):
                memory.import_from(file)
        with pytest.raises(DocumentError):
            memory.import_from(tmp_path / "nowhere.jsonl")
        with pytest.raises(DocumentError):
            memory.export_to(tmp_path)
        assert World(place).graph(memory) == graph
        file.write_bytes(whole)
    other = {"embedder": FakeEmbedder(16, name="other")}
    place = Place({"address": tmp_path / "other.lbug"}, "n", tmp_path)
    with Memory(tmp_path / "other.lbug", **{**_options(), **other}) as memory, pytest.raises(SchemaMismatch):
        memory.import_from(file)


def changed(lines: list[str], change: Callable[[list[dict[str, Any]]], None]) -> str:
    """The archive of these lines with its documents changed, and everything hashed again."""
    documents = [json.loads(line)["document"] for line in lines[1:-1]]
    change(documents)
    written = [json.dumps(one, ensure_ascii=False, separators=(",", ":")) for one in documents]
    hashes = [hashlib.sha256(one.encode()).hexdigest() for one in written]
    whole = hashlib.sha256("".join(hashes).encode()).hexdigest()
    middle = [f'{{"sha256":"{own}","document":{one}}}' for own, one in zip(hashes, written, strict=True)]
    return "\n".join([lines[0], *middle, json.dumps({"documents": len(hashes), "sha256": whole}), ""])


@embedded
def test_of_a_file_that_was_changed_and_hashed_again_nothing_is_stored(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memgraph_rag.memory._IMPORTED_TOGETHER", 1)
    memory, _ = open_journaled(place)
    file = tmp_path / "all.jsonl"

    def move_a_mention(documents: list[dict[str, Any]]) -> None:
        mention = next(document["mentions"][0] for document in reversed(documents) if document["mentions"])
        mention[1] += 1

    def repeat_a_document(documents: list[dict[str, Any]]) -> None:
        documents.append(documents[0])

    with memory:
        fill(memory)
        memory.export_to(file)
        lines = file.read_text("utf-8").split("\n")[:-1]
        for record in memory.documents():
            memory.forget(record.id)
        for change in (move_a_mention, repeat_a_document):
            file.write_text(changed(lines, change), "utf-8", newline="\n")
            with pytest.raises(DocumentError, match=r"a damaged line \d+ .*Nothing was stored"):
                list(memory.import_from(file))
            assert memory.documents() == []
        file.write_text(changed(lines, lambda _: None), "utf-8", newline="\n")
        assert len(list(memory.import_from(file))) == len(KEYS) + 2


def _options() -> dict[str, object]:
    from memories import options

    return options()


@embedded
def test_a_document_of_which_more_is_stored_than_can_be_given_is_refused(place: Place) -> None:
    memory, _ = open_journaled(place)
    with memory:
        store = memory._store
        graph = make_graph(store.namespace, levels=(2, 1), title="Alice")
        store.write(graph)
        given = store.graph_of(graph.document.id)
        assert given is not None
        assert (given.segments, given.points) == (graph.segments, graph.points)
        assert sorted(given.mentions, key=repr) == sorted(graph.mentions, key=repr)
        assert store.graph_of("nobody") is None
        file = store._file  # type: ignore[attr-defined]
        file.transaction(lambda execute: execute("MATCH (:Segment)-[m:MENTIONS]->(:Entity) SET m.kind = 'x'", {}))
        assert store.graph_of(graph.document.id) is not None
        file.transaction(lambda execute: execute("MATCH (d:Document)-[h:HAS_SEGMENT]->() DELETE h", {}))
        with pytest.raises(StoreError, match="cannot read all"):
            store.graph_of(graph.document.id)


@embedded
def test_a_file_that_is_in_the_way_is_left_alone(place: Place, tmp_path: Path) -> None:
    memory, _ = open_journaled(place)
    part = tmp_path / "all.jsonl.part"
    with memory:
        fill(memory)
        part.write_text("my notes")
        with pytest.raises(DocumentError, match="holds something else"):
            memory.export_to(tmp_path / "all.jsonl")
        assert part.read_text() == "my notes"


@embedded
def test_questions_are_not_in_it(place: Place, tmp_path: Path) -> None:
    memory, _ = open_journaled(place)
    file = tmp_path / "all.jsonl"
    with memory:
        fill(memory)
        memory.ask("Who sold the first tickets?", keep_trace=True)
        memory.export_to(file)
        assert "tickets?" not in file.read_text("utf-8")
