"""The start pages, followed word by word: their programs run in order and print what the pages show."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import uuid
from contextlib import closing, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from neo4j import GraphDatabase, Query
from pages import blocks, run_program

from memgraph_rag import Memory
from memgraph_rag.testing import FakeEmbedder
from memgraph_rag.testing.sample_graphs import DIMENSION, EMBEDDER

ROOT = Path(__file__).parents[1]
START = ROOT / "docs" / "start"
COMMAND = re.compile(r"^\$ (.+)$", re.MULTILINE)


def page(name: str) -> str:
    return (START / f"{name}.md").read_text("utf-8")


def run(programs: list[str], name: str) -> str:
    """Run the programs of a page one after another; return what they print."""
    out = StringIO()
    names: dict[str, Any] = {"__name__": "__main__"}
    with redirect_stdout(out):
        for program in programs:
            run_program(program, f"docs/start/{name}.md", names)
    return out.getvalue()


def test_each_start_page_is_followed_by_a_test() -> None:
    assert sorted(path.stem for path in START.glob("*.md")) == ["browser", "chat", "mcp", "python"]


def test_start_pages_install_from_the_clone() -> None:
    commands = {path.stem: COMMAND.findall(path.read_text("utf-8")) for path in START.glob("*.md")}
    assert all(any(re.search(r'pip install "\.\[', command) for command in found) for found in commands.values())


def test_chat_prints_what_its_page_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MEMGRAPH_RAG_MODEL", "qwen2.5-coder-0.5b-instruct")
    assert run(blocks(page("chat"), "python"), "chat") == "".join(blocks(page("chat"), "text"))


@pytest.mark.full("asks a real model as README's program does")
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_python_prints_what_its_page_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compare all but the words of an answer, which this smaller model chooses by itself."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MEMGRAPH_RAG_MODEL", "qwen2.5-coder-0.5b-instruct")
    *programs, asking = blocks(page("python"), "python")
    *shown, answered = blocks(page("python"), "text")
    assert run(programs, "python") == "".join(shown)
    text, *citations, abstained = run([asking], "python").splitlines()
    assert text
    assert citations == answered.splitlines()[1:-1]
    assert abstained == "True"


def put_command_on_the_path(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write a `memgraph-rag` that runs this checkout."""
    command = folder / "memgraph-rag"
    program = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from memgraph_rag.cli import main; sys.exit(main())"
    command.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -c {shlex.quote(program)} "$@"\n')
    command.chmod(0o700)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")


@pytest.mark.full("starts a server as tests/server/test_stdio.py does")
@pytest.mark.slow
def test_mcp_client_prints_what_its_page_shows(tmp_path: Path) -> None:
    """Run in a process of its own, because the client starts an event loop."""
    with pytest.MonkeyPatch.context() as patch:
        put_command_on_the_path(tmp_path, patch)
        (program,) = blocks(page("mcp"), "python")
        (tmp_path / "client.py").write_text(program, "utf-8")
        # The client hands on few variables: the model is named where the server looks for settings, too.
        (tmp_path / "memgraph_rag.toml").write_text('model = "qwen2.5-coder-0.5b-instruct"\n')
        done = subprocess.run([sys.executable, "client.py"], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout == "".join(blocks(page("mcp"), "text")), done.stderr


@pytest.mark.full("runs commands in processes of their own")
@pytest.mark.slow
def test_commands_of_browser_print_what_its_page_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run them on a file: the server of the tests has another embedder."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples", ignore=shutil.ignore_patterns("__pycache__"))
    put_command_on_the_path(tmp_path, monkeypatch)
    monkeypatch.setenv("MEMGRAPH_RAG_MODEL", "qwen2.5-coder-0.5b-instruct")
    commands = [line for line in COMMAND.findall(page("browser")) if "--store" in line]
    printed = ""
    for command in commands:
        arguments = shlex.split(command.replace("neo4j://localhost:7687", "graph.lbug"))
        printed += subprocess.run(arguments, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert len(commands) == 2
    unwrapped = " ".join(printed.split())
    assert [said for said in ("5 Segment", "50 MENTIONS", "He lost one of his shoes") if said not in unwrapped] == []


@pytest.mark.full("adds the tale to a server with the real recognizer")
def test_queries_of_browser_find_what_its_page_shows(neo4j_server: Any, tmp_path: Path) -> None:
    namespace = f"start-{uuid.uuid4().hex}"
    text = page("browser")
    drawing, counting = (query.replace("'default'", "$namespace") for query in blocks(text, "cypher"))
    login = {"user": neo4j_server.user, "password": neo4j_server.password}
    parts = {"model": "qwen2.5-coder-0.5b-instruct", "embedder": FakeEmbedder(DIMENSION, name=EMBEDDER)}
    with closing(GraphDatabase.driver(neo4j_server.uri, auth=(neo4j_server.user, neo4j_server.password))) as driver:
        try:
            with Memory(neo4j_server.uri, namespace=namespace, neo4j=login, **parts) as memory:
                memory.add(ROOT / "examples" / "peter_rabbit.txt", key="tale")
            drawn = driver.execute_query(Query(drawing), namespace=namespace).records  # pyright: ignore[reportArgumentType]
            counted = driver.execute_query(Query(counting), namespace=namespace).records  # pyright: ignore[reportArgumentType]
        finally:
            driver.execute_query("MATCH (n) WHERE n.namespace = $namespace DETACH DELETE n", namespace=namespace)
    assert len(drawn) == 50
    shown = re.findall(r"^\| [\w-]+ \| \d+ \|$", text, re.MULTILINE)
    assert [f"| {name} | {segments} |" for name, segments in counted] == shown
