"""Export and import: from any store into any other, exactly, and nothing of a file that was touched."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import stat
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fault_world import KEYS, TEXTS, Place, World, open_journaled
from memories import graph_of

from memgraph_rag import Action, Memory
from memgraph_rag.errors import DocumentError, SchemaMismatch, StoreError
from memgraph_rag.maintenance import archive
from memgraph_rag.testing import FakeEmbedder
from memgraph_rag.testing.sample_graphs import make_graph
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
    nodes = {node.id: (names[node.document_id], node.level, node.index, node.text) for node in held["nodes"].values()}
    entities = {entity.id: (entity.normal, entity.name, entity.kinds) for entity in held["entities"]}
    return (
        [replace(record, id="") for record in held["documents"]],
        sorted(nodes.values()),
        {(nodes[source], nodes[target]): weight for (source, target), weight in held["edges"].items()},
        sorted(
            (nodes[segment.id], segment.embedding, sorted(map(entities.__getitem__, segment.entities)))
            for segment in held["indexed"]
        ),
        sorted(entities.values()),
        held["counts"],
    )


def test_exported_archive_imports_exactly(place: Place, tmp_path: Path) -> None:
    memory, _ = open_journaled(place)
    file = tmp_path / "all.jsonl"
    with memory:
        fill(memory)
        graph, held = World(place).graph(memory), without_ids(memory)
        assert memory.maintenance.export_to(file) == len(KEYS) + 2
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        for record in memory.documents():
            memory.forget(record.id)

        receipts = list(memory.maintenance.import_from(file))

        assert World(place).graph(memory) == graph
        counts = {receipt.document_id: receipt.counts for receipt in receipts}
        assert memory._parts.store.count_by_document(list(counts)) == counts
        assert memory.ask("Who built a wooden box?").citations
        again = tmp_path / "again.jsonl"
        memory.maintenance.export_to(again)
        assert again.read_bytes() == file.read_bytes()
    elsewhere = Place({"address": tmp_path / "other.lbug"}, "another namespace", tmp_path)
    other, _ = open_journaled(elsewhere)
    with other:  # from each engine into an embedded file, and under other ids
        assert len(list(other.maintenance.import_from(file))) == len(receipts)
        assert without_ids(other) == held
        back = tmp_path / "back.jsonl"
        other.maintenance.export_to(back)
    memory, _ = open_journaled(place)
    with memory:  # and back again
        for record in memory.documents():
            memory.forget(record.id)
        list(memory.maintenance.import_from(back))
        assert World(place).graph(memory) == graph


def test_import_keeps_identical_documents_and_their_questions(place: Place, tmp_path: Path) -> None:
    memory, _ = open_journaled(place)
    file = tmp_path / "all.jsonl"
    with memory:
        fill(memory)
        memory.maintenance.export_to(file)
        memory.add(TEXTS[KEYS[0], 1], key=KEYS[0])
        memory.ask("Who built a wooden box?", documents=[KEYS[1]], keep_trace=True)

        outcomes = {
            receipt.key: (receipt.action, dict(receipt.counts)) for receipt in memory.maintenance.import_from(file)
        }

        assert {key for key, (action, _) in outcomes.items() if action is not Action.UNCHANGED} == {KEYS[0]}
        assert outcomes[KEYS[0]][0] is Action.REPLACED
        counts = {record.id: outcomes[record.key][1] for record in memory.documents()}
        assert memory._parts.store.count_by_document(list(counts)) == counts
        assert len(memory.questions()) == 1
        again = tmp_path / "again.jsonl"
        memory.maintenance.export_to(again)
        assert again.read_bytes() == file.read_bytes()


@embedded
def test_import_into_another_namespace_twice_changes_nothing(place: Place, tmp_path: Path) -> None:
    """The order in which a store returns edges, relations and titles depends on ids, and these on the namespace."""
    memory, _ = open_journaled(place, layers=("entities", "points", "relations"))
    file = tmp_path / "all.jsonl"
    with memory:
        memory.add("\n\n".join(TEXTS[key, 2] for key in KEYS), key="long", title="Ann and Tom in Rome and Oslo")
        memory.maintenance.export_to(file)
    for name in ("other", "third"):
        other, _ = open_journaled(Place({"address": tmp_path / "other.lbug"}, name, tmp_path))
        with other:
            for action in (Action.ADDED, Action.UNCHANGED):
                assert [receipt.action for receipt in other.maintenance.import_from(file)] == [action]


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
def test_changed_archive_is_not_stored(place: Place, tmp_path: Path) -> None:
    memory, _ = open_journaled(place)
    file = tmp_path / "all.jsonl"
    with memory:
        fill(memory)
        memory.maintenance.export_to(file)
        graph, whole = World(place).graph(memory), file.read_bytes()
        for name, damage in DAMAGE.items():
            file.write_bytes(damage(whole))
            assert file.read_bytes() != whole, name
            with pytest.raises(DocumentError):
                memory.maintenance.import_from(file)
        with pytest.raises(DocumentError):
            memory.maintenance.import_from(tmp_path / "nowhere.jsonl")
        with pytest.raises(DocumentError):
            memory.maintenance.export_to(tmp_path)
        assert World(place).graph(memory) == graph
        file.write_bytes(whole)
    other = {"embedder": FakeEmbedder(16, name="other")}
    place = Place({"address": tmp_path / "other.lbug"}, "n", tmp_path)
    with Memory(tmp_path / "other.lbug", **{**_options(), **other}) as memory, pytest.raises(SchemaMismatch):
        memory.maintenance.import_from(file)


def changed(lines: list[str], change: Callable[[list[dict[str, Any]]], None]) -> str:
    """The archive of these lines with its documents changed, and everything hashed again."""
    documents = [json.loads(line)["document"] for line in lines[1:-1]]
    change(documents)
    written = [json.dumps(document, ensure_ascii=False, separators=(",", ":")) for document in documents]
    hashes = [hashlib.sha256(text.encode()).hexdigest() for text in written]
    whole = hashlib.sha256("".join(hashes).encode()).hexdigest()
    middle = [f'{{"sha256":"{own}","document":{text}}}' for own, text in zip(hashes, written, strict=True)]
    return "\n".join([lines[0], *middle, json.dumps({"documents": len(hashes), "sha256": whole}), ""])


def filled(count: int, number: float, dimension: int = 64) -> Any:
    """Embeddings of one number, as an archive holds them."""
    packed = base64.b64encode(np.full((count, dimension), number, "<f4").tobytes()).decode()
    return [[count, dimension], packed]


def without_layers(document: dict[str, Any]) -> None:
    """Keep the segments alone, so that nothing else can be wrong."""
    none = filled(0, 0.0)
    document |= {name: [] for name in ("points", "summarizes", "mentions", "titles", "relations", "ends")}
    document |= {"point_embeddings": none, "relation_embeddings": none, "end_embeddings": none}


def of_last(change: Callable[[dict[str, Any]], object]) -> Callable[[list[dict[str, Any]]], None]:
    """The change of the last document that has points and mentions, which nothing precedes in the file's check."""

    def change_one(documents: list[dict[str, Any]]) -> None:
        change(next(document for document in reversed(documents) if document["points"] and document["mentions"]))

    return change_one


