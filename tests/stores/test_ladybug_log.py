"""Torn and damaged logs of real Ladybug files: what was acknowledged before the damage is there, and the file opens."""

from __future__ import annotations

import json
import logging
import random
import shutil
import stat
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest
from ladybug_files import opened, run_python

from memgraph_rag.errors import StoreReadOnly
from memgraph_rag.stores.ladybug import log as ladybug_log
from memgraph_rag.stores.ladybug import sidecars as ladybug_sidecars
from memgraph_rag.testing.sample_graphs import DIMENSION, EMBEDDER, make_graph

KEYS = "abc"

CHECKPOINT_END = bytes.fromhex("1100000000000000fe0200000000000000000000000000000065bb0c42fc0883a2")
"""As the engine wrote it: the pages of a checkpoint are whole, and must be put in place."""

WRITE = """
import json, os, sys
from pathlib import Path
from memgraph_rag.testing.sample_graphs import make_graph
from memgraph_rag.stores import open_store
def opened():
    store = open_store(sys.argv[1], namespace="n")
    store.migrate(embedder=sys.argv[2], dimension=int(sys.argv[3]))
    return store
store, log = opened(), Path(sys.argv[1] + ".wal")
if sys.argv[4] == "closed":
    store.close()
    store = opened()
sizes = [log.stat().st_size if log.exists() else 0]
for key in sys.argv[5]:
    store.write(make_graph("n", key, ("Alice met Bob.",)))
    sizes.append(log.stat().st_size)
print(json.dumps(sizes), flush=True)
os._exit(9)  # as a kill does: nothing is closed
"""

OPEN_EACH = """
import json, os, shutil, sys
from pathlib import Path
from memgraph_rag.stores import open_store
folder, source = Path(sys.argv[1]), Path(sys.argv[2])
log = Path(sys.argv[2] + ".wal").read_bytes()
for size in json.loads(sys.stdin.read()):
    file = folder / "cut.lbug"
    shutil.copy(source, file)
    Path(f"{file}.wal").write_bytes(log[:size])
    store = open_store(file, namespace="n")
    keys = sorted(record.key for record in store.documents()) if store.schema else []
    assert not keys or not store.flaws()
    store.close()
    print(json.dumps([size, keys, sorted(path.name for path in folder.iterdir())]), flush=True)
    for path in folder.iterdir():
        path.unlink()
"""


@dataclass(frozen=True)
class Stopped:
    """A file whose writer was stopped, and how long its log was after each write that was acknowledged."""

    file: Path
    sizes: tuple[int, ...]

    @property
    def log(self) -> bytes:
        return Path(f"{self.file}.wal").read_bytes()

    def keys_at(self, size: int) -> list[str]:
        """What had been acknowledged when the log was that long."""
        return [key for key, end in zip(KEYS, self.sizes[1:], strict=True) if end <= size]

    def copy(self, file: Path, log: bytes) -> Path:
        shutil.copy(self.file, file)
        Path(f"{file}.wal").write_bytes(log)
        return file


