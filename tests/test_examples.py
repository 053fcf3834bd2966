"""The scripts in ``examples`` run from beginning to end, with models that need no weights."""

from __future__ import annotations

import importlib.util
import re
import uuid
from pathlib import Path
from types import ModuleType

import pytest
from memories import fakes
from neo4j import GraphDatabase

from memgraph_rag import Document, Memory
from memgraph_rag.testing import FakeEmbedder, FakeLanguageModel
from memgraph_rag.testing.sample_graphs import DIMENSION, EMBEDDER
from memgraph_rag.text.exports.formats import read_export

EXAMPLES = Path(__file__).parents[1] / "examples"
NAMES = ("book", "chat_memory", "graphs_of_other_memories", "neo4j_graph", "notes_folder", "own_strategy")


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", NAMES)
def test_docstring_says_how_to_run_it_and_how_long_it_takes(name: str) -> None:
    description = load(name).__doc__ or ""
    assert f"python examples/{name}.py" in description
    assert re.search(r"\bseconds?\b", description)


def test_book_prints_citations_of_the_book(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    book = load("book")
    for action in ("added", "unchanged"):
        book.main(["--store", str(tmp_path / "book.lbug")], **fakes())
        printed = capsys.readouterr().out
        assert printed.startswith(f"{action}: ")
        assert "read segment, score " in printed
        text = book.STORY.read_text("utf-8")
        spans = re.findall(r"^  \[(\d+)–(\d+)\] (.*)$", printed, re.MULTILINE)
        assert spans
        assert all(" ".join(text[int(start) : int(end)].split()) == quote for start, end, quote in spans)


def test_notes_are_found_by_project_and_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    for path in load("notes_folder").NOTES.iterdir():
        (notes / path.name).write_bytes(path.read_bytes())
    (notes / "empty.txt").touch()
    load("notes_folder").main([str(notes), "--store", str(tmp_path / "notes.lbug")], **fakes())
    printed = capsys.readouterr().out
    assert printed.count("added: ") == 3
    assert f"left out: {notes / 'empty.txt'} (" in printed
    of_all, since_march_10 = printed.split("\n? ")[1:]
    assert "bridge-meeting.md: " in of_all
    assert "bridge-phone-call.txt: " in since_march_10
    assert "bridge-meeting.md: " not in since_march_10


def test_chat_answers_from_what_was_said_and_not_from_itself(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [
        "My dog Bella is afraid of thunder.",
        "What is Bella afraid of?",
        "What is Bella afraid of?",
        "",
        "Unread.",
    ]
    load("chat_memory").main(["--store", str(tmp_path / "chat.lbug")], lines, **fakes())
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == "(kept)"
    assert printed[1:3] == printed[3:5]
    assert "My dog Bella is afraid of thunder." in printed[2]
    assert "Unread" not in "".join(printed)
    with Memory(tmp_path / "chat.lbug", **fakes()) as memory:
        (record,) = memory.documents()
        assert record.echoes == 2


def test_graph_in_neo4j_is_read_by_cypher(neo4j_server, monkeypatch, capsys: pytest.CaptureFixture[str]) -> None:
    namespace = f"test-{uuid.uuid4().hex}"
    monkeypatch.setenv("NEO4J_USERNAME", neo4j_server.user)
    monkeypatch.setenv("NEO4J_PASSWORD", neo4j_server.password)
    parts = {**fakes(), "embedder": FakeEmbedder(DIMENSION, name=EMBEDDER)}  # the one of all tests on this server
    try:
        load("neo4j_graph").main(["--store", neo4j_server.uri, "--namespace", namespace], **parts)
    finally:
        with GraphDatabase.driver(neo4j_server.uri, auth=(neo4j_server.user, neo4j_server.password)) as driver:
            driver.execute_query("MATCH (n) WHERE n.namespace = $namespace DETACH DELETE n", namespace=namespace)
    printed = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"added: \d+ segments, \d+ mentions", printed[0])
    assert sum(" stands in " in line for line in printed) == 5
    assert sum(" stand together in " in line for line in printed) == 5
    assert any(line.startswith("Peter") for line in printed)


def test_graph_of_agent_memory_is_written_for_the_import(neo4j_server, monkeypatch, tmp_path: Path) -> None:
    user, file = uuid.uuid4().hex, tmp_path / "agent-memory.json"
    monkeypatch.setenv("NEO4J_USERNAME", neo4j_server.user)
    monkeypatch.setenv("NEO4J_PASSWORD", neo4j_server.password)
    made = "CREATE (:User {identifier: $user})-[:HAS_PREFERENCE]->(:Preference {id: $user, preference: 'Likes tea'})"
    with GraphDatabase.driver(neo4j_server.uri, auth=(neo4j_server.user, neo4j_server.password)) as driver:
        driver.execute_query(made, user=user)
        try:
            for memory in ("mem0", "lightrag", "agent-memory"):
                load("graphs_of_other_memories").main([memory, str(file), "--server", neo4j_server.uri])
        finally:
            driver.execute_query("MATCH (user:User {identifier: $user})-->(wish) DETACH DELETE user, wish", user=user)
    _, documents = read_export(file)
    texts = [document.text for document in documents if isinstance(document, Document)]
    assert texts == ["Likes tea"]


def test_own_strategy_reads_the_best_segment_with_its_neighbours(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own_strategy = load("own_strategy")
    options = {**fakes(), "segment_tokens": 60, "model": FakeLanguageModel(yes=[0.1, 0.1, 0.1])}
    own_strategy.main(["--store", str(tmp_path / "book.lbug")], **options)
    printed = capsys.readouterr().out
    assert "(read by best_with_neighbours: 3 segments)" in printed

    options["model"] = FakeLanguageModel(yes=[0.9])
    with Memory(tmp_path / "book.lbug", strategy=own_strategy.BestWithNeighbours(), **options) as memory:
        answer = memory.ask(own_strategy.QUESTION)
        assert len(answer.trace) == 1
        assert answer.stop_reason.value == "answerable"
