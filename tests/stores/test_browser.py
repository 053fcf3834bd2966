"""The saved queries for Neo4j Browser: each runs on a real server, reads only, and finds something."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from contextlib import closing
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from memories import FOX, options
from neo4j import READ_ACCESS, GraphDatabase, Query

from memgraph_rag import Failure, Memory
from memgraph_rag.systems.raptor.clusters import ClustersLayer

DOCS = Path(__file__).parents[2] / "docs"
QUERIES = sorted((DOCS / "browser").glob("*.cypher"))
GUIDE = (DOCS / "inspecting.md").read_text("utf-8")
STYLE = (DOCS / "browser" / "graph.grass").read_text("utf-8")

MET = "Ann met Tom at the old mill. Tom gave Ann a wooden box. Tom Miller saw Ann. The Miller lent Tom a boat."


def params_of(query: Path) -> list[str]:
    (line,) = re.findall(r"^// params: (.+)$", query.read_text("utf-8"), re.MULTILINE)
    return line.split(", ")


@pytest.fixture(scope="module")
def filled(neo4j_server: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, str]]:
    """A server and a namespace with documents, all layers and a kept question in it."""
    namespace = f"browser-{uuid.uuid4().hex}"
    with Memory(
        neo4j_server.uri,
        namespace=namespace,
        neo4j={"user": neo4j_server.user, "password": neo4j_server.password},
        cache_dir=tmp_path_factory.mktemp("cache"),
        **options(layers=("entities", "outline", "context", "points", ClustersLayer(few_nodes=1), "relations")),
    ) as memory:
        memory.add(MET, key="met", title="Ann and Tom")
        memory.add(FOX, key="fox")
        assert all(not isinstance(outcome, Failure) for outcome in memory.deepen(layers=["communities"]))
        memory.ask("Who gave Ann a wooden box?", strategy="pecan", keep_trace=True)
        list(memory.deepen(layers=["library"]))
        yield neo4j_server, namespace
        for record in memory.documents():
            memory.forget(record.id)


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: query.stem)
def test_a_saved_query_finds_something(query: Path, filled: tuple[Any, str]) -> None:
    server, namespace = filled
    known = {"namespace": namespace, "name": "Ann"}
    text = Query(query.read_text("utf-8"))  # pyright: ignore[reportArgumentType]
    with (
        closing(GraphDatabase.driver(server.uri, auth=(server.user, server.password))) as driver,
        driver.session(default_access_mode=READ_ACCESS) as session,
    ):
        rows = [dict(record) for record in session.run(text, {name: known[name] for name in params_of(query)})]
        elsewhere = session.run(text, {**dict.fromkeys(params_of(query), "none"), "name": "Ann"}).data()
    assert rows
    assert elsewhere == []


def test_browser_shows_question_without_read_nodes(neo4j_server: Any, tmp_path: Path) -> None:
    place = {"neo4j": {"user": neo4j_server.user, "password": neo4j_server.password}, "cache_dir": tmp_path}
    namespace = f"browser-{uuid.uuid4().hex}"
    with Memory(neo4j_server.uri, namespace=namespace, **place, **options(layers=())) as memory:
        memory.add(MET, key="met")
        memory.ask("Who gave Ann a wooden box?", keep_trace=True)
        assert memory.add(FOX, key="met").stale_questions == 1
        query = Query((DOCS / "browser" / "09_latest_question.cypher").read_text("utf-8"))  # pyright: ignore[reportArgumentType]
        with (
            closing(GraphDatabase.driver(neo4j_server.uri, auth=(neo4j_server.user, neo4j_server.password))) as driver,
            driver.session(default_access_mode=READ_ACCESS) as session,
        ):
            (record,) = session.run(query, {"namespace": namespace})
        memory.forget("met")
    assert (record["q"]["text"], record["p"], record["s"]) == ("Who gave Ann a wooden box?", None, None)


def test_guide_describes_each_query() -> None:
    assert len(QUERIES) == 15
    for query in QUERIES:
        assert f"browser/{query.name}" in GUIDE
        assert "LIMIT" in query.read_text("utf-8")
        assert params_of(query)[0] == "namespace"


def test_guide_names_existing_pictures_and_files() -> None:
    named = re.findall(r"\]\((?!http)([^)#]+)\)", GUIDE)
    assert [target for target in named if target.endswith(".png")]
    for target in named:
        assert (DOCS / target).is_file(), target


def test_style_has_console_colour_for_every_label() -> None:
    page = (files("memgraph_rag.server") / "assets" / "console" / "console.css").read_text("utf-8")
    colours = dict(re.findall(r"node\.(\w+) \{[^}]*?\bcolor: (#\w+);", STYLE))
    labels = {"document": "Document", "segment": "Segment", "point": "InformationPoint"}
    labels |= {"entity": "Entity", "annotation": "Annotation", "section": "Section", "question": "Question"}
    labels["overview"] = "Overview"
    shown = dict(re.findall(r"--(\w+): (#\w+);", page.partition("@media")[0]))
    assert {label: shown[name].upper() for name, label in labels.items()} == colours
