"""An open Ladybug file that is interrupted, or that the system refuses: it stays of use, and the error is ours."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NoReturn

import ladybug
import pytest
from ladybug_files import opened, run_python

from memgraph_rag.errors import MemgraphRagError, SettingsError, StoreAccessDenied, StoreError, StoreReadOnly
from memgraph_rag.stores import open_store
from memgraph_rag.stores.ladybug import file as ladybug_file
from memgraph_rag.stores.ladybug import paths as ladybug_paths
from memgraph_rag.stores.ladybug.store import LadybugStore
from memgraph_rag.testing.sample_graphs import make_graph


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "notes.lbug"


@pytest.fixture
def store(path: Path) -> Iterator[LadybugStore]:
    with closing(opened(path)) as store:
        store.write(make_graph("n"))
        yield store


def pressed(*_: object, **__: object) -> NoReturn:
    """What is called when Ctrl-C is pressed."""
    raise KeyboardInterrupt


class Reader:
    """A connection with something wrong at one call, the first time."""

    def __init__(self, connection: ladybug.Connection, wrong: str, error: BaseException) -> None:
        self._connection = connection
        self._wrong: str | None = wrong
        self._error = error

    def execute(self, text: str, *parameters: Any) -> Any:
        self._fail_at(text)
        return self._connection.execute(text, *parameters)

    def close(self) -> None:
        self._connection.close()
        self._fail_at("close")

    def _fail_at(self, call: str) -> None:
        if call == self._wrong:
            self._wrong = None
            raise self._error


# ── interrupted ──────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("call", ["CHECKPOINT", "close"])
def test_ctrl_c_while_a_file_is_put_in_place_leaves_it_open(store: LadybugStore, path: Path, call: str) -> None:
    file: Any = store._file
    before = store.documents()
    file._reader = Reader(file._reader, call, KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        store.purge()

    assert store.documents() == before
    with closing(opened(path)) as other:
        assert other.documents() == before
    store.write(make_graph("n", "other"))
    store.purge()
    assert len(store.documents()) == 2
    assert not list(path.parent.glob("*.rewriting*"))


def test_full_disk_at_checkpoint_raises_store_error(store: LadybugStore) -> None:
    file: Any = store._file
    full = RuntimeError("IO exception: Cannot write to file. path: /x. Error: No space left on device")
    file._reader = Reader(file._reader, "CHECKPOINT", full)
    with pytest.raises(StoreError, match="no space to write"):
        store.purge()
    assert len(store.documents()) == 1


@pytest.mark.parametrize("made", ["Database", "Connection"])
def test_ctrl_c_while_a_file_is_opened_for_reading_lets_go_of_it(
    path: Path, made: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened(path).close()
    with monkeypatch.context() as patch:
        patch.setattr(ladybug, made, pressed)
        with pytest.raises(KeyboardInterrupt):
            open_store(path, namespace="n", read_only=True)

    with closing(opened(path)) as store:
        store.write(make_graph("n"))


def test_ctrl_c_while_the_writer_is_renewed_leaves_the_old_one(
    store: LadybugStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    (record,) = store.documents()
    store._file._writes = ladybug_file.WRITES_PER_CONNECTION
    with monkeypatch.context() as patch:
        patch.setattr(ladybug, "Connection", pressed)
        with pytest.raises(KeyboardInterrupt):
            store.write(make_graph("n", "other"))

    assert store.expand(["e"], vector=None, k=1) == []
    assert store.count_by_document([record.id])[record.id]
    store.write(make_graph("n", "other"))
    assert len(store.documents()) == 2


# ── beside the file ──────────────────────────────────────────────────────────────────────────────────────────


def test_a_rewriting_leaves_files_of_the_user_alone(store: LadybugStore, path: Path) -> None:
    neighbours = ["_plan.txt", ".txt", ".wal.txt", "s", ".lbug"]
    for neighbour in neighbours:
        path.with_name(f"{path.name}.rewriting{neighbour}").write_text("mine")
    store.purge()
    left = {file.name: file.read_text() for file in path.parent.glob("*.rewriting*")}
    assert left == {f"{path.name}.rewriting{neighbour}": "mine" for neighbour in neighbours}


def test_leftovers_of_a_stopped_rewrite_go_at_the_next_opening(path: Path) -> None:
    opened(path).close()
    leftovers = [path.with_name(f"{path.name}.rewriting{suffix}") for suffix in ladybug_paths.ENGINE]
    for leftover in leftovers:
        leftover.write_text("secret")
    open_store(path, namespace="n", read_only=True).close()
    assert all(leftover.exists() for leftover in leftovers), "a reader removes nothing"
    opened(path).close()
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_name_of_rewritten_file_is_refused(path: Path) -> None:
    with pytest.raises(SettingsError, match=r"\.rewriting"):
        open_store(f"{path}.rewriting", namespace="n")


LEFT_BY_A_KILL = """
import os, sys
from memgraph_rag.testing.sample_graphs import DIMENSION, EMBEDDER, make_graph
from memgraph_rag.stores import open_store
store = open_store(sys.argv[1], namespace="n")
store.migrate(embedder=EMBEDDER, dimension=DIMENSION)
store.write(make_graph("n"))
os.rename(sys.argv[1] + ".wal", sys.argv[1] + ".wal.checkpoint")  # as a checkpoint does
for suffix in (".shadow", ".checkpoint.intent.lock", ".checkpoint.apply.lock"):
    open(sys.argv[1] + suffix, "w").close()
