"""The Cypher files: headers that tell the truth, no file unused, and every one planned by the real engines."""

from __future__ import annotations

import re
from contextlib import closing
from pathlib import Path
from typing import Any

import ladybug
import pyarrow as pa
import pytest
from neo4j import GraphDatabase, Query
from statements import ABOUT_THE_STORE, DATA, STATEMENTS, dialect_of
from tables import table

from memgraph_rag.stores import open_store
from memgraph_rag.stores.shared import queries
from memgraph_rag.stores.shared.queries import DIALECTS, Dialect, Statement
from memgraph_rag.testing.sample_graphs import DIMENSION, EMBEDDER, MakeStore

STORES = Path(queries.__file__).parents[1]
SHARED = ("shared", "layer_rows")
"""The rooms whose statements both engines serve, beside the room of each."""

VALUES: dict[str, Any] = {
    "after": "",
    "as_of": 1,
    "characters": 1,
    "dimension": DIMENSION,
    "document_ids": ["d"],
    "echoes": 0,
    "entity_ids": ["e"],
    "entity_mass": 0.5,
    "everywhere": True,
    "k": 3,
    "language": "en",
    "layers": ["points"],
    "least": 0.5,
    "most": 9,
    "name": "segment_words",
    "names": ["d"],
    "node_ids": ["n"],
    "places": [0],
    "question_ids": ["q"],
    "relation_ids": ["r"],
    "segment_ids": ["s"],
    "segments": 1,
    "since": -1,
    "sources": ["/a"],
    "text_hashes": ["0"],
    "timeout_s": 1,
    "title_ids": ["e"],
    "vector": [1.0] + [0.0] * (DIMENSION - 1),
    "version": 1,
    "width": 9,
}

ROW: dict[str, Any] = {
    "id": "s", "name": "s", "text": "s", "index": 0, "level": 1, "start": 0, "end": 1, "tokens": 1,
    "source_id": "a", "target_id": "b", "previous_id": "", "weight": 0.5, "embedding": VALUES["vector"],
    "document_id": "d", "title": "s", "key": "k", "source": "", "sha256": "0", "before": "1", "added_at": "",
    "characters": 1,
    "segments": 1, "layers": ["points"], "model": "", "metadata": "{}", "recognizer": "", "speaker": "", "time": "",
    "segment_id": "s", "entity_id": "e", "surface": "S", "surfaces": "[]", "kind": "NAME", "kinds": ["NAME"],
        "normal": "s", "description": "s", "score": 0.9, "echo": False, "echoes": 0,
    "text_sha256": "0",
    "asked_at": "", "answer": "", "abstained": False, "stop_reason": "", "strategy": "", "nodes": 1,
    "prompt_tokens": 1, "generated_tokens": 1, "model_calls": 1, "seconds": 0.5, "citations": "[]",
    "question_id": "q", "node_id": "n", "order": 1, "attention": 0.5, "p_yes": 0.5, "sources": "{}", "via": "",
    "reason": "", "stop": "", "dropped": ["n"], "documents": ["d"], "changes": "[]", "warnings": "[]", "lost": 1,
    "short": "s", "language": "en", "words": "s",
    "layer": "own", "properties": "{}",
    "parent_id": "", "is_abstract": False, "parts": 1, "entities": ["e"], "findings": "[]", "rating": 1.5,
}  # fmt: skip


NOT_FOR: dict[Dialect, set[str]] = {"neo4j_5": {"read/find_near_neighbours"}}
"""What a dialect has no text of, because the store asks another way there."""


def names_used(dialect: Dialect) -> list[str]:
    """Statements named in the modules that serve this dialect's engine, in order."""
    rooms = (*SHARED, dialect.split("_")[0])
    sources = [path.read_text("utf-8") for room in rooms for path in sorted((STORES / room).glob("*.py"))]
    named = {name for source in sources for name in re.findall(r'"((?:read|write)/\w+)"', source)}
    return sorted(named - NOT_FOR.get(dialect, set()))


