"""The command line in this process, on a real Ladybug file, with models that need no weights."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from memgraph_rag.cli.app import app
from memgraph_rag.memory import Memory
from memgraph_rag.testing import FakeEmbedder, FakeLanguageModel, FakeRecognizer

FOX = "Ann found a red fox in the barn. The fox had a broken leg. Ann carried it home."
RAIN = "It rained for nine days. The river rose above the bridge."


class Cli:
    """Runs commands; ``cli("ask", "…").stdout``."""

    def __init__(self) -> None:
        self._runner = CliRunner()

    def __call__(self, *arguments: str | Path, text: str | bytes | None = None, status: int = 0) -> Any:
        result = self._runner.invoke(app, [str(argument) for argument in arguments], input=text, env={"COLUMNS": "200"})
        assert result.exit_code == status, (result.exit_code, result.stdout, result.stderr, result.exception)
        return result

    def json(self, *arguments: str | Path, text: str | None = None, status: int = 0) -> Any:
        """What the command prints with ``--json``."""
        return json.loads(self(*arguments, "--json", text=text, status=status).stdout)


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[dict[str, Any]]:
    """What ``Memory`` is opened with by the command line, which gets one with fakes in it."""
    calls: list[dict[str, Any]] = []

    def open_with_fakes(store: str | None, **options: Any) -> Memory:
        calls.append({"store": store, **options})
        return Memory(
            store,
            **{**options, "model": FakeLanguageModel(), "embedder": FakeEmbedder(), "recognizer": FakeRecognizer()},
        )

    monkeypatch.setattr("memgraph_rag.Memory", open_with_fakes)
    monkeypatch.setenv("MEMGRAPH_RAG_STORE", str(tmp_path / "notes.lbug"))
    monkeypatch.setenv("MEMGRAPH_RAG_CACHE_DIR", str(tmp_path / "cache"))
    return calls


@pytest.fixture
def cli(opened: list[dict[str, Any]]) -> Cli:
    return Cli()


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, str], Path]:
    """Make a file."""

    def write(name: str, text: str) -> Path:
        path = tmp_path / name
        path.write_text(text, "utf-8")
        return path

    return write


@pytest.fixture
def fox(cli: Cli, write: Callable[[str, str], Path]) -> Path:
    """A file that is in the memory under the key "fox"."""
    path = write("fox.txt", FOX)
    cli("add", path, "--key", "fox")
    return path