def each(
    rows: str, column: int, value: Callable[[Any], Any], *, bare: bool = False
) -> Callable[[dict[str, Any]], None]:
    """Change one column of all rows of a document; ``bare`` without what was built on the segments."""

    def change(document: dict[str, Any]) -> None:
        if bare:
            without_layers(document)
        for row in document[rows]:
            row[column] = value(row[column])

    return change


def recorded(**values: Any) -> Callable[[dict[str, Any]], None]:
    return lambda document: document["record"].update(values)


def repeat_a_segment(document: dict[str, Any]) -> None:
    document["segments"].append(document["segments"][0])
    document["segment_embeddings"] = filled(len(document["segments"]), 0.125)


def repeat_a_point(document: dict[str, Any]) -> None:
    document["points"].append(document["points"][0])
    document["point_embeddings"] = filled(len(document["points"]), 0.125)


def add_a_point(document: dict[str, Any]) -> None:
    document["points"].append([7, 0, "sums up nothing", 3])
    document["point_embeddings"] = filled(len(document["points"]), 0.125)


def drop_the_segments(document: dict[str, Any]) -> None:
    without_layers(document)
    document |= {"segments": [], "segment_embeddings": filled(0, 0.0)}
    document["record"] |= {"segments": 0, "characters": 0}


def lengthen_a_segment(document: dict[str, Any]) -> None:
    without_layers(document)
    text = "x " * 17_000_000
    document["segments"] = [[0, text, 0, len(text), 5, "", "", False]]
    document["segment_embeddings"] = filled(1, 0.125)
    document["record"] |= {"segments": 1, "characters": len(text)}


def embedded_with(number: float) -> Callable[[dict[str, Any]], None]:
    return lambda document: document.update(segment_embeddings=filled(len(document["segments"]), number))