def read_header(statement: Statement) -> tuple[str, set[str]]:
    """Return the purpose of a statement and the columns that it returns, as its file tells people."""
    lines = (queries.folder() / f"{statement.name}.cypher").read_text("utf-8").splitlines()
    header = [line.removeprefix("// ") for line in lines if line.startswith("//")]
    fields = dict(line.split(": ", 1) for line in header if re.match("(params|returns|needs): ", line))
    purpose = " ".join(line for line in header if not re.match("(params|returns|needs): ", line))
    assert list(fields) == ["params", "returns", "needs"]
    return purpose, set(fields["returns"].split(", ")) - {"-"}


@table("statement", STATEMENTS)
def test_header_matches_statement(statement: Statement) -> None:
    body = re.sub(r"//.*|'[^']*'", "", statement.text)

    purpose, returned = read_header(statement)
    assert set(statement.params) == set(re.findall(r"\$(\w+)", body))
    assert purpose.endswith(".")
    if "RETURN" in body and not statement.name.startswith("schema/"):
        last = body.rpartition("RETURN")[2].partition("ORDER BY")[0].partition("LIMIT")[0]
        columns = re.findall(r"\bAS `?(\w+)`?", last) or last.split()
        assert returned == set(columns)
    else:
        assert not returned


@table("statement", STATEMENTS)
def test_statement_keeps_style(statement: Statement) -> None:
    keywords = (
        r"(?:optional match|match|where|return|order by|limit|unwind|create|merge|set|detach delete|with|call|yield)"
    )

    assert not re.search(rf"(?m)^\s*{keywords}\b", statement.text), "keywords in upper case"
    text = statement.text.replace("\nOPTIONAL MATCH ", "\nMATCH ").replace(" STARTS WITH ", " ")
    text = re.sub(r"(?m)^ON (CREATE|MATCH) SET$", "", text)
    assert not re.search(rf"(?m)\S.* {keywords.upper()} ", text), "a line for each clause"
    assert ";" not in statement.text, "one statement a file"


@table("statement", DATA)
def test_statement_binds_its_namespace(statement: Statement) -> None:
    bound = {"namespace", "namespace_id"} & set(statement.params)
    assert bound or statement.name in ABOUT_THE_STORE


@table("statement", DATA)
def test_listing_statement_is_ordered(statement: Statement) -> None:
    purpose, returned = read_header(statement)
    if statement.name.startswith("read/") and returned and "count" not in statement.name:
        ordered = any(words in statement.text for words in ("ORDER BY", "LIMIT 1", "SHOW"))
        assert ordered or "The reader sorts" in purpose


def test_every_statement_file_is_used() -> None:
    used = {queries.statement(name, dialect).name for dialect in DIALECTS for name in names_used(dialect)}
    assert {statement.name for statement in DATA} == used


@table("dialect", DIALECTS)
def test_migrations_are_numbered_without_gaps(dialect: Dialect) -> None:
    steps = queries.migrations(dialect)
    assert list(steps) == list(range(1, len(steps) + 1))


def test_both_versions_of_neo4j_come_to_one_schema_version() -> None:
    assert max(queries.migrations("neo4j_5")) == max(queries.migrations("neo4j_2026"))


def test_the_header_is_read() -> None:
    statement = queries.statement("read/list_successors", "ladybug")

    assert read_header(statement) == (
        "The SUMMARIZES edges that leave these nodes.", {"source_id", "target_id", "weight"}
    )  # fmt: skip
    assert statement.params == ("namespace", "node_ids")
    assert not statement.text.startswith("//")
    assert statement.bind({"namespace": "n", "other": 1}, {"node_ids": []}) == {"namespace": "n", "node_ids": []}


