"""Stores of the schema before there were entities, brought up to date with what they hold."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from past_the_store import run_cypher
from statements import SCRIPTS, dialect_of

from memgraph_rag.stores import open_store
from memgraph_rag.stores.ladybug.file import open_file
from memgraph_rag.stores.shared import queries, rows
from memgraph_rag.testing.sample_graphs import (
    DIMENSION,
    EMBEDDER,
    MakeStore,
    entity_id,
    make_graph,
    make_question,
    make_relations,
)
from memgraph_rag.types import Action, text_hash

OLD = {"ladybug": 8, "neo4j": 10}
"""The last step of each schema that knew no entity."""

DOCUMENT = """
CREATE (:Namespace {id: $namespace_id, namespace: $namespace, name: $namespace, version: 0})
CREATE (d:Document {id: $document_id, namespace: $namespace, name: 'a', key: 'a', title: '', source: '', sha256: '0',
  added_at: '2026-01-01T00:00:00+00:00', characters: 47, segments: 1, layers: $layers, model: '', metadata: '{}'})
CREATE (d)-[:HAS_SEGMENT]->(:Segment {id: $segment_id, namespace: $namespace, name: 's', document_id: $document_id,
  title: 'a', `index`: 0, text: 'Die alten Häuser am Hafen gehören den Fischern.',
  `start`: 0, `end`: 47, tokens: 9, embedding: $vector})
