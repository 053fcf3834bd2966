"""``memgraph-rag export``, ``import`` and ``purge``, on a real file."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

from memgraph_rag.memory import Memory
from memgraph_rag.testing import FakeEmbedder, FakeLanguageModel, FakeRecognizer


def test_purge_frees_the_file_of_forgotten_text(cli, fox, write, tmp_path) -> None:
    cli("add", write("secret.txt", "Zanzibar has seventeen elephants. " * 20), "--key", "secret")
    cli("forget", "secret")
    store = tmp_path / "notes.lbug"
    assert b"Zanzibar" in store.read_bytes()

    assert cli("purge").stdout == f"purged     {store}\n"

    assert b"Zanzibar" not in store.read_bytes()
    assert cli.json("search", "red fox")[0]["document_key"] == "fox"
    assert cli.json("purge") == {"store": str(store), "purged": True}


def test_read_only_store_is_not_changed(cli, fox, opened) -> None:
    assert cli.json("search", "red fox", "--read-only")[0]["document_key"] == "fox"
    assert opened[-1]["read_only"] is True
    assert cli("add", fox, "--key", "other", "--read-only", status=1).stderr.startswith("StoreReadOnly: ")
    assert cli("forget", "fox", "--read-only", status=1).stderr.startswith("StoreReadOnly: ")
    assert len(cli.json("documents", "--read-only")) == 1
    assert "read_only" not in opened[0]


def test_export_can_be_imported_elsewhere(cli, fox, tmp_path) -> None:
    file, elsewhere = tmp_path / "all.jsonl", ("--store", tmp_path / "other.lbug", "--namespace", "other")
    assert cli("export", file).stdout == f"exported   {file}  documents: 1\n"
    assert cli.json("export", file) == {"file": str(file), "documents": 1}

    assert "added" in cli("import", file, *elsewhere).stdout

    (receipt,) = cli.json("import", file, *elsewhere)["receipts"]
    assert (receipt["key"], receipt["action"]) == ("fox", "unchanged")
    assert cli.json("search", "red fox", *elsewhere)[0]["document_key"] == "fox"
    file.write_text("{}")
    assert cli("import", file, status=1).stderr.startswith("DocumentError: ")


def test_export_writes_other_forms(cli, fox, tmp_path) -> None:
    assert "documents: 1" in cli("export", tmp_path / "notes", "--format", "obsidian").stdout
    assert (tmp_path / "notes" / "fox.md").is_file()
    assert '"key": "fox"' in cli("export", "-", "--format", "jsonl").stdout
    assert cli("export", "-", "--format", "parquet", status=2).stdout == ""
    assert "jsonl" in cli("export", tmp_path / "x", "--format", "csv", status=1).stderr


def test_export_replaces_only_an_archive(cli, fox, tmp_path) -> None:
    cli("add", fox, "--key", "fox")
    store, text = tmp_path / "notes.lbug", tmp_path / "mine.txt"
    text.write_text("Something of mine.")
    for other in (store, text):
        before = other.stat().st_ino  # not its bytes: to open a store is to write what its log still holds
        assert "holds something else" in cli("export", other, status=1).stderr
        assert other.stat().st_ino == before
    assert text.read_text() == "Something of mine."
    assert len(cli.json("documents")) == 1
    (tmp_path / "new.jsonl.part").write_text("Mine too.")
    cli("export", tmp_path / "new.jsonl")
    assert (tmp_path / "new.jsonl.part").read_text() == "Mine too."
    assert cli("export", tmp_path / ("x" * 300), status=1).stderr.startswith("DocumentError: ")
    (tmp_path / "empty.jsonl").touch()
    for _ in range(2):
        cli("export", tmp_path / "empty.jsonl")
    assert cli.json("search", "red fox")[0]["document_key"] == "fox"


def test_reembed_changes_the_embedder(cli, fox, opened, monkeypatch) -> None:
    other = FakeEmbedder(12, name="other")
    for module in ("maintenance.maintenance", "models.model_loader"):
        monkeypatch.setattr(f"memgraph_rag.{module}.open_embedder", lambda *_, **__: other)

    def open_with_fakes(store: str | None, **options: Any) -> Memory:
        models = {"model": FakeLanguageModel(), "recognizer": FakeRecognizer()}
        return Memory(store, **{**options, **models})

    monkeypatch.setattr("memgraph_rag.Memory", open_with_fakes)
    line = "embedded   by other (12 dimensions)  documents: 1\n"
    assert cli("reembed", "--embedder", "new").stdout == line
    assert cli.json("reembed", "--embedder", "new") == {"embedder": "other", "dimension": 12, "documents": 1}
    assert cli.json("search", "red fox", "--embedder", "new")[0]["document_key"] == "fox"


def test_reembed_wants_the_name_of_an_embedder(cli, fox) -> None:
    assert "name the new embedder" in cli("reembed", status=2).stderr


def test_archive_goes_through_standard_streams(cli, fox, tmp_path) -> None:
    cli("export", tmp_path / "all.jsonl")
    written = cli("export", "-").stdout
    assert written.encode() == (tmp_path / "all.jsonl").read_bytes()
    assert "alone" in cli("export", "-", "--json", status=2).stderr

    command = [sys.executable, "-c", IMPORT, str(tmp_path / "other.lbug")]
    done = subprocess.run(command, input=written.encode(), capture_output=True, check=True)
    assert done.stdout.startswith(b"added      fox")


IMPORT = """
import sys
import memgraph_rag
from memgraph_rag.cli.app import app
from memgraph_rag.testing import FakeEmbedder, FakeLanguageModel, FakeRecognizer
models = {"model": FakeLanguageModel(), "embedder": FakeEmbedder(), "recognizer": FakeRecognizer()}
opened = memgraph_rag.Memory
memgraph_rag.Memory = lambda store, **options: opened(store, **{**options, **models})
app(["import", "-", "--store", sys.argv[1]])
"""


def test_a_name_with_a_line_break_is_one_line(cli, fox, tmp_path) -> None:
    cli("add", fox, "--key", "fox\nadded      evil")
    for shown in (cli("documents").stdout, cli("forget", "fox\nadded      evil").stdout):
        assert "\nadded" not in shown
        assert "fox\N{REPLACEMENT CHARACTER}added" in shown
