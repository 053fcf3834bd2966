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


def test_damaged_store_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    path.write_bytes(b"SQLite format 3\x00" + b"\xff" * 5_000)
    with pytest.raises(DocumentError, match=r"^Expected a store that can be read, got "):
        read_export(path)