TAMPERINGS: dict[str, Callable[[dict[str, Any]], object]] = {
    "a segment twice": repeat_a_segment,
    "segments with gaps": each("segments", 0, lambda index: 7 * index + 1, bare=True),
    "starts elsewhere": each("segments", 2, lambda start: start + 1000, bare=True),
    "ends before starts": each("segments", 3, lambda _: 0, bare=True),
    "no segments": drop_the_segments,
    "a long segment": lengthen_a_segment,
    "empty segments": each("segments", 1, lambda _: "", bare=True),
    "NUL in segments": each("segments", 1, lambda text: "\0" + text[1:], bare=True),
    "more tokens than bytes": each("segments", 4, lambda _: 2**31 - 1),
    "no time": each("segments", 6, lambda _: "junk"),
    "other numbers of segments": recorded(segments=999),
    "other numbers of characters": recorded(characters=1),
    "other numbers of echoes": recorded(echoes=7),
    "an empty key": recorded(key=""),
    "a long key": recorded(key="k" * 1_000_000),
    "NUL in the key": recorded(key="a\0b"),
    "NUL in the title": recorded(title="a\0b"),
    "NUL in the metadata": recorded(metadata={"a\0": "b"}),
    "metadata without a name": recorded(metadata={"": 1}),
    "said to be an echo": recorded(metadata={"echo": True}),
    "no date": recorded(added_at="\x1b[2J tomorrow"),
    "a date before UTC": recorded(added_at="9999-12-31T23:59:59-23:59"),
    "no hash": recorded(sha256="zz"),
    "layers that cannot be printed": recorded(layers=["entities", "\0", "points"]),
    "no layers": recorded(layers=[]),
    "a long model": recorded(model="m" * 1_000_000),
    "another recognizer": recorded(recognizer="evil/../x"),
    "a recognizer that cannot be printed": recorded(recognizer="\x1b[2J"),
    "infinite embeddings": embedded_with(float("inf")),
    "embeddings of no number": embedded_with(float("nan")),
    "embeddings of zeros": embedded_with(0.0),
    "long embeddings": embedded_with(3e38),
    "short embeddings": embedded_with(1e-45),
    "weights below 0": each("summarizes", 2, lambda _: -5.0),
    "weights above 1": each("summarizes", 2, lambda _: 1e308),
    "weights of 0": each("summarizes", 2, lambda _: 0.0),
    "edges twice": lambda document: document["summarizes"].extend(document["summarizes"]),
    "no edges": lambda document: document.update(summarizes=[]),
    "a point twice": repeat_a_point,
    "a point of nothing": add_a_point,
    "empty points": each("points", 2, lambda _: ""),
    "mentions twice": lambda document: document["mentions"].extend(document["mentions"]),
    "titles twice": lambda document: document.update(titles=[["x", "X"]] * 3),
    "titles without a name": lambda document: document.update(titles=[["", "X"]]),
}


