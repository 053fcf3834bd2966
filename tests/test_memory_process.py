"""A memory belongs to the process that opened it, and the files of its store are no documents."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from memories import FOX, options

from memgraph_rag import Failure, Memory
from memgraph_rag.errors import DocumentError
from memgraph_rag.stores import open_store

FORK = """
import os, signal, sys
from memories import FOX, options
from memgraph_rag import Memory
from memgraph_rag.errors import StoreError

memory = Memory(sys.argv[1], **options())
memory.add(FOX, key="fox")
memory.search("fox")
child = os.fork()
if child == 0:
    signal.alarm(60)
    for call in (
        lambda: memory.add(FOX),
        lambda: memory.add_many([FOX]),
        lambda: memory.deepen(),
        lambda: memory.ask("Who found the fox?"),
        lambda: memory.search("fox"),
        lambda: memory.get("id"),
        memory.documents,
        lambda: memory.get("fox").text,
        lambda: memory.around("fox"),
        memory.questions,
        lambda: memory.questions("Who?"),
        lambda: memory.forget("fox"),
        lambda: memory.forget(question="Who?"),
        memory.maintenance.purge,
        lambda: memory.maintenance.reembed("other"),
        memory.maintenance.examine,
        memory.maintenance.repair,
        lambda: memory.maintenance.export_to(sys.argv[2]),
        lambda: memory.maintenance.import_from(sys.argv[2]),
        memory.status,
    ):
        try:
            call()
        except StoreError as error:
            assert "forked" in str(error), error
        else:
            print("went through", flush=True)
    memory.close()
    with Memory(sys.argv[1] + ".own", **options()) as own:
        own.add(FOX, key="own")
        print(*(record.key for record in own.documents()), flush=True)
    sys.exit(7)
_, status = os.waitpid(child, 0)
memory.add("It rained.", key="rain")
print(os.waitstatus_to_exitcode(status), *(record.key for record in memory.documents()), memory.maintenance.examine())
memory.close()
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "notes.lbug"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing forks here")
def test_every_call_in_a_forked_child_is_refused(path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])}
    command = [sys.executable, "-W", "ignore", "-c", FORK, str(path), str(path.with_name("all.jsonl"))]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)
    assert done.stdout == "own\n7 fox rain []\n", done.stderr[-2000:]


@pytest.mark.parametrize("name", ["notes.lbug", "notes.lbug.wal", "notes.lbug.in_use", "link"])
def test_a_file_of_the_open_store_is_no_document(path: Path, name: str) -> None:
    path.with_name("link").symlink_to(path)
    with Memory(path, **options()) as memory:
        memory.add(FOX, key="fox")
        with pytest.raises(DocumentError, match="open store"):
            memory.add(path.with_name(name))
        shutil.copy(path, path.with_name("copy.lbug"))
        *_, failure = memory.add_many(sorted(path.parent.glob("notes.lbug*")))
        assert isinstance(failure, Failure)
        assert [record.key for record in memory.documents()] == ["fox"]


def test_home_in_a_path_hides_no_open_store(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(path.parent))
    with Memory(path, **options()) as memory, pytest.raises(DocumentError, match="open store"):
        memory.add(Path("~", path.name))


def test_open_stores_in_a_folder_are_left_out(path: Path) -> None:
    """Reading their files would release the engine's locks on them."""
    own = open_store(path, namespace="default")
    with Memory(path.with_name("other.lbug"), **options()) as other, Memory(own, **options()) as memory:
        for each in (memory, other):
            each.add(FOX, key="fox")
            assert list(each.add_many(path.parent)) == []
    own.close()


def test_an_archive_never_replaces_the_open_store(path: Path) -> None:
    with Memory(path, **options()) as memory:
        memory.add(FOX, key="fox")
        for name in ("notes.lbug", "notes.lbug.wal"):
            before = path.with_name(name).read_bytes()
            with pytest.raises(DocumentError, match="open store"):
                memory.maintenance.export_to(path.with_name(name))
            assert path.with_name(name).read_bytes() == before
        assert not path.with_name("notes.lbug.part").exists()
