"""One Ladybug file, several processes and several names: its writes are never lost, whoever reads it meanwhile."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest
from ladybug_files import opened, output_of

from memgraph_rag.errors import StoreError, StoreReadOnly
from memgraph_rag.stores import open_place, open_store
from memgraph_rag.stores.ladybug import lock as ladybug_lock
from memgraph_rag.stores.ladybug.paths import LONGEST_SUFFIX
from memgraph_rag.stores.ladybug.store import LadybugStore
from memgraph_rag.testing.sample_graphs import make_graph

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there the engine's own lock is enough")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "notes.lbug"


@pytest.fixture
def store(path: Path) -> Iterator[LadybugStore]:
    with closing(opened(path)) as store:
        store.write(make_graph("n"))
        yield store


def lock_file(path: Path) -> Path:
    return path.with_name(f"{path.name}.in_use")


OPEN = """
import sys
from memgraph_rag.errors import StoreError
from memgraph_rag.stores import open_store
from memgraph_rag.stores.ladybug import lock
lock.WAIT_S = float(sys.argv[3]) if len(sys.argv) > 3 else 0.05
try:
    store = open_store(sys.argv[1], namespace="n", read_only=sys.argv[2] == "read")
    print("open", *(record.key for record in store.documents()))
    store.close()
except StoreError as error:
    print(type(error).__name__, error)
"""


@contextmanager
def mounted(*arguments: str | Path, at: Path) -> Iterator[None]:
    """A file system at a folder, where this user may mount one."""
    if subprocess.run(["mount", *map(str, arguments), str(at)], capture_output=True, check=False).returncode:
        pytest.skip("nothing can be mounted here")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(at)], check=True)


# ── reading the open file ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("how", ["write", "read"])
def test_reading_the_open_file_keeps_other_processes_out(store: LadybugStore, path: Path, how: str) -> None:
    path.read_bytes()
    shutil.copy(path, path.with_name("copy.lbug"))
    said = output_of(OPEN, path, how)
    assert said.startswith("StoreLocked")
    assert f"process {os.getpid()} has it open" in said


def test_a_file_that_was_put_in_place_is_locked_like_the_old_one(store: LadybugStore, path: Path) -> None:
    store.purge()
    path.read_bytes()
    assert output_of(OPEN, path, "write").startswith("StoreLocked")
    store.write(make_graph("n", "other"))
    store.close()
    assert output_of(OPEN, path, "write") == "open alice.txt other\n"


def test_reading_the_file_of_a_reader_keeps_writers_out_and_readers_in(store: LadybugStore, path: Path) -> None:
    store.close()
    with closing(opened(path, read_only=True)):
        path.read_bytes()
        lock_file(path).read_bytes()
        assert output_of(OPEN, path, "write").startswith("StoreLocked")
        assert output_of(OPEN, path, "read") == "open alice.txt\n"
    assert output_of(OPEN, path, "write") == "open alice.txt\n"


# ── the lock file ────────────────────────────────────────────────────────────────────────────────────────────


def test_the_lock_file_is_the_owners_and_goes_with_the_last_holder(store: LadybugStore, path: Path) -> None:
    lock = lock_file(path)
    assert stat.S_IMODE(lock.stat().st_mode) == 0o600
    assert lock.read_text() == f"{os.getpid()}\n"
    store.close()
    assert [file.name for file in path.parent.iterdir()] == [path.name]
    first = opened(path, read_only=True)
    first.close()
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_lock_file_of_killed_process_does_not_lock(path: Path) -> None:
    output_of("import os, sys; from memgraph_rag.stores import open_store\n"
               "store = open_store(sys.argv[1], namespace='n'); os._exit(9)", path)  # fmt: skip
    left = lock_file(path).read_text()
    with closing(opened(path)):
        assert lock_file(path).read_text() == f"{os.getpid()}\n" != left
    assert not lock_file(path).exists()


def test_removed_lock_file_is_not_taken_for_its_successor(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last holder removes it between the opening and the locking of the next one."""
    is_in_place, looked = ladybug_lock._is_in_place, []

    def removed_at_first(descriptor: int, name: str) -> bool:
        if not looked:
            Path(name).unlink()
        looked.append(is_in_place(descriptor, name))
        return looked[-1]

    monkeypatch.setattr(ladybug_lock, "_is_in_place", removed_at_first)
    with closing(opened(path)):
        assert looked == [False, True]
        assert output_of(OPEN, path, "write").startswith("StoreLocked")