def test_a_table_is_loaded_by_the_text_that_unwinds_a_list() -> None:
    statement = queries.table_statement("write/embed_entities")

    assert statement.text.splitlines()[:2] == ["LOAD FROM $rows", "MATCH (e:Entity {id: id})"]
    assert statement.params == queries.statement("write/embed_entities", "neo4j_5").params
    assert queries.table_statement("write/create_segments") == queries.statement("write/create_segments", "ladybug")


def test_one_document_is_found_by_its_key() -> None:
    statement = queries.single_document_statement("read/count_by_document")

    assert statement is not None
    assert "MATCH (d:Document {id: $document_ids})\n" in statement.text
    assert "p.document_id = $document_ids" in statement.text
    assert "UNWIND" not in statement.text
    assert queries.single_document_statement("read/find_documents") is None


def test_every_statement_is_planned(engine: str, make_store: MakeStore, place: dict[str, Any]) -> None:
    make_store().close()
    if engine == "ladybug":
        with ladybug.Database(str(place["address"])) as database, ladybug.Connection(database) as connection:
            own = [queries.statement(name, "ladybug") for name in names_used("ladybug")]
            for_many = [queries.table_statement(name) for name in names_used("ladybug")]
            for statement in dict.fromkeys((*own, *for_many)):
                result = connection.execute(f"EXPLAIN {statement.text}", parameters(statement, "ladybug"))
                assert isinstance(result, ladybug.QueryResult)
                assert result.get_num_tuples()
                result.close()
            for statement in filter(None, map(queries.single_document_statement, names_used("ladybug"))):
                given = parameters(statement, "ladybug") | {"document_ids": "d"}
                result = connection.execute(f"EXPLAIN {statement.text}", given)
                assert isinstance(result, ladybug.QueryResult)
                with result:
                    assert "PRIMARY_KEY" in str(result.get_all())
        return
    dialect = dialect_of(engine)
    with GraphDatabase.driver(place["address"], auth=(place["user"], place["password"])) as driver:
        for name in names_used(dialect):
            statement = queries.statement(name, dialect)
            query = Query(explain(statement.text))  # pyright: ignore[reportArgumentType]
            driver.execute_query(query, parameters(statement, dialect), database_="neo4j")


@pytest.mark.parametrize("name", ["read/find_neighbours", "read/find_neighbours_of", "read/score_naming"])
def test_cosines_come_before_the_walk(tmp_path: Path, name: str) -> None:
    """Taken behind the join each costs twice as much; without the mask the engine reads all that there are."""
    path, statement = tmp_path / "notes.lbug", queries.statement(name, "ladybug")
    with closing(open_store(path, namespace="n")) as store:
        store.migrate(embedder=EMBEDDER, dimension=DIMENSION)
    with ladybug.Database(str(path)) as database, ladybug.Connection(database) as connection:
        result = connection.execute(f"EXPLAIN {statement.text}", parameters(statement, "ladybug"))
        assert isinstance(result, ladybug.QueryResult)
        with result:
            plan = str(result.get_next())

    assert "Operators: SCAN_NODE_TABLE[0]" in plan
    join, *others = (match.start() for match in re.finditer("HASH_JOIN_PROBE", plan))
    assert not others
    assert join < plan.index("IS_NOT_NULL(score)")


def explain(text: str) -> str:
    """The language version comes before EXPLAIN."""
    version = "CYPHER 25\n"
    return f"CYPHER 25 EXPLAIN {text.removeprefix(version)}" if text.startswith(version) else f"EXPLAIN {text}"


def parameters(statement: Statement, dialect: Dialect) -> dict[str, Any]:
    values: dict[str, Any] = {name: VALUES.get(name, "x") for name in statement.params}
    if "rows" in values:
        values["rows"] = [ROW]
        if dialect == "ladybug" and "LOAD FROM" in statement.text:
            row = {**ROW, "embedding": pa.scalar(ROW["embedding"], pa.list_(pa.float32(), DIMENSION))}
            values["rows"] = pa.table({name: pa.array([value]) for name, value in row.items()})
    return values