"""


@pytest.fixture
def old_store(
    engine: str, make_store: MakeStore, place: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> dict[str, str]:
    """What a database of the old schema holds: the ids of its document and segment, and their namespace."""
    held = {"namespace": f"old-{engine}", "document_id": f"document-{engine}", "segment_id": f"segment-{engine}"}
    parameters = {
        "namespace_id": rows.namespace_id(held["namespace"]),
        **held,
        "layers": ["points"],
        "vector": [1.0] + [0.0] * (DIMENSION - 1),
    }
    if engine == "ladybug":
        steps = {number: step for number, step in queries.migrations("ladybug").items() if number <= OLD["ladybug"]}
        with monkeypatch.context() as patch:
            patch.setattr(queries, "migrations", lambda _: steps)
            make_store(held["namespace"]).close()
        file = open_file(str(place["address"]))
        file.transaction(lambda execute: execute(DOCUMENT, parameters))
        file.close()
        return held
    make_store(held["namespace"])
    for number, step in queries.migrations(dialect_of(engine)).items():
        made = re.search(r"CREATE (CONSTRAINT|\w* ?INDEX) (\w+)", step.text)
        if number > OLD["neo4j"] and made:
            kind = "CONSTRAINT" if made[1] == "CONSTRAINT" else "INDEX"
            run_cypher(place, f"DROP {kind} {made[2]} IF EXISTS")
    run_cypher(place, "MATCH (s:Schema) SET s.version = $version", version=OLD["neo4j"])
    run_cypher(place, DOCUMENT, **parameters)
    run_cypher(place, "MATCH (s:Segment {id: $segment_id}) SET s.namespace_id = $namespace_id", **parameters)
    return held


def test_migration_keeps_content_of_old_store(
    old_store: dict[str, str], engine: str, make_store: MakeStore, place: dict[str, Any]
) -> None:
    store = make_store(old_store["namespace"], migrated=False)
    assert store.schema["version"] == OLD["ladybug" if engine == "ladybug" else "neo4j"]

    store.migrate(embedder=EMBEDDER, dimension=DIMENSION)

    assert store.schema["version"] > OLD["neo4j"]
    assert store.document_ids() == [old_store["document_id"]]
    assert store.documents()[0].recognizer == store.recognizer() == ""
    assert store.documents()[0].language == "de"
    assert [hit.node_id for hit in store.find_matching("Haus", k=3)] == [old_store["segment_id"]]
    assert [(segment.speaker, segment.time) for segment in store.list_segments(old_store["document_id"])] == [("", "")]
    segments = store.list_indexed_segments(since=-1)
    assert [(segment.id, segment.speaker, segment.time, segment.entities, segment.titles) for segment in segments] == [
        (old_store["segment_id"], "", "2026-01-01T00:00:00+00:00", (), ())
    ]
    assert store.list_indexed_segments(since=0) == []
    assert (
        store.find_fingerprints(text_hashes=["", text_hash("Die alten Häuser am Hafen gehören den Fischern.")]) == []
    ), "not known"
    graph = make_graph(old_store["namespace"], title="Alice")
    assert store.write(graph).action is Action.ADDED
    assert store.entities([entity_id(old_store["namespace"], "alice")])[0].kinds == ("NAME", "title")
    assert {segment.document_id for segment in store.list_indexed_segments(since=0)} == {graph.document.id}
    if engine == "ladybug":
        file = open_file(str(place["address"]))
        stored = file.read("MATCH (d:Document {id: $id}) RETURN d.version AS version", {"id": old_store["document_id"]})
        file.close()
        assert stored == [{"version": 0}]
    else:
        names = {row["name"] for row in run_cypher(place, "SHOW INDEXES YIELD name")}
        assert {"entity_id", "document_version", "entity_embedding", "relation_document"} <= names
        assert ("relation_embedding" in names) == (engine == "neo4j-2026")
    store.write(make_relations(old_store["namespace"], make_graph(old_store["namespace"], "b", ("Alice met Bob.",))))
    assert len(store.expand([entity_id(old_store["namespace"], "alice")], vector=None, k=3)) == 1
    store.forget(old_store["document_id"])
    assert store.statistics()["Document"] == 2


def test_a_second_migration_changes_nothing(old_store: dict[str, str], make_store: MakeStore) -> None:
    store = make_store(old_store["namespace"])
    before = (store.documents(), store.list_indexed_segments(since=-1)[0].id, store.schema)

    store.migrate(embedder=EMBEDDER, dimension=DIMENSION)

    assert (store.documents(), store.list_indexed_segments(since=-1)[0].id, store.schema) == before


ADDED_SINCE = (28, 29, 30, 32, 33, 34, 46, 48)
"""The steps of Ladybug's schema without which nothing can be written: hashes, annotations, layers, sections, marks,
languages.
"""

REMOVALS = (
    *("DROP TABLE CONTAINS", "DROP TABLE Section", "DROP TABLE ANNOTATES", "DROP TABLE Annotation"),
    *("ALTER TABLE Document DROP text_sha256", "ALTER TABLE InformationPoint DROP layer"),
    "ALTER TABLE Namespace DROP mark",
    "ALTER TABLE Document DROP language",
)


@contextmanager
def later_columns_and_tables(store: Any, engine: str, steps: Mapping[int, queries.Statement]) -> Iterator[None]:
    """For a while an old schema has what every write needs now."""
    is_embedded = engine == "ladybug"
    for number in ADDED_SINCE if is_embedded else ():
        store._file.transaction(lambda execute, number=number: execute(steps[number].text, {}))
    yield
    for text in REMOVALS if is_embedded else ():
        store._file.transaction(lambda execute, text=text: execute(text, {}))


BEFORE_QUESTIONS = {"ladybug": 21, "neo4j": 23}
"""The last step of each schema that kept no questions."""


def test_a_store_with_documents_takes_questions(
    engine: str, make_store: MakeStore, place: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    old = BEFORE_QUESTIONS["ladybug" if engine == "ladybug" else "neo4j"]
    steps = queries.migrations(dialect_of(engine))
    graph = make_graph(namespace := f"questions-{engine}", levels=(1,))
    with monkeypatch.context() as patch:
        if engine == "ladybug":
            patch.setattr(queries, "migrations", lambda _: {n: step for n, step in steps.items() if n <= old})
        store = make_store(namespace)
        with later_columns_and_tables(store, engine, steps):
            store.write(graph)
        store.close()
    if engine != "ladybug":
        run_cypher(place, "DROP CONSTRAINT question_id")
        run_cypher(place, "DROP INDEX question_time")
        run_cypher(place, "MATCH (p:InformationPoint {namespace: $namespace}) REMOVE p.layer", namespace=namespace)
        run_cypher(place, "MATCH (s:Schema) SET s.version = $version", version=old)
    store = make_store(namespace, migrated=False)
    assert store.schema["version"] == old

    store.migrate(embedder=EMBEDDER, dimension=DIMENSION)

    assert store.schema["version"] == max(steps)
    assert (store.documents(), store.list_segments(graph.document.id)) == ([graph.document], list(graph.segments))
    assert store.questions() == []
    assert store.top_nodes([graph.document.id]) == list(graph.points)
    question = make_question(namespace, [*graph.segments, *graph.points])
    store.keep(question)
    assert store.questions() == [question]
    if engine != "ladybug":
        names = {row["name"] for row in run_cypher(place, "SHOW INDEXES YIELD name")}
        assert {"question_id", "question_time"} <= names
    store.forget(graph.document.id)
    assert store.questions() == []


BEFORE_CHANGES = {"ladybug": 23, "neo4j": 26}
"""The last step of each schema whose questions did not say on which documents they rest."""

QUESTIONS = """
MATCH (s:Segment {id: $segment_id})
CREATE (:Question {id: $id, namespace: $namespace, name: 'q', text: 'Who?', asked_at: '2', answer: 'Alice.',
  abstained: false, stop_reason: 'answerable', strategy: 'walk', model: 'small', nodes: 1, prompt_tokens: 1,
  generated_tokens: 1, model_calls: 1, seconds: 0.1, citations: '[]'})-[:READ {`order`: 1, score: 0.5, attention: 0.5,
  p_yes: 0.5, sources: '{}', via: '', reason: '', stop: '', dropped: []}]->(s)
