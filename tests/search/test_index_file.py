"""Test the index file of a namespace: it returns what was written or nothing, and keeps nothing that was forgotten."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from memories import fakes

from memgraph_rag import Document, Memory
from memgraph_rag.search import index as namespace_index
from memgraph_rag.search import index_file
from memgraph_rag.search.index_file import read_index, write_index
from memgraph_rag.search.vectors import RowVectors
from memgraph_rag.stores.ladybug import file as ladybug_file
from memgraph_rag.stores.ladybug.kept import KeptIndexes
from memgraph_rag.stores.ladybug.store import LadybugStore

QUESTIONS = ("Whom did Otto see?", "the hill on 3 May 2024", "What did Zoe say?")


@pytest.fixture(autouse=True)
def every_index_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(namespace_index, "_KEPT_FROM", 1)


def opened(path: Path, **options: Any) -> Memory:
    return Memory(path, **fakes(), **options)


@pytest.fixture
def tales(tmp_path: Path) -> Path:
    """Twenty short documents and a conversation."""
    told = [
        Document(f"Otto saw Zoe on the hill number {place} on {place + 1} May 2024.", key=f"{place}", title="Łódź")
        for place in range(20)
    ]
    with opened(tmp_path / "tales.lbug") as memory:
        list(memory.add_many(told))
        memory.add([{"role": "user", "content": "Zoe: hello?", "time": "2024-05-01"}], key="talk")
    return tmp_path / "tales.lbug"


def kept_beside(path: Path) -> list[Path]:
    return sorted(path.parent.glob(f"{path.name}.index-*"))


def found(memory: Memory) -> list[tuple[str, float, Any]]:
    hits = [hit for question in QUESTIONS for hit in memory.search(question, k=30)]
    return [(hit.segment.id, hit.score, hit.path) for hit in hits]


def reads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Collect the versions since which segments are read from now on."""
    calls: list[int] = []
    read = LadybugStore.list_indexed_segments
    monkeypatch.setattr(
        LadybugStore, "list_indexed_segments", lambda self, *, since: (calls.append(since), read(self, since=since))[1]
    )
    return calls