def test_users_file_with_lock_name_stays_unchanged(path: Path) -> None:
    lock_file(path).write_text("Something of mine.")
    with closing(opened(path)) as store:
        store.purge()
        path.read_bytes()
        said = output_of(OPEN, path, "write")
        assert said.startswith("StoreLocked")
        assert "another process has it open" in said
    assert lock_file(path).read_text() == "Something of mine."


def test_a_store_on_a_read_only_medium_can_be_read(store: LadybugStore, path: Path, tmp_path: Path) -> None:
    store.close()
    medium = tmp_path / "medium"
    medium.mkdir()
    shutil.copy(path, medium / "notes.lbug")
    with mounted("--bind", medium, at=medium):
        subprocess.run(["mount", "-o", "remount,bind,ro", str(medium)], check=True)
        with closing(opened(medium / "notes.lbug", read_only=True)) as reader:
            assert len(reader.documents()) == 1
            assert output_of(OPEN, medium / "notes.lbug", "read") == "open alice.txt\n"
        assert [file.name for file in medium.iterdir()] == ["notes.lbug"]


def test_the_files_of_an_open_store_are_known_as_its_own(store: LadybugStore, path: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(path)
    (tmp_path / "other.txt").write_text("mine")
    own = [path, lock_file(path), Path(f"{path}.wal"), Path(f"{path}.shadow"), tmp_path / "link"]
    assert [open_place(file) for file in own] == [os.path.realpath(path)] * len(own)
    assert open_place(tmp_path / "other.txt") is None
    assert open_place(tmp_path / "nowhere") is None
    assert open_place("half-\ud800\0") is None
    store.close()
    assert open_place(path) is None


# ── one file, several names ──────────────────────────────────────────────────────────────────────────────────


def test_file_with_two_names_is_opened_once(store: LadybugStore, path: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.lbug"
    os.link(path, link)
    with closing(opened(link)) as other:
        assert other._file is store._file
        other.write(make_graph("n", "by the link"))
        store.write(make_graph("n", "by the name"))
    link.unlink()
    store.close()
    with closing(opened(path)) as again:
        assert {record.key for record in again.documents()} == {"alice.txt", "by the link", "by the name"}


def test_file_in_folder_mounted_twice_is_opened_once(store: LadybugStore, path: Path, tmp_path: Path) -> None:
    twin = tmp_path / "twin"
    twin.mkdir()
    with mounted("--bind", tmp_path, at=twin):
        with closing(opened(twin / path.name)) as other:
            assert other._file is store._file
        path.read_bytes()
        assert output_of(OPEN, twin / path.name, "write").startswith("StoreLocked")


def test_a_file_with_hard_links_is_read_and_not_written(store: LadybugStore, path: Path, tmp_path: Path) -> None:
    store.close()
    os.link(path, tmp_path / "link.lbug")
    for name in (path, tmp_path / "link.lbug"):
        with pytest.raises(StoreError, match="hard links"):
            open_store(name, namespace="n")
    with closing(opened(path, read_only=True)) as reader:
        assert len(reader.documents()) == 1


# ── names of which longer ones are made ──────────────────────────────────────────────────────────────────────


def test_longest_name_works_and_longer_is_refused(tmp_path: Path) -> None:
    longest = os.pathconf(tmp_path, "PC_NAME_MAX") - len(LONGEST_SUFFIX)
    with closing(opened(tmp_path / ("n" * longest))) as store:
        store.write(make_graph("n"))
        store.purge()
        assert len(store.documents()) == 1
    for bytes_more in (1, 20, 29, 33):
        for name in ("n" * (longest + bytes_more), "é" * ((longest + bytes_more + 1) // 2)):
            with pytest.raises(StoreError, match="too long"):
                open_store(tmp_path / name, namespace="n")
    assert len(list(tmp_path.iterdir())) == 1


def test_longest_path_works_and_longer_is_refused(tmp_path: Path) -> None:
    folder = str(tmp_path)
    while len(folder) < 4096 - 120:
        folder += "/" + "d" * 100
    folder += "/" + "d" * (4096 - 30 - len(folder))
    with pytest.raises(StoreError, match="too long"):
        open_store(f"{folder}/n.lbug", namespace="n")
    assert not list(tmp_path.iterdir())


# ── what the engine writes ───────────────────────────────────────────────────────────────────────────────────


def test_engine_files_are_readable_by_owner_only(path: Path) -> None:
    """Not for the moments either in which a checkpoint's pages, with text in them, lie beside the file."""
    texts = tuple(f"secret {number} " * 50 for number in range(200))
    with watched(path.parent) as modes:
        for number in range(3):
            with closing(opened(path)) as store:
                store.write(make_graph("n", f"{number}", texts))
                if number:
                    store.purge()
    assert modes.keys() >= {"notes.lbug.shadow", "notes.lbug.wal", "notes.lbug.rewriting"}
    assert set(modes.values()) == {0o600}, modes


@contextmanager
def watched(folder: Path) -> Iterator[dict[str, int]]:
    """The modes of all files that appear in a folder, the widest of each, while no umask narrows them."""
    modes: dict[str, int] = {}
    stop = threading.Event()

    def watch() -> None:
        while not stop.is_set():
            with suppress(OSError), os.scandir(folder) as entries:
                for entry in entries:
                    with suppress(OSError):
                        mode = stat.S_IMODE(entry.stat().st_mode)
                        modes[entry.name] = modes.get(entry.name, 0) | mode

    watcher, umask = threading.Thread(target=watch), os.umask(0)
    watcher.start()
    try:
        yield modes
    finally:
        stop.set()
        watcher.join()
        os.umask(umask)


def test_reading_leaves_file_unchanged(store: LadybugStore, path: Path) -> None:
    store.close()
    before, at = path.read_bytes(), path.stat().st_mtime_ns
    with closing(opened(path)) as again:
        assert again.documents()
    assert path.read_bytes() == before
    assert path.stat().st_mtime_ns == at
    with closing(opened(path)) as again:
        again.write(make_graph("n", "other"))
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_file_open_for_reading_refuses_writer(store: LadybugStore, path: Path) -> None:
    store.close()
    with closing(opened(path, read_only=True)), pytest.raises(StoreReadOnly, match="this process"):
        open_store(path, namespace="n")


# ── waiting ──────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("how", ["write", "read"])
def test_process_waits_until_the_writer_closes_the_file(store: LadybugStore, path: Path, how: str) -> None:
    closing_soon = threading.Timer(1.0, store.close)
    closing_soon.start()
    try:
        assert output_of(OPEN, path, how, "60") == "open alice.txt\n"
    finally:
        closing_soon.join()


def test_writers_of_several_processes_all_store_their_document(path: Path) -> None:
    program = (
        "import sys; from memgraph_rag.stores.ladybug import lock; lock.WAIT_S = 60\n"
        "from memgraph_rag.stores import open_store; from memgraph_rag.testing.sample_graphs import *\n"
        "store = open_store(sys.argv[1], namespace='n'); store.migrate(embedder=EMBEDDER, dimension=DIMENSION)\n"
        "store.write(make_graph('n', sys.argv[2])); store.close()"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])}
    keys = [f"document {number}" for number in range(4)]
    writers = [subprocess.Popen([sys.executable, "-c", program, str(path), key], env=environment) for key in keys]
    assert [writer.wait(90) for writer in writers] == [0, 0, 0, 0]
    with closing(opened(path, read_only=True)) as reader:
        assert sorted(record.key for record in reader.documents()) == keys
