"""Stores of other memories, as their released packages wrote them on 27 November 2026."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from memgraph_rag.errors import DocumentError
from memgraph_rag.text.exports.formats import read_export
from memgraph_rag.types import Document, Failure

ADDED, CHANGED = "2026-11-27T22:55:24.039266+00:00", "2026-11-27T22:55:24.099305+00:00"


def read(path: Path) -> tuple[str, dict[str, tuple[str, dict[str, object]]]]:
    """The format, and text and metadata of each document by its key."""
    name, items = read_export(path)
    documents = [item for item in items if isinstance(item, Document)]
    return name, {each.key: (each.text, dict(each.metadata)) for each in documents}


def written(path: Path, *statements: str, rows: tuple[str, list[tuple[object, ...]]]) -> Path:
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)
        connection.executemany(*rows)
    return path


def test_history_of_mem0_gives_what_is_left(tmp_path: Path) -> None:
    """mem0ai 2.2.1: a memory that was changed, and one that was deleted."""
    rows = [
        ("h1", "m1", None, "Ann likes tea", "ADD", ADDED, ADDED, 0, None, "user"),
        ("h2", "m1", "Ann likes tea", "Ann likes green tea", "UPDATE", ADDED, CHANGED, 0, None, "user"),
        ("h3", "m2", None, "Ann hates rain", "ADD", ADDED, ADDED, 0, None, "user"),
        ("h4", "m2", "Ann hates rain", None, "DELETE", ADDED, CHANGED, 1, None, "user"),
    ]
    path = written(
        tmp_path / "history.db",
        "CREATE TABLE history (id TEXT PRIMARY KEY, memory_id TEXT, old_memory TEXT, new_memory TEXT, event TEXT, "
        "created_at DATETIME, updated_at DATETIME, is_deleted INTEGER, actor_id TEXT, role TEXT)",
        "CREATE TABLE messages (id TEXT PRIMARY KEY, session_scope TEXT, role TEXT, content TEXT, name TEXT, "
        "created_at DATETIME)",
        rows=("INSERT INTO history VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows),
    )
    assert read(path) == ("mem0", {"mem0/m1": ("Ann likes green tea", {"format": "mem0", "time": CHANGED})})


def test_get_all_of_mem0_keeps_users(tmp_path: Path) -> None:
    record = {
        "id": "m1",
        "memory": "Ann likes tea",
        "hash": "3c75",
        "metadata": {"topic": "drinks", "user": "eve", "format": "other"},
        "created_at": ADDED,
        "updated_at": CHANGED,
        "user_id": "ann",
        "run_id": "r1",
        "role": "user",
    }
    path = tmp_path / "mem0.json"
    path.write_text(json.dumps({"results": [record]}))
    owner = {"user": "ann", "session": "r1", "topic": "drinks"}
    assert read(path) == ("mem0", {"mem0/m1": ("Ann likes tea", {"format": "mem0", "time": CHANGED, **owner})})


def test_metadata_of_mem0_may_have_any_name(tmp_path: Path) -> None:
    path = tmp_path / "memories.json"
    metadata = {"origin": "web", "text": "a", "record_id": 7, "self": True}
    path.write_text(json.dumps([{"id": "m1", "memory": "Ann likes tea", "metadata": metadata}]))
    assert read(path)[1] == {"mem0/m1": ("Ann likes tea", {"format": "mem0", **metadata})}


def test_items_of_langgraph_keep_their_namespace(tmp_path: Path) -> None:
    """langgraph-checkpoint-sqlite 3.1.2; the first value is a memory of LangMem."""
    rows = [
        ("memories.ann", "1", b'{"kind":"Memory","content":{"content":"Ann likes tea"}}', "2026-11-27 22:55:29"),
        ("memories.ann", "2", b'{"place":"Berlin"}', "2026-11-27 22:55:29"),
        ("memories.ann", "3", b"no JSON", "2026-11-27 22:55:29"),
    ]
    path = written(
        tmp_path / "store.db",
        "CREATE TABLE store_migrations (v INTEGER PRIMARY KEY)",
        "CREATE TABLE store (prefix text NOT NULL, key text NOT NULL, value text NOT NULL, created_at TIMESTAMP, "
        "updated_at TIMESTAMP, expires_at TIMESTAMP, ttl_minutes REAL, PRIMARY KEY (prefix, key))",
        rows=("INSERT INTO store (prefix, key, value, updated_at) VALUES (?, ?, ?, ?)", rows),
    )
    described = {"format": "langgraph", "time": "2026-11-27T22:55:29+00:00", "prefix": "memories.ann"}
    assert read(path) == (
        "langgraph",
        {
            "langgraph/memories.ann/1": ("Ann likes tea", described),
            "langgraph/memories.ann/2": ('{"place": "Berlin"}', described),
        },
    )
    assert sum(isinstance(item, Failure) for item in read_export(path)[1]) == 1


def test_facts_of_graphiti_tell_their_validity(tmp_path: Path) -> None:
    """graphiti-core 0.31.2: ``model_dump`` of an EpisodicNode and of an EntityEdge."""
    episode = {
        "uuid": "e1", "name": "chat 1", "group_id": "ann", "labels": [], "created_at": "2024-05-01T10:00:00Z",
        "source": "message", "source_description": "chat", "content": "Ann: I moved to Berlin.",
        "valid_at": "2024-05-01T10:00:00Z", "entity_edges": [], "episode_metadata": None,
    }  # fmt: skip
    edge = {
        "uuid": "f1", "group_id": "ann", "source_node_uuid": "a", "target_node_uuid": "b",
        "created_at": "2024-05-01T10:00:00Z", "name": "LIVES_IN", "fact": "Ann lives in Paris", "fact_embedding": None,
        "episodes": ["e1"], "expired_at": None, "valid_at": "2023-01-01T00:00:00Z",
        "invalid_at": "2024-05-01T00:00:00Z", "attributes": {},
    }  # fmt: skip
    path = tmp_path / "graphiti.json"
    path.write_text(json.dumps({"episodes": [episode], "edges": [edge]}))

    name, documents = read(path)

    assert name == "graphiti"
    assert documents["graphiti/ann/2024-05"][0] == "chat (2024-05-01T10:00:00Z): Ann: I moved to Berlin."
    text, metadata = documents["graphiti/f1"]
    assert text == "Ann lives in Paris (since 2023-01-01, until 2024-05-01)"
    assert (metadata["time"], metadata["until"]) == ("2023-01-01T00:00:00Z", "2024-05-01T00:00:00Z")


LIGHTRAG_GRAPH = """<?xml version='1.0' encoding='utf-8'?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key id="d12" for="edge" attr.name="created_at" attr.type="long" />
  <key id="d9" for="edge" attr.name="keywords" attr.type="string" />
  <key id="d8" for="edge" attr.name="description" attr.type="string" />
  <key id="d2" for="node" attr.name="description" attr.type="string" />
  <key id="d1" for="node" attr.name="entity_type" attr.type="string" />
  <key id="d0" for="node" attr.name="entity_id" attr.type="string" />
  <graph edgedefault="undirected">
    <node id="Ann"><data key="d0">Ann</data><data key="d1">person</data>
      <data key="d2">Ann lives in Paris.&lt;SEP&gt;Ann keeps a fox.</data></node>
    <node id="Paris"><data key="d0">Paris</data><data key="d2" /></node>
    <edge source="Ann" target="Paris"><data key="d8">Ann has lived in Paris since 2023.</data>
      <data key="d9">residence</data><data key="d12">1795835852</data></edge>
  </graph>