"""


def test_migration_adds_documents_to_questions(
    engine: str, make_store: MakeStore, place: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    old = BEFORE_CHANGES["ladybug" if engine == "ladybug" else "neo4j"]
    steps = queries.migrations(dialect_of(engine))
    graphs = [make_graph(namespace := f"changes-{engine}", key) for key in ("one", "other")]
    with monkeypatch.context() as patch:
        if engine == "ladybug":
            patch.setattr(queries, "migrations", lambda _: {n: step for n, step in steps.items() if n <= old})
        store = make_store(namespace)
        with later_columns_and_tables(store, engine, steps):
            store.write_many(graphs)
        store.close()
    file = open_file(str(place["address"])) if engine == "ladybug" else None
    for graph in graphs:
        parameters = {"id": graph.document.id[::-1], "namespace": namespace, "segment_id": graph.segments[0].id}
        if file:
            file.transaction(lambda execute, parameters=parameters: execute(QUESTIONS, parameters))
        else:
            run_cypher(place, QUESTIONS, **parameters)
    if file:
        file.close()
    else:
        run_cypher(place, "MATCH (s:Schema) SET s.version = $version", version=old)
    store = make_store(namespace, migrated=False)
    assert store.schema["version"] == old

    store.migrate(embedder=EMBEDDER, dimension=DIMENSION)

    assert store.schema["version"] == max(steps)
    assert [(question.answer.text, question.is_stale) for question in store.questions()] == [("Alice.", False)] * 2
    assert not store.flaws()
    assert store.write(make_graph(namespace, "one", ("Bob slept.",))).stale_questions == 1
    assert sorted(question.is_stale for question in store.questions()) == [False, True]
    assert [store.forget(graph.document.id).forgotten_questions for graph in graphs] == [1, 1]
    assert store.questions() == []


BEFORE_RELATIONS = {"ladybug": 15, "neo4j": 16}
"""The last step of each schema that knew entities, but no relations."""


def test_a_store_with_entities_takes_relations(
    engine: str, make_store: MakeStore, place: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    old = BEFORE_RELATIONS["ladybug" if engine == "ladybug" else "neo4j"]
    steps = queries.migrations(dialect_of(engine))
    namespace = f"entities-{engine}"
    if engine == "ladybug":
        with monkeypatch.context() as patch:
            patch.setattr(queries, "migrations", lambda _: {n: step for n, step in steps.items() if n <= old})
            make_store(namespace).close()
        file = open_file(str(place["address"]))
        file.transaction(lambda execute: execute(ENTITY, {"namespace": namespace, "id": entity_id(namespace, "alice")}))
        file.close()
    else:
        make_store(namespace)
        for number, step in steps.items():
            made = re.search(r"CREATE (?:VECTOR )?INDEX (\w+)", step.text)
            if number > old and made:
                run_cypher(place, f"DROP INDEX {made[1]} IF EXISTS")
        run_cypher(place, "MATCH (s:Schema) SET s.version = $version", version=old)
        run_cypher(place, ENTITY, namespace=namespace, id=entity_id(namespace, "alice"))
    store = make_store(namespace, migrated=False)
    assert store.schema["version"] == old

    store.migrate(embedder=EMBEDDER, dimension=DIMENSION)

    assert store.schema["version"] == max(steps)
    assert store.entities([entity_id(namespace, "alice")])[0].name == "Alice"
    graph = make_relations(namespace, make_graph(namespace, "b", ("Alice met Bob.",)))
    assert store.write(graph).counts["RELATES_TO"] == 1
    nearest = store.expand(list(graph.ends), vector=graph.relation_embeddings[0], k=1)
    assert nearest[0].relation == graph.relations[0]
    store.forget(graph.document.id)
    assert (store.statistics()["Entity"], store.statistics()["RELATES_TO"]) == (1, 0)


ENTITY = """
CREATE (:Entity {id: $id, namespace: $namespace, normal: 'alice', name: 'Alice', kinds: ['NAME'],
  surfaces: '[["Alice", "NAME", 1]]'})