@embedded
def test_changed_archive_with_new_hash_is_not_stored(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memgraph_rag.maintenance.archive.DOCUMENTS_TOGETHER", 1)
    memory, _ = open_journaled(place)
    file = tmp_path / "all.jsonl"

    def move_a_mention(documents: list[dict[str, Any]]) -> None:
        mention = next(document["mentions"][0] for document in reversed(documents) if document["mentions"])
        mention[1] += 1

    def repeat_a_document(documents: list[dict[str, Any]]) -> None:
        documents.append(documents[0])

    changes = {"a mention moved": move_a_mention, "a document repeated": repeat_a_document}
    changes |= {name: of_last(change) for name, change in TAMPERINGS.items()}

    with memory:
        fill(memory)
        memory.maintenance.export_to(file)
        lines = file.read_text("utf-8").split("\n")[:-1]
        for record in memory.documents():
            memory.forget(record.id)
        for name, change in changes.items():
            text = changed(lines, change)
            assert text != changed(lines, lambda _: None), name
            file.write_text(text, "utf-8", newline="\n")
            with pytest.raises(DocumentError, match=r"a damaged line \d+ .*Nothing was stored"):
                list(memory.maintenance.import_from(file))
            assert memory.documents() == [], name
        file.write_text(changed(lines, lambda _: None), "utf-8", newline="\n")
        assert len(list(memory.maintenance.import_from(file))) == len(KEYS) + 2


def _options() -> dict[str, object]:
    from memories import options

    return options()


@embedded
def test_export_refuses_a_document_with_foreign_changes(place: Place) -> None:
    memory, _ = open_journaled(place)
    with memory:
        store = memory._parts.store
        graph = make_graph(store.namespace, levels=(2, 1), title="Alice")
        store.write(graph)
        (given,) = store.read_graphs([graph.document.id])
        assert (given.segments, given.points) == (graph.segments, graph.points)
        assert sorted(given.mentions, key=repr) == sorted(graph.mentions, key=repr)
        assert store.read_graphs(["nobody"]) == []
        file = store._file  # type: ignore[attr-defined]
        file.transaction(lambda execute: execute("MATCH (:Segment)-[m:MENTIONS]->(:Entity) SET m.kind = 'x'", {}))
        assert store.read_graphs([graph.document.id])
        file.transaction(lambda execute: execute("MATCH (d:Document)-[h:HAS_SEGMENT]->() DELETE h", {}))
        with pytest.raises(StoreError, match="cannot read all"):
            store.read_graphs([graph.document.id])


@embedded
def test_scratch_file_takes_an_unused_name(place: Place, tmp_path: Path) -> None:
    memory, _ = open_journaled(place)
    part, file = tmp_path / "all.jsonl.part", tmp_path / "all.jsonl"
    with memory:
        fill(memory)
        part.write_text("my notes")
        memory.maintenance.export_to(file)
        assert part.read_text() == "my notes"
        before = sorted(tmp_path.iterdir())
        (tmp_path / "mine.txt").write_text("mine")
        with pytest.raises(DocumentError, match="holds something else"):
            memory.maintenance.export_to(tmp_path / "mine.txt")
        assert sorted(tmp_path.iterdir()) == sorted([*before, tmp_path / "mine.txt"])


@embedded
def test_export_replaces_regular_files_only_and_follows_links(place: Place, tmp_path: Path) -> None:
    memory, _ = open_journaled(place)
    pipe, link, dangling, circle = (tmp_path / name for name in ("pipe", "link", "dangling", "circle"))
    os.mkfifo(pipe)
    link.symlink_to(tmp_path / "target.jsonl")
    (tmp_path / "target.jsonl").touch()
    dangling.symlink_to(tmp_path / "new.jsonl")
    circle.symlink_to(circle)
    to_mine = tmp_path / "to_mine"
    (tmp_path / "mine.txt").write_text("mine")
    to_mine.symlink_to(tmp_path / "mine.txt")
    with memory:
        fill(memory)
        for other in (pipe, tmp_path, Path(), Path("/"), circle, to_mine):
            with pytest.raises(DocumentError):
                memory.maintenance.export_to(other)
        assert stat.S_ISFIFO(pipe.stat().st_mode)
        for path, target in ((link, "target.jsonl"), (dangling, "new.jsonl")):
            assert memory.maintenance.export_to(path) == len(KEYS) + 2
            assert path.is_symlink()
            assert (tmp_path / target).stat().st_size == path.stat().st_size > 1000


@embedded
def test_import_reads_a_pipe(place: Place, tmp_path: Path) -> None:
    memory, _ = open_journaled(place)
    file, pipe = tmp_path / "all.jsonl", tmp_path / "pipe"
    os.mkfifo(pipe)
    with memory:
        fill(memory)
        memory.maintenance.export_to(file)
        for record in memory.documents():
            memory.forget(record.id)
        for data in (file.read_bytes()[:-9], file.read_bytes()):
            writer = threading.Thread(target=pipe.write_bytes, args=(data,))
            writer.start()
            if data == file.read_bytes():
                assert len(list(memory.maintenance.import_from(pipe))) == len(KEYS) + 2
            else:
                with pytest.raises(DocumentError, match="damaged line"):
                    memory.maintenance.import_from(pipe)
                assert memory.documents() == []
            writer.join()


class Endless:
    """A stream that never ends, and counts what was read of it."""

    def __init__(self, first: bytes, more: bytes) -> None:
        self._first, self._more, self.given = first, more, 0

    def readline(self, most: int) -> bytes:
        line = (self._first + self._more * most)[:most]
        self._first = b""
        self.given += len(line)
        return line


@pytest.mark.parametrize("first", [b"", b'{"format":"memgraph_rag archive"', b'{"format":"memgraph_rag archive"}\n'])
def test_import_reads_no_more_than_the_longest_line(first: bytes, tmp_path: Path) -> None:
    (tmp_path / "all.jsonl").write_text('{"format":"memgraph_rag archive"}\n')
    stream = Endless(first, b"\0")
    with pytest.raises(DocumentError, match=r"damaged line \d"):
        list(archive.Archive(tmp_path / "all.jsonl")._read_lines(stream))  # type: ignore[arg-type]
    assert stream.given <= 2 * archive._SHORT_LINE_BYTES


@embedded
def test_export_refuses_a_document_longer_than_a_line(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory, _ = open_journaled(place)
    with memory:
        fill(memory)
        monkeypatch.setattr(archive, "MAX_LINE_BYTES", 2000)
        with pytest.raises(DocumentError, match="2,000 bytes"):
            memory.maintenance.export_to(tmp_path / "all.jsonl")
    assert list(tmp_path.glob("*.part")) == list(tmp_path.glob("*.jsonl")) == []


@embedded
def test_archive_has_no_questions(place: Place, tmp_path: Path) -> None:
    memory, _ = open_journaled(place)
    file = tmp_path / "all.jsonl"
    with memory:
        fill(memory)
        memory.ask("Who sold the first tickets?", keep_trace=True)
        memory.maintenance.export_to(file)
        assert "tickets?" not in file.read_text("utf-8")
