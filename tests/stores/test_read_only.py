"""Stores that are opened for reading only, beside other stores and other processes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from memgraph_rag.contracts import GraphStore
from memgraph_rag.errors import SchemaMismatch, StoreError, StoreLocked, StoreReadOnly
from memgraph_rag.stores import open_store
from memgraph_rag.testing.sample_graphs import DIMENSION, EMBEDDER, MakeStore, make_graph, unit

OPENING = """
import sys
from memgraph_rag.errors import StoreError
from memgraph_rag.stores import open_store

try:
    store = open_store(sys.argv[1], namespace=sys.argv[2], read_only=sys.argv[3] == "read")
    store.migrate(embedder="fake", dimension=8)
except StoreError as error:
    print(type(error).__name__, error, flush=True)
else:
    print("open", *(record.key for record in store.documents()), flush=True)
    sys.stdin.readline()
    store.close()
"""


class Process:
    """A second process that has a file open until it is left."""

    def __init__(self, path: Path, namespace: str, how: str) -> None:
        arguments = [sys.executable, "-c", OPENING, str(path), namespace, how]
        self.running = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.running.stdout is not None
        self.told = self.running.stdout.readline().strip()

    def leave(self) -> None:
        with self.running:  # closes its input, which it waits for, and waits for its end
            pass


@pytest.fixture
def start() -> Iterator[Callable[..., Process]]:
    processes: list[Process] = []

    def start(*arguments: Any) -> Process:
        processes.append(Process(*arguments))
        return processes[-1]

    yield start
    for process in processes:
        process.leave()


@pytest.fixture
def held(make_store: MakeStore, place: dict[str, Any]) -> Iterator[tuple[GraphStore, str]]:
    """A store for reading, of a namespace with one document."""
    writer = make_store()
    writer.write(make_graph(writer.namespace, levels=(2,)))
    writer.close()
    with closing(open_store(**place, namespace=writer.namespace, read_only=True)) as store:
        store.migrate(embedder=EMBEDDER, dimension=DIMENSION)
        yield store, writer.namespace


def test_everything_can_be_read(held: tuple[GraphStore, str]) -> None:
    store, namespace = held
    graph = make_graph(namespace, levels=(2,))
    assert store.read_only
    assert store.documents() == [graph.document]
    assert store.list_segments(graph.document.id) == list(graph.segments)
    assert store.find_nearest(graph.segment_embeddings[0], k=1)[0].node_id == graph.segments[0].id
    assert store.find_matching("rabbit", k=1)
    assert len(store.list_indexed_segments(since=-1)) == 3
    assert [stored.document for stored in store.read_graphs([graph.document.id])] == [graph.document]
    assert not store.flaws()


def test_nothing_can_be_written(held: tuple[GraphStore, str]) -> None:
    store, namespace = held
    graph, before = make_graph(namespace), (store.statistics(), store.version())
    for write in (
        lambda: store.write(graph),
        lambda: store.write_many([make_graph(namespace, "b")]),
        lambda: store.extend(graph, layers=["entities"]),
        lambda: store.learn(graph),
        lambda: store.describe([graph.document], before=[graph.document.sha256]),
        lambda: store.forget(graph.document.id),
        lambda: store.mend({}),
    ):
        with pytest.raises(StoreReadOnly, match="read_only"):
            write()
    assert (store.statistics(), store.version()) == before


def test_another_embedder_is_refused_here_too(held: tuple[GraphStore, str]) -> None:
    with pytest.raises(SchemaMismatch):
        held[0].migrate(embedder="another", dimension=DIMENSION)


def test_reader_sees_writes_of_other_store(make_store: MakeStore, place: dict[str, Any]) -> None:
    """Within one process a file is open once, so what one store may, another may not."""
    writer = make_store()
    with closing(open_store(**place, namespace=writer.namespace, read_only=True)) as reader:
        writer.write(make_graph(writer.namespace))
        assert len(reader.documents()) == 1
        with pytest.raises(StoreReadOnly):
            reader.forget(reader.document_ids()[0])
        assert len(writer.documents()) == 1


@pytest.mark.parametrize("times", [1, 2, 100])
def test_write_during_examination_is_no_flaw(
    make_store: MakeStore, place: dict[str, Any], times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Segments are surveyed after documents, so those of a document that comes between have none."""
    writer = make_store()
    writer.write(make_graph(writer.namespace, "a", levels=(2,)))
    keys = iter(f"document {number}" for number in range(times))
    with closing(open_store(**place, namespace=writer.namespace, read_only=True)) as reader:
        reader.migrate(embedder=EMBEDDER, dimension=DIMENSION)
        run = reader._run  # type: ignore[attr-defined]

        def beside_a_writer(name: str, /, **parameters: Any) -> Any:
            if name == "read/survey_segments" and (key := next(keys, None)):
                writer.write(make_graph(writer.namespace, key, levels=(2,)))
            return run(name, **parameters)

        monkeypatch.setattr(reader, "_run", beside_a_writer)
        if times < 100:
            assert not reader.flaws()
            return
        with pytest.raises(StoreError, match="stays unchanged"):
            reader.flaws()


