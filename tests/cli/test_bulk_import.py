"""``memgraph-rag import --bulk``: what it asks for, in which order, and what it prints. No server runs here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memgraph_rag.cli import bulk_import
from memgraph_rag.maintenance.maintenance import Maintenance
from memgraph_rag.stores.neo4j.bulk import BulkFiles
from memgraph_rag.stores.neo4j.server import RunningServer


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, opened: list[dict[str, Any]]) -> list[str]:
    """What was done, in order, where a server runs below ``tmp_path``; the memory itself is a file."""
    done: list[str] = []
    server = RunningServer(tmp_path, 2, "2026.08.1", 7687, 7474)

    def write(_: Maintenance, path: Path, folder: Path) -> BulkFiles:
        done.append(f"written {path.name} into {folder.name}")
        folder.mkdir()
        return BulkFiles(folder, "neo4j", ("--nodes=Document=./nodes-Document.csv",), 2, 5, 7)

    def found(address: str, home: Path | None) -> RunningServer | None:
        return server if address.startswith("neo4j://localhost") and home is None else None

    def import_files(running: RunningServer, files: BulkFiles) -> RunningServer:
        done.append(f"imported {files.folder.name} after {len(opened)} opening")
        return running

    monkeypatch.setattr(Maintenance, "write_bulk_files", write)
    monkeypatch.setattr(bulk_import, "local_server", found)
    monkeypatch.setattr(bulk_import, "import_files", import_files)
    return done


@pytest.fixture
def at_file(monkeypatch: pytest.MonkeyPatch, steps: list[str]) -> None:
    """Memories of an address open a file instead."""
    import memgraph_rag

    real = memgraph_rag.Memory
    monkeypatch.setattr(memgraph_rag, "Memory", lambda _, **given: real(None, **given))


def test_local_server_gets_the_files_and_is_opened_again(cli, opened, steps, at_file, tmp_path) -> None:
    out = cli("import", "all.jsonl", "--bulk", "--store", "neo4j://localhost:7687").stdout
    assert out == "imported   documents: 2  segments: 5  entities: 7\n"
    assert steps == ["written all.jsonl into bulk-import", "imported bulk-import after 1 opening"]
    assert len(opened) == 2
    assert not (tmp_path / "bulk-import").exists()
    counts = {"documents": 2, "segments": 5, "entities": 7}
    assert cli.json("import", "all.jsonl", "--bulk", "--store", "neo4j://localhost") == counts


def test_files_for_a_server_elsewhere_come_with_its_command(cli, steps, at_file, tmp_path) -> None:
    folder = tmp_path / "my files"
    asked = ("import", "all.jsonl", "--bulk", "--files", folder, "--store", "neo4j://elsewhere:7687")
    command = (
        f"cd '{folder}' && neo4j-admin database import full --nodes=Document=./nodes-Document.csv "
        "--overwrite-destination=true neo4j"
    )
    assert f"\n{command}\n" in cli(*asked).stdout
    folder.rmdir()
    assert cli.json(*asked)["command"] == command
    assert steps == ["written all.jsonl into my files"] * 2
    assert folder.is_dir()


@pytest.mark.parametrize(
    "where", [("--store", "neo4j://elsewhere"), ("--store", "neo4j://localhost", "--home", "/other"), ()]
)
def test_stop_without_a_server_does_nothing(cli, steps, where) -> None:
    assert "--files DIR" in cli("import", "all.jsonl", "--bulk", *where, status=1).stderr
    assert not steps


def test_options_of_bulk_need_bulk(cli) -> None:
    for option in ("--files", "--home"):
        assert "goes with --bulk only" in cli("import", "all.jsonl", option, "x", status=2).stderr


def test_embedded_file_takes_no_bulk(cli, fox, tmp_path) -> None:
    cli("export", tmp_path / "all.jsonl")
    refused = cli("import", tmp_path / "all.jsonl", "--bulk", "--files", tmp_path / "files", status=1).stderr
    assert refused.startswith("StoreError: Expected a store that can be imported in bulk")
    assert not (tmp_path / "files").exists()
