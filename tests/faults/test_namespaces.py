"""Namespaces never leak: two with the same documents, and whatever one can be asked or told is tried on the other.

The invariant: nothing that one namespace answers has an id or a word of the other's, and nothing that is written in
one changes the other. Every statement is tried with the other's ids, so that one that is added tomorrow is tried too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from all_strategies import STRATEGIES
from fault_world import KEYS, TEXTS, Place, World, open_journaled
from lanes import ONE_A_FAMILY
from neo4j.exceptions import Neo4jError
from past_the_store import run_cypher
from statements import ABOUT_THE_STORE, DATA, dialect_of
from tables import table

from memgraph_rag import Memory
from memgraph_rag.errors import DocumentNotFound, MemgraphRagError, QuestionNotFound
from memgraph_rag.stores.shared import queries, rows
from memgraph_rag.stores.shared.queries import Statement
from memgraph_rag.types import text_hash

STATEMENTS = [statement for statement in DATA if statement.name not in ABOUT_THE_STORE]

MARK = "Zanzibar"
"""A word that only the other namespace's texts hold."""

QUESTION = "Who built a wooden box in Zanzibar?"


@pytest.fixture
def both(place: Place) -> Iterator[tuple[tuple[Memory, Place], tuple[Memory, Place]]]:
    """Mine and yours: the same keys and texts, but for one word in yours."""
    places = place, replace(place, namespace=f"{place.namespace}-yours")
    mine, yours = (open_journaled(own_place)[0] for own_place in places)
    with mine, yours:
        for key in KEYS:
            mine.add(TEXTS[key, 1], key=key, title=key)
            yours.add(f"{TEXTS[key, 1]} {MARK}.", key=key, title=key)
        yours.ask(QUESTION, keep_trace=True)
        yield (mine, places[0]), (yours, places[1])
        for memory in (mine, yours):
            for record in memory.documents():
                memory.forget(record.id)


def ids_by_kind(memory: Memory) -> dict[str, list[str]]:
    """Return the ids of everything in a namespace, by kind."""
    store = memory._parts.store
    documents = store.document_ids()
    segments = [segment.id for document_id in documents for segment in store.list_segments(document_id)]
    tops = [node.id for node in store.top_nodes(documents)]
    indexed = store.list_indexed_segments(since=-1)
    entities = sorted({entity for segment in indexed for entity in (*segment.entities, *segment.titles)})
    questions = [question.id for question in store.questions()]
    ids = {"document": documents, "segment": segments, "point": tops, "entity": entities, "question": questions}
    assert all(ids.values())
    return ids


def ids_of(memory: Memory) -> list[str]:
    """Return the ids of everything in a namespace."""
    return [node_id for ids in ids_by_kind(memory).values() for node_id in ids]


def one_id_of_each_kind(memory: Memory) -> list[str]:
    """Return an id of each kind: ids of one kind are refused alike, and each try costs a call."""
    return [ids[0] for ids in ids_by_kind(memory).values()]


def leaks(answer: object, foreign: list[str]) -> list[str]:
    """What of the other's is in an answer."""
    shown = repr(answer)
    return [text for text in (*foreign, MARK) if text in shown]


def public_calls(memory: Memory, foreign: list[str], strategies: Iterable[str]) -> dict[str, Callable[[], object]]:
    """Every public method that reads, asked for what only the other has."""
    calls: dict[str, Callable[[], object]] = {
        "documents": memory.documents,
        "status": memory.status,
        "questions": memory.questions,
        "kept": lambda: [memory.questions(question) for question in (QUESTION, *foreign)],
        "text": lambda: [memory.get(key).text for key in KEYS],
        "around": lambda: [memory.around(key) for key in (*KEYS, "Ann", "Tom")],
    }
    for mode in ("graph", "hybrid", "keywords", "vector"):
        calls[f"search, {mode}"] = lambda mode=mode: memory.search(QUESTION, mode=mode, k=99)
    for strategy in strategies:
        calls[f"ask, {strategy}"] = lambda strategy=strategy: _without_question(memory, strategy)
        calls[f"stream, {strategy}"] = lambda strategy=strategy: list(memory.stream("Who built?", strategy=strategy))
    return calls