"""


BEFORE_ENDS = 25
"""The last step of Neo4j's schema whose relations did not say their ends."""

OLD_INDEX = {
    "neo4j_5": "CREATE VECTOR INDEX relation_embedding FOR ()-[r:RELATES_TO]-() ON (r.embedding)",
    "neo4j_2026": "CYPHER 25 CREATE VECTOR INDEX relation_embedding FOR ()-[r:RELATES_TO]-() ON r.embedding "
    "WITH [r.namespace]",
}


@pytest.mark.parametrize("engine", ["neo4j-5.26", "neo4j-2026"], indirect=True)
def test_migration_adds_ends_to_relations(engine: str, make_store: MakeStore, place: dict[str, Any]) -> None:
    dialect = dialect_of(engine)
    store = make_store(namespace := f"ends-{engine}")
    graph = make_relations(namespace, make_graph(namespace, "b", ("Alice met Bob.", "Bob met Eve.")))
    store.write(graph)
    run_cypher(place, "MATCH ()-[r:RELATES_TO]->() REMOVE r.source_id, r.target_id")
    run_cypher(place, "DROP INDEX relation_embedding IF EXISTS")
    config = f"`vector.dimensions`: {DIMENSION}, `vector.similarity_function`: 'cosine'"
    exact = "`vector.quantization.enabled`: false"
    run_cypher(place, f"{OLD_INDEX[dialect]} OPTIONS {{indexConfig: {{{config}, {exact}}}}}")
    run_cypher(place, "MATCH (s:Schema) SET s.version = $version", version=BEFORE_ENDS)

    make_store(namespace)

    ends = run_cypher(place, ENDS, namespace=namespace)
    assert {(row["id"], row["source_id"], row["target_id"]) for row in ends} == {
        (relation.id, relation.source_id, relation.target_id) for relation in graph.relations
    }
    steps = [step for step in queries.migrations(dialect).values() if step.created_index == "relation_embedding"]
    properties = [steps[0].indexed_properties] if dialect == "neo4j_2026" else []  # Neo4j 5 keeps none
    indexes = run_cypher(place, "SHOW VECTOR INDEXES YIELD name, properties, state WHERE name = 'relation_embedding'")
    assert [(row["properties"], row["state"]) for row in indexes] == [(listed, "ONLINE") for listed in properties]
    neighbours = store.expand([entity_id(namespace, "bob")], vector=graph.relation_embeddings[0], k=1)
    assert [neighbour.relation for neighbour in neighbours] == [graph.relations[0]]


