"""Damaged Ladybug files, and foreign errors: each is a ``StoreError`` that names what to do."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from ladybug_files import run_python
from tables import table

from memgraph_rag.errors import StoreError
from memgraph_rag.stores import open_store
from memgraph_rag.stores.ladybug import probe as ladybug_probe
from memgraph_rag.stores.ladybug.errors import convert_engine_errors
from memgraph_rag.testing.sample_graphs import DIMENSION, EMBEDDER, make_graph, make_relations

TRIED = 30

OPEN_DAMAGED = """
import json, sys
from pathlib import Path
import numpy as np
from memgraph_rag.testing.sample_graphs import DIMENSION, EMBEDDER
from memgraph_rag.errors import MemgraphRagError
from memgraph_rag.stores import open_store
for path in map(Path, json.loads(sys.stdin.read())):
    print(json.dumps([path.name, "began", ""]), flush=True)
    error = None
    try:
        store = open_store(path, namespace="n")
        store.migrate(embedder=EMBEDDER, dimension=DIMENSION)
        for record in store.documents():
            store.list_segments(record.id), store.read_graphs([record.id])
        store.find_nearest(np.ones(DIMENSION), k=5), store.find_matching("Alice", k=5), store.flaws()
        store.close()
    except Exception as raised:
        error = raised
    name = type(error).__name__ if error is None or isinstance(error, MemgraphRagError) else f"foreign {error!r}"
    print(json.dumps([path.name, name, str(error)]), flush=True)
"""


def damaged(content: bytes, seed: int) -> bytes:
    """Other bytes here and there, a page of nothing, or a page of anything."""
    chance, harmed = random.Random(seed), bytearray(content)
    start = chance.randrange(len(content) // 4096) * 4096
    match seed % 3:
        case 0:
            for _ in range(60):
                harmed[chance.randrange(len(content))] ^= 0xFF
        case 1:
            harmed[start : start + 4096] = bytes(4096)
        case _:
            harmed[start : start + 4096] = chance.randbytes(4096)
    return bytes(harmed)


def run(paths: list[str]) -> tuple[int, list[list[str]]]:
    done = run_python(OPEN_DAMAGED, stdin=json.dumps(paths))
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]


def test_damaged_file_is_read_or_refused_with_our_error(tmp_path: Path) -> None:
    whole = tmp_path / "whole.lbug"
    store = open_store(whole, namespace="n")
    store.migrate(embedder=EMBEDDER, dimension=DIMENSION)
    store.write_many([make_relations("n", make_graph("n", key)) for key in "abcde"])
    store.close()
    paths = []
    for seed in range(TRIED):
        paths.append(str(tmp_path / f"{seed}.lbug"))
        Path(paths[-1]).write_bytes(damaged(whole.read_bytes(), seed))

    outcomes: dict[str, tuple[str, str]] = {}
    crashed = []
    while paths:
        _, lines = run(paths)
        outcomes |= {name: (kind, message) for name, kind, message in lines}
        if lines[-1][1] == "began":
            crashed.append(tmp_path / lines[-1][0])
        paths = paths[len({name for name, *_ in lines}) :]

    kinds = Counter(kind for kind, _ in outcomes.values())
    assert not [outcome for outcome in outcomes.items() if "foreign" in outcome[1][0]]
    assert kinds["StoreError"] > TRIED // 4, "else nothing was tried here"
    refused = {message for kind, message in outcomes.values() if kind == "StoreError"}
    assert not [message for message in refused if "memgraph-rag doctor" not in message]
    for path in crashed:
        with pytest.raises(StoreError, match="crash"):
            ladybug_probe.try_file(path)


@table(
    "foreign",
    [
        MemoryError("std::bad_alloc"),
        ValueError("vector::_M_default_append"),
        IndexError("basic_string::at: __n (which is 9) >= this->size()"),
        OverflowError("too big"),
        UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"),
        RuntimeError("Runtime exception: Load table failed: table 0 doesn't exist in catalog."),
    ],
)
def test_error_of_damaged_pages_names_doctor(foreign: Exception) -> None:
    with pytest.raises(StoreError, match="memgraph-rag doctor") as caught, convert_engine_errors("notes.lbug"):
        raise foreign
    assert caught.value.__cause__ is foreign
    assert caught.value.path == "notes.lbug"


# ── tried in a process of its own ────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def file(tmp_path: Path) -> Path:
    store = open_store(tmp_path / "notes.lbug", namespace="n")
    store.migrate(embedder=EMBEDDER, dimension=DIMENSION)
    store.write(make_relations("n", make_graph("n")))
    store.close()
    return tmp_path / "notes.lbug"


def test_a_trial_reads_every_column_and_changes_nothing(file: Path, tmp_path: Path) -> None:
    before = file.read_bytes()
    trial = [sys.executable, "-I", "-c", ladybug_probe._TRIAL, str(file), *sys.path]
    assert subprocess.run(trial, capture_output=True, check=True).stderr == b""
    ladybug_probe.try_file(file)
    assert file.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["notes.lbug"]


def test_endless_trial_counts_as_damage(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ladybug_probe, "_TRIAL", "import time\ntime.sleep(60)")
    with pytest.raises(StoreError, match="no end"):
        ladybug_probe.try_file(file, timeout_s=0.5)


def test_trial_ignores_errors_that_opening_reports(tmp_path: Path) -> None:
    other = tmp_path / "diary.txt"
    other.write_text("Dear diary, " * 1000)
    ladybug_probe.try_file(other)
    shutil.rmtree(tmp_path)
    ladybug_probe.try_file(other)