def _without_question(memory: Memory, strategy: str) -> object:
    return replace(memory.ask(QUESTION, strategy=strategy), question="")


def test_public_methods_return_nothing_of_another_namespace(both: Any, engine: str) -> None:
    (mine, _), (yours, _) = both
    foreign = ids_of(yours)
    strategies = STRATEGIES if engine == "ladybug" else sorted(ONE_A_FAMILY)  # others ask by the same statements
    assert leaks(yours.search(QUESTION), foreign), "else this could find nothing"
    for name, call in public_calls(mine, foreign, strategies).items():
        assert leaks(call(), foreign) == [], name
    for name in one_id_of_each_kind(yours):
        for refused in (
            lambda name=name: mine.forget(name),
            lambda name=name: mine.ask("Who?", documents=[name]),
            lambda name=name: mine.search("fox", documents=[name]),
            lambda name=name: list(mine.deepen([name])),
            lambda name=name: mine.around(name),
            lambda name=name: mine.get(name),
            lambda name=name: mine.documents(documents=[name]),
        ):
            with pytest.raises(DocumentNotFound):
                refused()
        with pytest.raises(QuestionNotFound):
            mine.forget(question=name)
    for name in (MARK, MARK[:-1], QUESTION):
        with pytest.raises(DocumentNotFound) as raised:
            mine.around(name)
        assert leaks(raised.value.near, foreign) == [], "what is near is looked for at home"


def test_write_changes_no_other_namespace(both: Any) -> None:
    (mine, _), (yours, your_place) = both
    world, version = World(your_place), yours._parts.store.version()
    before = world.graph(yours)
    mine.add(f"{TEXTS['tom', 2]} {MARK} too.", key="tom", title="tom")
    list(mine.add_many([MARK, TEXTS["mill", 2]]))
    list(mine.deepen())
    mine.ask(QUESTION, keep_trace=True)
    mine.ask("Who?", keep_trace=True)
    mine.forget(question=QUESTION)
    for record in mine.documents():
        mine.forget(record.id)
        assert world.graph(yours) == before
    assert not any(mine.status()["counts"].values())
    assert yours._parts.store.version() == version
    assert {evidence.document_key for evidence in yours.search(QUESTION, k=99)} == set(KEYS)


# ── every statement ──────────────────────────────────────────────────────────────────────────────────────────


def values(statement: Statement, namespace: str, foreign: list[str], your_namespace: str) -> dict[str, Any]:
    """Parameters of one namespace, with all else from the other."""
    known: dict[str, Any] = {
        "namespace": namespace,
        "namespace_id": rows.namespace_id(namespace),
        **dict.fromkeys(("k", "width", "limit"), 999),
        "since": -1,
        "answered_at": 1,
        "vector": [1.0] + [0.0] * 7,
        "query": f'+namespace_id:{rows.namespace_id(your_namespace)}^0 +words:("{MARK.casefold()}" "fox")',
        "layers": ["points"],
        "part": MARK.casefold(),
        "sources": [""],
        "text_hashes": [text_hash(f"{TEXTS[key, 1]} {MARK}.") for key in KEYS],
    }
    return {
        name: known.get(name, foreign if name.endswith(("ids", "names")) else foreign[0]) for name in statement.params
    }


def rows_of(foreign: str) -> dict[str, Any]:
    """A row that names one thing of the other's wherever a row can name something."""
    texts = ("name", "text", "title", "key", "source", "sha256", "added_at", "model", "recognizer", "speaker", "time")
    more = ("surface", "kind", "normal", "description", "asked_at", "answer", "strategy", "via", "reason")
    numbers = ("index", "level", "start", "end", "tokens", "characters", "segments", "order", "nodes", "seconds")
    counts = ("prompt_tokens", "generated_tokens", "model_calls")
    ids = ("id", "source_id", "target_id", "document_id", "segment_id", "entity_id", "question_id", "node_id")
    return {
        **dict.fromkeys((*texts, *more), "taken over"),
        **dict.fromkeys((*numbers, *counts), 7),
        **dict.fromkeys(ids, foreign),
        **dict.fromkeys(("weight", "score", "attention", "p_yes"), 0.5),
        **dict.fromkeys(("stop_reason", "stop"), "exhausted"),
        "abstained": False,
        "citations": "[]",
        "sources": "{}",
        "dropped": [foreign],
        "metadata": "{}",
        "surfaces": "[]",
        "layers": ["points"],
        "kinds": ["NAME"],
        "origins": [foreign],
        "echo": False,
        "echoes": 0,
        "text_sha256": "0",
        "language": "en",
        "words": "taken over",
        "embedding": [1.0] + [0.0] * 7,
    }


