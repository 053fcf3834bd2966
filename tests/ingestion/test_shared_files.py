"""Files read in place of another process: the same file or none."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from memories import FOX
from written_files import written

from memgraph_rag.ingestion.shared_files import SharedFile
from memgraph_rag.ingestion.sources import Loaded, Request, load_request


def test_same_file_is_read_from_any_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = written(tmp_path, "fox.html", f"<html><title>A fox</title><p>{FOX}</p></html>")
    monkeypatch.chdir(tmp_path)
    file = SharedFile.find(Path(page.name))
    monkeypatch.chdir("/")
    assert file is not None
    here = load_request(Request(page))
    assert isinstance(here, Loaded)
    assert file.read() == (here.document.text, here.document.title) == (FOX, "A fox")


def test_different_file_at_the_same_path_is_not_read(tmp_path: Path) -> None:
    path = written(tmp_path, "fox.txt", FOX)
    file = SharedFile.find(path)
    assert file is not None
    assert replace(file, size=file.size + 1).read() is None
    os.utime(path, ns=(0, file.changed_ns + 1))
    assert file.read() is None
    path.unlink()
    assert file.read() is None


def test_unreadable_shared_file_returns_none(tmp_path: Path) -> None:
    file = SharedFile.find(written(tmp_path, "broken.pdf", b"%PDF-1.7 of no use"))
    assert file is not None
    assert file.read() is None


@pytest.mark.parametrize("name", ["nothing", "folder", "pipe", "a\0b"])
def test_missing_file_gives_none(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    assert SharedFile.find(tmp_path / name) is None