def test_next_process_finds_the_same_without_reading_segments(tales: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(tales) as memory:
        expected = found(memory)
    (kept,) = kept_beside(tales)
    assert kept.stat().st_mode & 0o777 == 0o600
    calls = reads(monkeypatch)

    for options in ({}, {"read_only": True}):
        with opened(tales, **options) as memory:
            assert found(memory) == expected
            assert calls == []
            coarse = memory._parts.search.index._embeddings.arrays["_coarse"]
            assert not coarse.flags.writeable, "a part of the file"
            assert not coarse.flags.owndata


def test_vectors_of_both_kinds_are_searched_in_the_file(tales: Path) -> None:
    for _ in range(2):
        with opened(tales) as memory:
            found(memory)
            index = memory._parts.search.index
            kinds = index.kinds(index.view())
            assert sorted(len(kind.rows) for kind in kinds) == [1, 20]
            assert all(kind.embeddings.shares_memory(index._embeddings) for kind in kinds)


def test_loaded_index_reads_later_writes(tales: Path) -> None:
    with opened(tales) as memory:
        found(memory)
    with opened(tales) as memory:
        found(memory)
        memory.add("Otto saw Mia in Lund on 7 June 2024.", key="new")
        memory.forget("3")
        now = found(memory)
    assert kept_beside(tales) == []
    with opened(tales) as memory:
        assert found(memory) == now


def change_memory(memory: Memory, change: str, key: str) -> None:
    if change == "add":
        memory.add(f"Otto saw Mia{key} in Lund on 7 June 2024, said secret{key}.", key=key)
    elif change == "talk":
        talk = [{"role": "user", "content": f"Otto saw Mia{key}.", "time": "2024-05-02"}]
        memory.session(user="ann").add(talk)
    elif change == "of another namespace":
        store = memory._parts.store
        assert isinstance(store, LadybugStore)
        with opened(Path(store._file.place), namespace="other") as other:
            other.add(f"Something else{key}.", key="only")
            other.forget("only")
    elif change == "replace":
        memory.add(f"Otto saw nobody but Mia{key}0.", key=key)
    elif change == "forget":
        memory.forget(key)
    elif change == "deepen":
        list(memory.deepen(layers=["context"]))
    else:
        memory.maintenance.purge()


@pytest.mark.parametrize("change", ["add", "talk", "of another namespace"])
def test_next_process_reads_only_what_was_added(tales: Path, change: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(tales) as memory:
        found(memory)
        version = memory._parts.store.version()
    for key in "xy":
        with opened(tales) as memory:
            change_memory(memory, change, key)
    calls = reads(monkeypatch)

    with opened(tales) as memory:
        found(memory)

    assert calls == ([] if change == "of another namespace" else [version])
    assert len(kept_beside(tales)) == 1


@pytest.mark.parametrize("change", ["replace", "forget", "deepen", "purge"])
def test_index_file_is_deleted_before_something_is_deleted(
    tales: Path, change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(tales) as memory:
        found(memory)
        assert kept_beside(tales)
        committed: list[list[Path]] = []
        execute = ladybug_file._execute

        def watch(connection: Any, place: str, text: str, parameters: Any) -> Any:
            if text == "COMMIT":
                committed.append(kept_beside(tales))
            return execute(connection, place, text, parameters)

        monkeypatch.setattr(ladybug_file, "_execute", watch)
        change_memory(memory, change, "3")
    assert committed
    assert not any(committed)
    assert kept_beside(tales) == []


def test_index_file_of_a_stopped_writer_is_not_read(tales: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(tales) as memory:
        found(memory)
    (kept,) = kept_beside(tales)
    with monkeypatch.context() as stopped, opened(tales) as memory:
        stopped.setattr(KeptIndexes, "rename", lambda *_: None)
        change_memory(memory, "add", "x")
    calls = reads(monkeypatch)

    with opened(tales) as memory:
        found(memory)

    assert calls == [-1]
    assert kept not in kept_beside(tales)


CHANGES = st.lists(st.sampled_from(["add", "talk", "search", "replace", "search", "forget"]), min_size=4, max_size=8)


@settings(max_examples=6)
@given(changes=CHANGES)
def test_hits_equal_those_of_a_new_index(changes: list[str], tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("changes")
    path = folder / "tales.lbug"
    with opened(path) as memory:
        list(memory.add_many(Document(f"Otto saw Zoe{n} on the hill.", key=f"{n}", title="Łódź") for n in range(6)))
    deleted: list[bytes] = []
    for number, change in enumerate(changes):
        with opened(path) as memory:  # as a new process does
            own = [record.key for record in memory.documents() if not record.key.startswith("session/")]
            if change == "search" or not own:
                now = found(memory)
            else:
                key, now = own[number % len(own)], None
                deleted += remains(memory, key) if change in ("forget", "replace") else []
                change_memory(memory, change, key if change in ("forget", "replace") else f"n{number}")
        for kept in kept_beside(path):
            content = kept.read_bytes().lower()
            assert [part for part in deleted if part in content] == []
        if now is not None:
            copied = shutil.copy(path, folder / f"{number}.lbug")
            with opened(Path(copied), read_only=True) as memory:
                fresh = found(memory)
            assert [(hit, path) for hit, _, path in now] == [(hit, path) for hit, _, path in fresh]
            assert [score for _, score, _ in now] == pytest.approx([score for _, score, _ in fresh])


def remains(memory: Memory, key: str) -> list[bytes]:
    """Return the words and the vectors that only this document has, as bytes."""
    graphs = memory._parts.store.read_graphs(memory._parts.store.document_ids())
    own = next(graph for graph in graphs if graph.document.key == key)
    others = " ".join(s.text for graph in graphs if graph is not own for s in graph.segments).casefold()
    words = {word for s in own.segments for word in re.findall(r"[a-z]+\d+", s.text.casefold()) if word not in others}
    vectors = [RowVectors.encode(vector[None]).arrays["_coarse"].tobytes() for vector in own.segment_embeddings]
    shared = [vector for graph in graphs if graph is not own for vector in graph.segment_embeddings]
    shared_bytes = {RowVectors.encode(vector[None]).arrays["_coarse"].tobytes() for vector in shared}
    return [*map(str.encode, words), *(vector.lower() for vector in vectors if vector not in shared_bytes)]


def test_answer_keeps_index_file(tales: Path) -> None:
    with opened(tales) as memory:
        found(memory)
        kept = kept_beside(tales)
        memory.ask("What did Otto see?")
    assert kept_beside(tales) == kept


def test_foreign_file_with_its_name_is_ignored(tales: Path) -> None:
    with opened(tales) as memory:
        found(memory)
        version = memory._parts.store.version()
    kept = [(path, path.read_bytes()) for path in kept_beside(tales)]
    tales.unlink()
    with opened(tales) as memory:
        while memory._parts.store.version() < version:
            memory.add("Mia stayed at home.", key=f"{memory._parts.store.version()}")
        for path, content in kept:
            path.write_bytes(content)
        assert {hit.document_key for hit in memory.search("Whom did Otto see?", k=30)} == set(map(str, range(version)))


def test_index_of_another_state_of_the_file_is_removed(tales: Path, tmp_path: Path) -> None:
    """A copy continues elsewhere and returns with as many writes and documents as the file that it replaces."""
    elsewhere = tmp_path / "elsewhere.lbug"
    with opened(tales) as memory:
        memory.session(user="ann").add([{"role": "ann", "content": "Good morning.", "time": "2026-01-01"}])
    shutil.copy(tales, elsewhere)
    for path, words in ((elsewhere, "The funeral is on Monday."), (tales, "The wedding is on Sunday.")):
        with opened(path) as memory:
            memory.session(user="ann").add([{"role": "ann", "content": words, "time": "2026-01-02"}])
            memory.search("Whom did Otto see?")
    (kept,) = kept_beside(tales)
    shutil.copy(elsewhere, tales)

    with opened(tales) as memory:
        hits = memory.search("the wedding", user="ann", k=30)

    assert kept not in kept_beside(tales)
    assert any("funeral" in hit.text for hit in hits)
    assert not any("keywords" in hit.why for hit in hits), "the word is stored in the other state only"


@pytest.mark.parametrize("damage", ["cut", "byte", "empty", "header", "form"])
def test_damaged_index_file_is_written_again(tales: Path, damage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(tales) as memory:
        expected = found(memory)
    (kept,) = kept_beside(tales)
    content = bytearray(kept.read_bytes())
    if damage == "form":
        monkeypatch.setattr(index_file, "_FORM", 0)
    elif damage == "byte":
        content[-64] ^= 1  # where the last array begins
    elif damage == "header":
        content[:8] = b"\xff" * 8
    else:
        content = content[: len(content) // 2 if damage == "cut" else 0]
    kept.write_bytes(content)
    calls = reads(monkeypatch)

    with opened(tales) as memory:
        assert found(memory) == expected
    assert calls == [-1]
    assert kept_beside(tales)


def test_search_works_without_writable_index_file(tales: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(namespace_index, "write_index", full)
    with opened(tales) as memory:
        assert found(memory)
    assert kept_beside(tales) == []


ARRAYS = st.dictionaries(
    st.sampled_from(["a", "b c", "ü"]),
    st.builds(
        lambda numbers, dtype: np.array(numbers, dtype),
        st.lists(st.integers(0, 1)),
        st.sampled_from(["f4", "f8", "i4", "i8", "?"]),
    ),
)


@settings(max_examples=50)
@given(arrays=ARRAYS)
def test_read_index_equals_written_index(arrays: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("index") / "kept"
    write_index(arrays, path)

    state = read_index(path)

    assert state is not None
    assert {name: (array.dtype, array.tolist()) for name, array in state.items()} == {
        name: (array.dtype, array.tolist()) for name, array in arrays.items()
    }


def test_index_file_with_objects_is_not_loaded(tmp_path: Path) -> None:
    path = tmp_path / "kept"
    write_index({"a": np.zeros(4)}, path)
    content = path.read_bytes()
    length = int.from_bytes(content[:8], "little")
    header = content[8 : 8 + length].replace(b'"<f8"', b'"|O8"')
    assert json.loads(header)
    path.write_bytes(content[:8] + header + content[8 + length :])
    assert read_index(path) is None


def test_index_stays_private_when_another_thread_purges(tales: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(tales) as memory:

        def write_after_purge(*arguments: Any) -> None:
            memory.maintenance.purge()
            write_index(*arguments)

        monkeypatch.setattr(namespace_index, "write_index", write_after_purge)
        memory.search(QUESTIONS[0])
        assert [path.stat().st_mode & 0o777 for path in kept_beside(tales)] == [0o600]
