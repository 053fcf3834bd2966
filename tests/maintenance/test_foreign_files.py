"""Exports in forms of other programs hold the documents of the scope, and replace nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import networkx as nx
import pyarrow.parquet as pq
import pytest
import yaml
from memories import fakes

from memgraph_rag import Memory
from memgraph_rag.errors import DocumentError, SettingsError
from memgraph_rag.maintenance.foreign_files import FOREIGN_FORMS, ForeignForm

BARN = "Ann found a fox & a <cat> in the Barn."


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory(":memory:", layers=("entities",), **fakes()) as memory:
        memory.add(BARN, key="barn", title="Ann: a/b", metadata={"user": "ann", "page": 3})
        memory.add("Bob saw Ann.\x0c", key="bob", title="ann_ a_b")
        memory.add([{"role": "Carla", "content": "Bob left.", "time": "2024-05-01"}], key="chat")
        yield memory


def test_jsonl_has_a_document_a_line(memory: Memory, tmp_path: Path) -> None:
    path = tmp_path / "all.jsonl"
    assert memory.maintenance.export_files(path, "jsonl") == 3
    memory.maintenance.export_files(path, "jsonl")  # replaces its own file
    by_key = {row["key"]: row for row in map(json.loads, path.read_text("utf-8").splitlines())}
    assert by_key["barn"]["text"] == BARN
    assert by_key["barn"]["metadata"] == {"user": "ann", "page": 3}
    assert "Ann" in by_key["barn"]["entities"]
    assert by_key["chat"]["turns"] == [
        {"speaker": "Carla", "time": "2024-05-01", "text": "Carla (2024-05-01): Bob left."}
    ]


def test_graphml_is_read_by_networkx(memory: Memory, tmp_path: Path) -> None:
    assert memory.maintenance.export_files(tmp_path / "g.graphml", "graphml") == 3
    graph = nx.read_graphml(tmp_path / "g.graphml")
    texts = [data["text"] for _, data in graph.nodes(data=True) if data["kind"] == "Segment"]
    assert BARN in texts
    (ann,) = [node for node, data in graph.nodes(data=True) if data.get("name") == "Ann"]
    assert {graph.nodes[source]["kind"] for source, _ in graph.in_edges(ann)} == {"Segment"}
    assert graph.in_degree(ann) == 2


def test_parquet_has_a_table_each(memory: Memory, tmp_path: Path) -> None:
    memory.maintenance.export_files(tmp_path / "tables", "parquet")
    tables = {path.stem: pq.read_table(path).to_pylist() for path in (tmp_path / "tables").iterdir()}
    assert set(tables) == {"documents", "segments", "mentions"}
    assert {row["key"] for row in tables["documents"]} == {"barn", "bob", "chat"}
    assert {len(row["embedding"]) for row in tables["segments"]} == {memory.embedder.dimension}


def test_notes_have_front_matter_and_links(memory: Memory, tmp_path: Path) -> None:
    for form in ("markdown", "obsidian"):
        assert memory.maintenance.export_files(tmp_path / form, form) == 3
    names = {path.name for path in (tmp_path / "obsidian").iterdir()}
    assert names == {"Ann_ a_b.md", "ann_ a_b 2.md", "chat.md"}
    plain = (tmp_path / "markdown" / "Ann_ a_b.md").read_text("utf-8")
    _, front, text = plain.split("---\n", 2)
    assert yaml.safe_load(front)["page"] == 3
    assert text.strip() == BARN
    assert "[[Ann]]" in (tmp_path / "obsidian" / "ann_ a_b 2.md").read_text("utf-8")
    assert "[[" not in plain


def test_note_of_long_title_gets_shorter_name(memory: Memory, tmp_path: Path) -> None:
    title = "山中气象报告" * 20
    for number in range(2):
        memory.add(f"Text {number}.", title=title)

    assert memory.maintenance.export_files(tmp_path / "notes", "markdown") == 5
    notes = sorted(path.name for path in (tmp_path / "notes").iterdir() if path.name.startswith("山"))
    assert [name.removeprefix(notes[1].removesuffix(".md")) for name in notes] == [" 2.md", ".md"]


@pytest.mark.parametrize("form", FOREIGN_FORMS)
def test_scope_goes_through_each_form(memory: Memory, tmp_path: Path, form: str) -> None:
    path = tmp_path / "ann"
    assert memory.maintenance.export_files(path, form, user="ann") == 1  # type: ignore[arg-type]
    written = b"".join(each.read_bytes() for each in ([path] if path.is_file() else path.iterdir()))
    assert b"Carla" not in written
    assert b"Bob" not in written


@pytest.mark.parametrize("form", FOREIGN_FORMS)
def test_existing_file_is_not_replaced(memory: Memory, tmp_path: Path, form: str) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "note.md").write_text("Mine.")
    for path in (folder, folder / "note.md"):
        with pytest.raises(DocumentError, match=r"^Expected .*, got .*"):
            memory.maintenance.export_files(path, form)  # type: ignore[arg-type]
    assert [each.read_text() for each in tmp_path.rglob("*") if each.is_file()] == ["Mine."]


@pytest.mark.parametrize("part", ["", ".shadow", ".wal", ".in_use"])
@pytest.mark.parametrize("form", ["jsonl", "graphml"])
def test_file_of_the_open_store_is_not_opened(tmp_path: Path, form: ForeignForm, part: str) -> None:
    """The engine's lock would end, and a shadow file, which is empty, would be replaced and then lost."""
    with Memory(tmp_path / "notes.lbug", **fakes()) as memory:
        memory.add(BARN)
        with pytest.raises(DocumentError, match="a part of the open store"):
            memory.maintenance.export_files(tmp_path / f"notes.lbug{part}", form)


def test_unknown_form_is_refused(memory: Memory, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="jsonl"):
        memory.maintenance.export_files(tmp_path / "x", "csv")  # type: ignore[arg-type]