os._exit(9)
"""


def test_a_checkpoint_that_was_killed_is_completed(path: Path) -> None:
    opened(path).close()
    run_python(LEFT_BY_A_KILL, path)
    frozen = path.with_name(f"{path.name}.wal.checkpoint")
    frozen.write_bytes(frozen.read_bytes() + b"\x09\0\0")  # the mark of the checkpoint's end, torn

    with pytest.raises(StoreReadOnly, match="without read_only"):
        open_store(path, namespace="n", read_only=True)
    store = opened(path)
    assert len(store.documents()) == 1
    store.close()
    assert [file.name for file in path.parent.iterdir()] == [path.name]


# ── refused by the system ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("name", "kind", "message"),
    [
        ("~nosuchuser/notes.lbug", SettingsError, "nosuchuser"),
        ("half-\ud800.lbug", SettingsError, "half-"),
        (f"{'a' * 300}.lbug", StoreError, "too long"),
        ("a-file/notes.lbug", StoreError, "folder"),
        ("a-file/deeper/notes.lbug", StoreError, "folder"),
    ],
)
def test_invalid_path_is_refused(
    name: str, kind: type[MemgraphRagError], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a-file").touch()
    with pytest.raises(kind, match=message):
        open_store(name, namespace="n")


@pytest.mark.parametrize("asked", ["is_dir", "mkdir"])
def test_folder_without_permission_is_refused(path: Path, asked: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(*_: object, **__: object) -> NoReturn:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, asked, denied)
    with pytest.raises(StoreAccessDenied, match="rights"):
        open_store(path, namespace="n")


def test_removed_folder_raises_store_error(store: LadybugStore, path: Path) -> None:
    shutil.rmtree(path.parent)
    for write in (lambda: store.write(make_graph("n", "other")), store.purge):
        with pytest.raises(StoreError, match="Put it back"):
            write()


@pytest.mark.parametrize(("chunk", "chunks"), [(1, 3), (2, 2), (1_000, 1)])
def test_a_table_is_read_in_chunks(
    store: LadybugStore, monkeypatch: pytest.MonkeyPatch, chunk: int, chunks: int
) -> None:
    monkeypatch.setattr(ladybug_file, "_MOST_CHUNK", chunk)
    text = "UNWIND range(1, $rows) AS row RETURN row"
    table = store._file.read_table(text, {"rows": 3})
    assert (table["row"].to_pylist(), table["row"].num_chunks) == ([1, 2, 3], chunks)
    assert store._file.read_table(text, {"rows": 0}).num_rows == 0