def test_statements_touch_no_other_namespace(both: Any, engine: str, place: Place) -> None:
    (mine, _), (yours, your_place) = both
    foreign, of_kinds, world = ids_of(yours), one_id_of_each_kind(yours), World(your_place)
    before = world.graph(yours)
    names = {re.sub(r"/(?:ladybug|neo4j\w*)/", "/", statement.name) for statement in STATEMENTS}
    tried = 0
    for name in sorted(names):
        try:
            statement = queries.statement(name, dialect_of(engine))
        except FileNotFoundError:  # of the other engine
            continue
        for foreign_id in of_kinds if "rows" in statement.params else foreign[:1]:
            given = values(statement, mine.namespace, [foreign_id, *foreign], yours.namespace)
            if "rows" in given:
                given["rows"] = _as_rows(statement, engine, rows_of(foreign_id))
            with suppress(RuntimeError, MemgraphRagError, Neo4jError):  # an id that is taken, for one
                answer = _run(mine, engine, place, statement, given)
                if name == "read/find_near_names":  # which says of each given row, by its id, what is near
                    answer = [row.get("near", row) for row in answer]
                assert leaks(answer, [*foreign, yours.namespace + "'"]) == [], name
                tried += 1
        if name.startswith("write/") and engine == "ladybug":  # a server takes 0.3 s to read its graph
            assert world.graph(yours) == before, name
    assert world.graph(yours) == before
    assert tried > len(names) // 2
    for record in mine.documents():
        with suppress(DocumentNotFound):
            mine.forget(record.id)


def _as_rows(statement: Statement, engine: str, row: dict[str, Any]) -> Any:
    if engine != "ladybug" or "LOAD FROM" not in statement.text:
        return [row]
    row = {**row, "embedding": pa.scalar(row["embedding"], pa.list_(pa.float32(), 8))}
    return pa.table({name: pa.array([value]) for name, value in row.items()})


def _run(memory: Memory, engine: str, place: Place, statement: Statement, given: dict[str, Any]) -> Any:
    if engine == "ladybug":
        file: Any = memory._parts.store._file  # type: ignore[attr-defined]
        return file.transaction(lambda execute: execute(statement.text, given))
    return run_cypher(place.address, statement.text, **given)


# ── what the files say ───────────────────────────────────────────────────────────────────────────────────────

PATTERN = re.compile(r"^(?:OPTIONAL )?MATCH (.+)$")
NODE = re.compile(r"\((\w*)(?::\w+)?(?: ?\{([^}]*)\})?\)")

EDGE = re.compile(r"\[(\w+):")


@table("statement", STATEMENTS)
def test_every_pattern_is_tied_to_the_namespace(statement: Statement) -> None:
    """Each MATCH holds a node or an edge of which the namespace is asked for, or a node that was found so before."""
    for part in re.split(r"UNION ALL", statement.text):
        bound = set(re.findall(r"\b(\w+)\.namespace = \$namespace\b", part))
        patterns = [match[1] for line in part.splitlines() if (match := PATTERN.match(line))]
        known = set(bound)
        for pattern in patterns:
            nodes = NODE.findall(pattern)
            edges = set(EDGE.findall(pattern))
            tied = bool(edges & bound) or any(name in known or "$namespace_id" in fields for name, fields in nodes)
            assert tied, f"{statement.name}: {pattern}"
            known |= {name for name, _ in nodes if name}
        for created in re.findall(r"CREATE .*?\(:\w+ \{(.*?)\}\)", part, re.S):
            assert "namespace: $namespace" in created, statement.name
        if "YIELD node" in part:
            assert "node" in bound, statement.name
