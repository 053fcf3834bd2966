"""``memgraph-rag config``: what holds, and where it came from."""

from __future__ import annotations

from pathlib import Path

import pytest

from memgraph_rag.settings import NAMES

TOML = 'window = 4096\n[neo4j]\nuser = "ann"\n[endpoint]\nbody = {key = "sesame"}\n'


@pytest.fixture
def project(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A working directory with a file of settings and a ``.env``; one variable is set."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("NEO4J_PASSWORD", raising=False)
    monkeypatch.setenv("MEMGRAPH_RAG_DTYPE", "float32")
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "memgraph_rag.toml").write_text(TOML, "utf-8")
    (folder / ".env").write_text("NEO4J_PASSWORD=sesame\n", "utf-8")
    monkeypatch.chdir(folder)
    return folder


def test_config_shows_each_setting_with_its_origin(cli, project: Path) -> None:
    shown = cli("config", "--embedder", "minilm", "--json").stdout
    assert "sesame" not in shown
    rows = {row["setting"]: row for row in cli.json("config", "--embedder", "minilm")}
    assert list(rows) == NAMES
    file, dotenv = str(project / "memgraph_rag.toml"), str(project / ".env")
    expected = {
        "window": (4096, "file", None, file),
        "neo4j.user": ("ann", "file", None, file),
        "endpoint.body": ("***", "file", None, file),
        "neo4j.password": ("***", "variable", "NEO4J_PASSWORD", dotenv),
        "dtype": ("float32", "variable", "MEMGRAPH_RAG_DTYPE", None),
        "embedder": ("minilm", "argument", None, None),
        "namespace": ("default", "default", None, None),
        "endpoint.key": (None, "default", None, None),
    }
    assert {name: tuple(rows[name].values())[1:] for name in expected} == expected


def test_config_is_a_table_for_people(cli, project: Path) -> None:
    shown = cli("config", "--read-only").stdout
    assert "sesame" not in shown
    lines = {line.split()[0]: " ".join(line.split()[1:]) for line in shown.splitlines() if line.strip()}
    assert lines["dtype"] == "float32 variable MEMGRAPH_RAG_DTYPE"
    assert lines["read_only"] == "True argument"
    assert lines["batch_tokens"] == "1024 default"
    assert lines["neo4j.password"].startswith("*** variable NEO4J_PASSWORD in")
    assert f"Project's file: {project / 'memgraph_rag.toml'}" in shown
    assert "memgraph_rag.toml (not there)" in shown


def test_path_of_settings_is_printed_as_it_is(cli, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = project / "[bold]:fire:"
    folder.mkdir()
    (folder / "memgraph_rag.toml").write_text(TOML, "utf-8")
    monkeypatch.chdir(folder)
    assert f"Project's file: {folder / 'memgraph_rag.toml'}\n" in cli("config").stdout


def test_config_opens_no_memory(cli, project: Path, opened) -> None:
    cli("config")
    assert opened == []


@pytest.mark.parametrize("text", ["win dow", "window = 'wide'", "modle = 'x'", "[endpoint]\nkey = 5551"])
def test_unusable_settings_file_is_one_line_and_2(cli, project: Path, text: str) -> None:
    (project / "memgraph_rag.toml").write_text(text, "utf-8")
    for command in ("config", "documents"):
        shown = cli(command, status=2).stderr
        assert shown.startswith("SettingsError: ")
        assert shown.count("\n") == 1
        assert "memgraph_rag.toml" in shown
        assert "5551" not in shown