</graphml>"""


def test_folder_of_lightrag_gives_documents_and_descriptions(tmp_path: Path) -> None:
    """lightrag-hku 1.5.7, cut to some fields."""
    full = {"content": "Ann lives in Paris.", "file_path": "ann.txt", "create_time": 1795835852, "_id": "doc-ann"}
    (tmp_path / "kv_store_full_docs.json").write_text(json.dumps({"doc-ann": full}))
    (tmp_path / "graph_chunk_entity_relation.graphml").write_text(LIGHTRAG_GRAPH)
    name, documents = read(tmp_path)
    time = "2026-11-28T03:17:32+00:00"
    assert (name, documents) == (
        "lightrag",
        {
            "lightrag/doc-ann": ("Ann lives in Paris.", {"format": "lightrag", "time": time, "file": "ann.txt"}),
            "lightrag/graph/Ann": (
                "Ann: Ann lives in Paris.\nAnn keeps a fox.",
                {"format": "lightrag", "kind": "person"},
            ),
            "lightrag/graph/Ann - Paris": (
                "Ann - Paris: Ann has lived in Paris since 2023.",
                {"format": "lightrag", "time": time, "kind": "residence"},
            ),
        },
    )


def test_graph_of_lightrag_from_neo4j_is_read_alike(tmp_path: Path) -> None:
    path = tmp_path / "graph.json"
    node = {"entity_id": "Ann", "entity_type": "person", "description": "Ann keeps a fox.", "created_at": 1795835852}
    edge = {"source": "Ann", "target": "Paris", "description": "Ann lives in Paris.", "keywords": "residence"}
    path.write_text(json.dumps({"nodes": [node], "edges": [edge]}))
    name, documents = read(path)
    assert (name, [text for text, _ in documents.values()]) == (
        "lightrag",
        ["Ann: Ann keeps a fox.", "Ann - Paris: Ann lives in Paris."],
    )


# ── Letta ────────────────────────────────────────────────────────────────────────────────────────────────────

LETTA_MESSAGES = [
    {"role": "system", "content": [{"type": "text", "text": "You are Sam."}], "created_at": ADDED},
    {"role": "user", "content": [{"type": "text", "text": '{"type": "login", "last_login": "never"}'}]},
    {"role": "user", "content": [{"type": "text", "text": '{"type": "user_message", "message": "I am Ann."}'}]},
    {"role": "assistant", "content": [], "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "send_message", "arguments": '{"message": "Hi Ann."}'}}]},
    {"role": "tool", "content": [{"type": "text", "text": '{"status": "OK"}'}], "tool_call_id": "c1"},
    {"role": "user", "content": [{"type": "text", "text": "I like tea."}], "created_at": CHANGED},
    {"role": "assistant", "content": [{"type": "text", "text": "Noted."}], "created_at": CHANGED},
]  # fmt: skip
BLOCK = {"label": "human", "value": "Her name is Ann.", "limit": 2000}
LETTA = {
    "today": {
        "agents": [{"id": "agent-0", "name": "Sam", "block_ids": ["block-0"], "messages": LETTA_MESSAGES}],
        "blocks": [{"id": "block-0", **BLOCK}],
        "files": [{"id": "file-0", "file_name": "tea.txt", "content": "Tea is green."}],
    },
    "older": {"name": "Sam", "version": "0.6.47", "core_memory": [BLOCK], "messages": LETTA_MESSAGES},
}


@pytest.mark.parametrize("version", LETTA)
def test_agent_file_of_letta_gives_words_and_blocks(tmp_path: Path, version: str) -> None:
    path = tmp_path / "sam.af"
    path.write_text(json.dumps(LETTA[version]))
    name, documents = read(path)
    said = ["user: I am Ann.", "Sam: Hi Ann.", f"user ({CHANGED}): I like tea.", f"Sam ({CHANGED}): Noted."]
    assert name == "letta"
    assert documents["letta/Sam/messages"][0].strip().split("\n\n") == said
    assert documents["letta/Sam/human"][0] == "Her name is Ann."
    assert (documents.get("letta/file/tea.txt") is not None) == (version == "today")


def test_records_of_neo4j_agent_memory_keep_session_and_validity(tmp_path: Path) -> None:
    """neo4j-agent-memory 0.8.0, whose graph examples/graphs_of_other_memories.py reads in Neo4j 2026.08."""
    path = tmp_path / "memory.json"
    of_ann = {"session_id": "s1", "user_id": "ann"}
    form = {
        "messages": [
            {**of_ann, "id": "m1", "role": "user", "content": "I moved to Paris.", "timestamp": ADDED},
            {**of_ann, "id": "m2", "role": "assistant", "content": "Nice.", "timestamp": CHANGED},
        ],
        "facts": [{"id": "f1", "subject": "Ann", "predicate": "LIVES_IN", "object": "Paris", "valid_from": ADDED}],
        "preferences": [
            {
                "id": "p1",
                "category": "drink",
                "preference": "Likes tea",
                "context": None,
                "created_at": ADDED,
                "user_id": "ann",
            }
        ],
    }
    path.write_text(json.dumps(form))
    name, documents = read(path)
    assert name == "agent-memory"
    said = [f"user ({ADDED}): I moved to Paris.", f"assistant ({CHANGED}): Nice."]
    text, metadata = documents["agent-memory/s1/2026-11"]
    assert (text.strip().split("\n\n"), metadata) == (said, {"format": "agent-memory", "user": "ann", "session": "s1"})
    assert documents["agent-memory/f1"][0] == "Ann LIVES_IN Paris (since 2026-11-27)"
    assert documents["agent-memory/p1"] == (
        "Likes tea",
        {"format": "agent-memory", "time": ADDED, "category": "drink", "user": "ann"},
    )


def test_reading_a_store_leaves_no_file(tmp_path: Path) -> None:
    path = written(
        tmp_path / "history.db",
        "PRAGMA journal_mode = WAL",
        "CREATE TABLE history (memory_id, new_memory, is_deleted, created_at, updated_at)",
        "CREATE TABLE messages (id)",
        rows=("INSERT INTO history VALUES (?, ?, ?, ?, ?)", [("m1", "Ann likes tea", 0, ADDED, ADDED)]),
    )
    assert read(path)[1]["mem0/m1"][0] == "Ann likes tea"
    assert [each.name for each in tmp_path.iterdir()] == ["history.db"]

    with closing(sqlite3.connect(path)) as connection:  # the program that writes it is running
        connection.execute("UPDATE history SET new_memory = 'Ann likes milk'")
        connection.commit()
        assert read(path)[1]["mem0/m1"][0] == "Ann likes milk"
    assert [each.name for each in tmp_path.iterdir()] == ["history.db"]


def test_damaged_store_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    path.write_bytes(b"SQLite format 3\x00" + b"\xff" * 5_000)
    with pytest.raises(DocumentError, match=r"^Expected a store that can be read, got "):
        read_export(path)