@pytest.fixture(scope="module", params=["closed", "new"])
def stopped(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Stopped:
    """Beside a file that was closed before, a new one, whose log holds its schema too."""
    file = tmp_path_factory.mktemp("stopped") / "notes.lbug"
    done = run_python(WRITE, file, EMBEDDER, DIMENSION, request.param, KEYS)
    assert done.returncode == 9, done.stderr
    return Stopped(file, tuple(json.loads(done.stdout)))


def record_ends(log: bytes) -> list[int]:
    ends = [ladybug_log.HEADER_BYTES]
    while ends[-1] < len(log):
        (length,) = ladybug_log.CHECKSUM.unpack_from(log, ends[-1])
        ends.append(ends[-1] + 8 + length + 8)
    assert ends[-1] == len(log)
    return ends


def test_log_cut_anywhere_keeps_acknowledged_writes(stopped: Stopped) -> None:
    log = stopped.log
    assert ladybug_log.count_committed_bytes(log) == len(log) == stopped.sizes[-1]
    assert ladybug_log.count_committed_bytes(log + CHECKPOINT_END) == len(log + CHECKPOINT_END)
    assert ladybug_log.count_committed_bytes(log + CHECKPOINT_END[:-1]) == len(log)
    for start, end in pairwise(stopped.sizes[-2:]):
        assert {ladybug_log.count_committed_bytes(log[:size]) for size in range(start, end)} == {start}
    assert {ladybug_log.count_committed_bytes(log[:size]) for size in range(min(stopped.sizes[1], 300))} == {0}


def test_log_cut_near_any_record_opens_with_acknowledged_writes(stopped: Stopped, tmp_path: Path) -> None:
    log = stopped.log
    chance = random.Random(5)
    near = {end - chance.randint(1, 8) for end in record_ends(log) if end > stopped.sizes[-2]}
    near |= {end + by for end in stopped.sizes[-2:] for by in (*range(-9, 2), 25)}
    near |= {1, 24, 25, *chance.sample(range(len(log)), 3)}
    sizes = sorted(size for size in near if 0 < size <= len(log))

    done = run_python(OPEN_EACH, tmp_path, stopped.file, stdin=json.dumps(sizes))

    assert done.returncode == 0, done.stderr[-2000:]
    opened_logs = [json.loads(line) for line in done.stdout.splitlines()]
    assert [size for size, _, _ in opened_logs] == sizes
    assert [(size, keys) for size, keys, _ in opened_logs] == [(size, stopped.keys_at(size)) for size in sizes]
    assert {name for _, _, names in opened_logs for name in names} == {"cut.lbug"}, "nothing committed was dropped"


def test_a_torn_log_is_mended_and_said(stopped: Stopped, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = stopped.copy(tmp_path / "torn.lbug", stopped.log[:-5])
    with pytest.raises(StoreReadOnly, match="without read_only"):
        opened(file, read_only=True)
    assert Path(f"{file}.wal").read_bytes() == stopped.log[:-5]

    with caplog.at_level(logging.WARNING):
        store = opened(file)
    assert [record.key for record in store.documents()] == list("ab")
    assert "cut off" in caplog.text
    store.write(make_graph("n", "c"))
    store.close()
    store = opened(file, read_only=True)
    assert len(store.documents()) == 3
    store.close()


def test_a_whole_log_is_read_without_being_changed(stopped: Stopped, tmp_path: Path) -> None:
    file = stopped.copy(tmp_path / "whole.lbug", stopped.log)
    store = opened(file, read_only=True)
    assert [record.key for record in store.documents()] == list(KEYS)
    store.close()
    assert Path(f"{file}.wal").read_bytes() == stopped.log


def test_commits_after_damage_are_kept_in_own_file(
    stopped: Stopped, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    damaged = bytearray(stopped.log)
    damaged[stopped.sizes[1] + 60] ^= 0xFF
    file = stopped.copy(tmp_path / "damaged.lbug", bytes(damaged))

    with caplog.at_level(logging.WARNING):
        store = opened(file)

    (aside,) = ladybug_sidecars.list_damaged_logs(str(file))
    assert str(aside) in caplog.text
    assert aside.read_bytes() == damaged
    assert stat.S_IMODE(aside.stat().st_mode) == 0o600
    assert [record.key for record in store.documents()] == ["a"]
    assert not store.flaws()
    store.purge()
    assert ladybug_sidecars.list_damaged_logs(str(file)) == [], "it held text"
    store.close()


def test_logs_that_are_kept_aside_do_not_replace_each_other(stopped: Stopped, tmp_path: Path) -> None:
    neighbour = tmp_path / "damaged.lbug.damaged-log.txt"
    neighbour.write_text("mine")
    for byte in (30, 40):
        damaged = bytearray(stopped.log)
        damaged[byte] ^= 0xFF
        file = stopped.copy(tmp_path / "damaged.lbug", bytes(damaged))
        opened(file).close()
    assert [path.name for path in ladybug_sidecars.list_damaged_logs(str(file))] == [
        "damaged.lbug.damaged-log",
        "damaged.lbug.damaged-log-2",
    ]
    ladybug_sidecars.remove_damaged_logs(str(file))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["damaged.lbug", neighbour.name]


@pytest.mark.parametrize("tail", [bytes(4096), b"\xff" * 100], ids=["zeros", "ones"])
def test_log_end_after_machine_crash_is_cut(stopped: Stopped, tmp_path: Path, tail: bytes) -> None:
    """Blocks that were counted into the file's length, and never written."""
    for log in (stopped.log + tail, tail):
        if log[0] != 0xFF:
            store = opened(stopped.copy(tmp_path / "crashed.lbug", log))
            assert len(store.documents()) == (3 if log.startswith(stopped.log) else 0)
            store.close()


def test_unknown_log_frame_is_left_to_engine() -> None:
    assert ladybug_log.count_committed_bytes(b"a log of a later engine, in another frame " * 9) is None