ENDS = """
MATCH ()-[r:RELATES_TO]->()
WHERE r.namespace = $namespace
RETURN r.id AS id, r.source_id AS source_id, r.target_id AS target_id
"""


BEFORE_ANSWERS_WENT = {"ladybug": 46, "neo4j": 39}
"""The last step of each schema that kept the sentences of all answers."""

ANSWER = "CREATE (:Answer {id: 'a', namespace: $namespace, name: 'answer', origins: ['d'], answered_at: 1})"


def run_in_file(place: dict[str, Any], text: str, /, **parameters: Any) -> list[dict[str, Any]]:
    file = open_file(str(place["address"]))
    try:
        return file.transaction(lambda execute: execute(text, parameters))
    finally:
        file.close()


def test_stored_answers_are_removed(engine: str, make_store: MakeStore, place: dict[str, Any]) -> None:
    run = partial(run_in_file if engine == "ladybug" else run_cypher, place)
    store = make_store(namespace := f"answers-{engine}")
    store.write(graph := make_graph(namespace))
    made = "CREATE CONSTRAINT answer_id FOR (n:Answer) REQUIRE n.id IS UNIQUE"
    if engine == "ladybug":
        made = queries.migrations("ladybug")[21].text
        run("ALTER TABLE Document DROP language")
    old = BEFORE_ANSWERS_WENT["ladybug" if engine == "ladybug" else "neo4j"]
    run(made)
    run(ANSWER, namespace=namespace)
    run("MATCH (s:Schema) SET s.version = $version", version=old)

    store = make_store(namespace)

    assert store.schema["version"] == max(queries.migrations(dialect_of(engine)))
    assert store.documents() == [graph.document]
    if engine == "ladybug":
        assert "Answer" not in {row["name"] for row in run("CALL show_tables() RETURN name")}
    else:
        assert run("MATCH (a:Answer) RETURN a.id AS id") == []
        names = {row["name"] for row in run("SHOW INDEXES YIELD name")}
        assert not names & {"answer_id", "answer_time"}


def schema_of(path: Path) -> dict[str, tuple[set[tuple[object, ...]], list[tuple[object, ...]]]]:
    """Of each table its columns, with types, defaults and keys, and for edges what it joins."""
    file = open_file(str(path))
    try:
        tables = {row["name"]: row["type"] for row in file.read("CALL show_tables() RETURN name, type", {})}
        return {
            name: (
                {tuple(row.values())[1:] for row in file.read(f"CALL table_info('{name}') RETURN *", {})},
                [tuple(row.values()) for row in file.read(f"CALL show_connection('{name}') RETURN *", {})]
                if kind == "REL"
                else [],
            )
            for name, kind in tables.items()
        }
    finally:
        file.close()


def test_new_file_has_the_schema_of_a_migrated_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = queries.migrations("ladybug")
    old, new = tmp_path / "old.lbug", tmp_path / "new.lbug"
    with monkeypatch.context() as patch:
        patch.setattr(queries, "migrations", lambda _: {1: steps[1]})
        with closing(open_store(old, namespace="n")) as store:
            store.migrate(embedder=EMBEDDER, dimension=DIMENSION)
    for path in (old, new):
        with closing(open_store(path, namespace="n")) as store:
            assert store.schema.get("version") == (1 if path == old else None)
            store.migrate(embedder=EMBEDDER, dimension=DIMENSION)
            assert store.schema["version"] == max(steps)
    assert schema_of(new) == schema_of(old)


def test_newest_schema_has_a_script() -> None:
    assert [path.stem for path in SCRIPTS] == [f"{max(queries.migrations('ladybug')):03}"]