# ── one file, several processes ──────────────────────────────────────────────────────────────────────────────

ladybug_only = pytest.mark.parametrize("engine", ["ladybug"], indirect=True)


@ladybug_only
def test_several_processes_read_one_file(
    held: tuple[GraphStore, str], place: dict[str, Any], start: Callable[..., Process]
) -> None:
    store, namespace = held
    readers = [start(place["address"], namespace, "read") for _ in range(2)]
    assert [reader.told for reader in readers] == ["open alice.txt"] * 2
    assert store.find_nearest(unit(1), k=1)


@ladybug_only
def test_writer_waits_for_readers(
    held: tuple[GraphStore, str], place: dict[str, Any], start: Callable[..., Process]
) -> None:
    store, namespace = held
    assert start(place["address"], namespace, "write").told.startswith("StoreLocked Expected")
    with pytest.raises(StoreReadOnly, match="this process"):
        open_store(**place, namespace=namespace)
    Path(place["address"]).read_bytes()  # another descriptor of the file comes and goes
    assert start(place["address"], namespace, "write").told.startswith("StoreLocked")
    store.close()
    writer = start(place["address"], namespace, "write")
    assert writer.told == "open alice.txt"


@ladybug_only
def test_reader_learns_of_writer(make_store: MakeStore, place: dict[str, Any], start: Callable[..., Process]) -> None:
    store = make_store()
    store.write(make_graph(store.namespace))
    message = start(place["address"], store.namespace, "read").told
    assert message.startswith("StoreLocked")
    if sys.platform == "linux":
        assert f"process {os.getpid()} has it open" in message
    store.close()
    writer = start(place["address"], store.namespace, "write")
    with pytest.raises(StoreLocked, match=f"process {writer.running.pid} has it"):
        open_store(**place, namespace=store.namespace, read_only=True)
    writer.leave()
    with closing(open_store(**place, namespace=store.namespace, read_only=True)) as reader:
        assert len(reader.documents()) == 1


@ladybug_only
def test_commits_of_killed_writer_can_be_read(
    make_store: MakeStore, place: dict[str, Any], start: Callable[..., Process]
) -> None:
    make_store().close()
    writing = (
        "import os, sys; sys.path[:0] = sys.argv[3:]\n"
        "from memgraph_rag.testing.sample_graphs import *\nfrom memgraph_rag.stores import open_store\n"
        "store = open_store(sys.argv[1], namespace=sys.argv[2])\n"
        "store.migrate(embedder=EMBEDDER, dimension=DIMENSION)\n"
        "store.write(make_graph(sys.argv[2])); os._exit(9)"
    )
    arguments = [str(place["address"]), "killed", str(Path(__file__).parent)]
    subprocess.run([sys.executable, "-c", writing, *arguments], check=False)
    assert Path(f"{place['address']}.wal").stat().st_size
    assert start(place["address"], "killed", "read").told == "open alice.txt"


@ladybug_only
def test_reading_creates_no_file(place: dict[str, Any]) -> None:
    with pytest.raises(StoreReadOnly, match="that creates it"):
        open_store(**place, namespace="n", read_only=True)
    with pytest.raises(StoreReadOnly):
        open_store(":memory:", namespace="n", read_only=True)
    assert not Path(place["address"]).exists()


@ladybug_only
def test_reader_does_not_update_old_schema(make_store: MakeStore, place: dict[str, Any]) -> None:
    make_store(migrated=False).close()
    with (
        closing(open_store(**place, namespace="n", read_only=True)) as store,
        pytest.raises(StoreReadOnly, match="once"),
    ):
        store.migrate(embedder=EMBEDDER, dimension=DIMENSION)
