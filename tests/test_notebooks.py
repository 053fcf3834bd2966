"""The notebooks of ``examples`` run from beginning to end in a kernel, and show tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))

in_kernel = pytest.mark.full("runs in a kernel with the packaged models")


def execute(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Run a notebook in an empty folder; return the outputs of each code cell."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("MEMGRAPH_RAG_MODEL", "qwen2.5-coder-0.5b-instruct")
    book = nbformat.read(ROOT / "examples" / f"{name}.ipynb", as_version=4)
    NotebookClient(book, timeout=600, kernel_name="python3", resources={"metadata": {"path": str(folder)}}).execute()
    return [cell.outputs for cell in book.cells if cell.cell_type == "code"]


def shown(outputs: list[Any], kind: str) -> str:
    return "".join("".join(output["data"].get(kind, "")) for output in outputs if "data" in output)


def printed(outputs: list[Any]) -> str:
    return "".join(output["text"] for output in outputs if output.output_type == "stream" and output.name == "stdout")


def test_notebooks_are_stored_without_outputs() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["chat_with_users", "first_steps"]
    books = {path.name: nbformat.read(path, as_version=4) for path in NOTEBOOKS}
    cells = [(name, cell) for name, book in books.items() for cell in book.cells if cell.cell_type == "code"]
    assert [name for name, cell in cells if cell.outputs or cell.execution_count] == []


@in_kernel
@pytest.mark.timeout(900)
def test_first_steps_shows_tables_and_an_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    documents, hits, table, filtered, answer, citations, abstained, around, last = execute(
        "first_steps", tmp_path, monkeypatch
    )
    assert all("<table" in shown(cell, "text/html") for cell in (documents, hits, table, filtered, around))
    assert "Tom Ray drove to Oak Hill" in shown(filtered, "text/html")
    assert "Ann Lee" not in shown(filtered, "text/html")
    assert "Tom Ray drove to Oak Hill" in shown(answer, "text/html")
    assert "'friday', 0, 55" in shown(citations, "text/plain")
    assert shown(abstained, "text/plain") == "True"
    assert printed(last) == "['friday', 'monday']\n"


@in_kernel
def test_chat_tells_what_holds_and_forgets_a_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, again, recalled, standings, then, _, documents, last = execute("chat_with_users", tmp_path, monkeypatch)
    assert "added=3" in shown(first, "text/plain")
    assert "unchanged=1" in shown(again, "text/plain")
    assert "home: since 12 May 2026: Berlin; before: Hamburg" in printed(recalled)
    assert "instruction: since 1 March 2026: Always answer in metric units" in printed(recalled)
    assert shown(standings, "text/plain").count("superseded") == 1
    assert printed(then).endswith("near the river. | holds\n")
    assert "session/tom/first/0" in shown(documents, "text/html")
    assert printed(last) == "['session/tom/first/0']\n"
