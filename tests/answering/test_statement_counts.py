"""How many statements the embedded engine runs for an opening, a document and a question."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ladybug
import pytest
from memories import FOX, RIVER, options

from memgraph_rag import Memory

QUESTION = "Who built a wooden box?"


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """All texts that any connection executes, in order."""
    texts: list[str] = []
    execute = ladybug.Connection.execute

    def recorded(self: ladybug.Connection, query: Any, *args: Any, **kwargs: Any) -> Any:
        texts.append(query)
        return execute(self, query, *args, **kwargs)

    monkeypatch.setattr(ladybug.Connection, "execute", recorded)
    return texts


@pytest.fixture
def memory(tmp_path: Path, statements: list[str]) -> Iterator[Memory]:
    with Memory(tmp_path / "notes.lbug", **options(layers=("entities",))) as memory:
        yield memory


def test_opening_a_new_file_takes_five_statements(memory: Memory, statements: list[str]) -> None:
    assert memory.settings.store.endswith("notes.lbug")
    assert len(statements) <= 5


def test_adding_a_document_takes_few_statements(memory: Memory, statements: list[str], tmp_path: Path) -> None:
    path = tmp_path / "fox.md"
    path.write_text(FOX)
    statements.clear()
    memory.add(path)
    assert len(statements) <= 13


def test_a_question_takes_few_statements(memory: Memory, statements: list[str]) -> None:
    memory.add(FOX, key="fox")
    memory.add(RIVER, key="river")
    memory.search(QUESTION)
    statements.clear()
    assert not memory.ask(QUESTION).abstained
    assert len(statements) <= 12


def test_question_with_points_and_relations_asks_for_each_record_once(tmp_path: Path, statements: list[str]) -> None:
    with Memory(tmp_path / "all.lbug", **options()) as memory:
        memory.add(FOX, key="fox")
        memory.search(QUESTION)
        statements.clear()
        memory.ask(QUESTION)
    assert sum("n.version AS version" in text for text in statements) == 1
    assert sum("'Document' AS name" in text for text in statements) == 1
