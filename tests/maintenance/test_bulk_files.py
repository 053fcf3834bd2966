"""Files for an import in bulk are written whole, of a sound archive, or not at all. No server runs here."""

from __future__ import annotations

import errno
import json
import shutil
import sqlite3
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from memories import FOX, RIVER, embedder, options

from memgraph_rag import Memory
from memgraph_rag.errors import DocumentError, SchemaMismatch, SettingsError
from memgraph_rag.maintenance import bulk_import
from memgraph_rag.stores.neo4j import bulk as neo4j_bulk
from memgraph_rag.stores.neo4j.bulk import BulkFiles
from memgraph_rag.testing import FakeRecognizer


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    with Memory(tmp_path / "notes.lbug", **options()) as memory:
        memory.add(FOX, key="fox")
        memory.add(RIVER, key="river")
        memory.maintenance.export_to(tmp_path / "all.jsonl")
    return tmp_path / "all.jsonl"


@pytest.fixture
def write() -> Any:
    """Write files of an archive for a database that is empty."""
    store: Any = SimpleNamespace(namespace="bulk", empty_database=lambda: "neo4j")

    def write_files(archive: Path, folder: Path) -> BulkFiles:
        return bulk_import.write_bulk_files(store, archive, folder, embedder(), FakeRecognizer())

    return write_files


def test_sound_archive_becomes_files(write, archive, tmp_path) -> None:
    files = write(archive, tmp_path / "new" / "files")
    assert files.documents == 2
    named = {option.partition("=./")[2] for option in files.options if ".csv" in option}
    assert named == {path.name for path in files.folder.iterdir()}, "and nothing else stays"
    assert files.folder.stat().st_mode & 0o777 == 0o700


def test_older_folder_is_closed_to_others(write, archive, tmp_path) -> None:
    (tmp_path / "files").mkdir(mode=0o755)
    assert write(archive, tmp_path / "files").folder.stat().st_mode & 0o777 == 0o700


def test_folder_behind_a_link_is_left_without_files(tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "files")
    with suppress(KeyboardInterrupt), bulk_import._new_files(tmp_path / "link"):
        (tmp_path / "link" / "nodes.csv").write_text(FOX)
        raise KeyboardInterrupt
    assert not (tmp_path / "files" / "nodes.csv").exists()


def test_unsound_archive_leaves_no_file(write, archive, tmp_path) -> None:
    first, second, third, last = archive.read_bytes().splitlines(keepends=True)
    other = json.dumps(json.loads(first) | {"embedder": "other"}).encode() + b"\n"
    for lines, error in (
        ([first, second, third], DocumentError),
        ([first, second, third.replace(b"river", b"rivet"), last], DocumentError),
        ([first, second, second, last], DocumentError),
        ([other, second, third, last], SchemaMismatch),
        ([b"{}\n"], DocumentError),
    ):
        archive.write_bytes(b"".join(lines))
        with pytest.raises(error):
            write(archive, tmp_path / "files")
        assert not (tmp_path / "files").exists()


def test_folder_with_files_is_left_unchanged(write, archive, tmp_path) -> None:
    with pytest.raises(SettingsError, match="with files"):
        write(archive, tmp_path)
    assert archive.exists()
    with pytest.raises(SettingsError, match="Expected a folder for files"):
        write(archive, archive / "below")


def test_small_disk_is_refused_before_a_file_is_written(write, archive, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(1, 1, 0))
    with pytest.raises(SettingsError, match=r"GiB of free space for files and database, got 0\.0 GiB"):
        write(archive, tmp_path / "files")
    assert not (tmp_path / "files").exists()


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left"), sqlite3.OperationalError("disk is full")])
def test_full_disk_leaves_no_bulk_file(write, archive, tmp_path, monkeypatch, error) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(neo4j_bulk._Entities, "batches", fail)
    with pytest.raises(SettingsError, match="Expected free space for files"):
        write(archive, tmp_path / "files")
    assert not (tmp_path / "files").exists()
