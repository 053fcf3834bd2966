"""Read the stores of other memories: mem0, LangGraph's ``SqliteStore`` (LangMem), and Graphiti's nodes as JSON.

Each record is a document, with its user and time. Source: files that the released packages wrote: mem0ai 2.2.1,
langgraph-checkpoint-sqlite 3.1.2, graphiti-core 0.31.2.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from memgraph_rag.display import show
from memgraph_rag.text.exports.conversations import by_month, each, make_message
from memgraph_rag.text.exports.export_files import ExportFiles, read_rows
from memgraph_rag.types import SESSION, USER, Document, Failure, MetadataValue

__all__ = ["is_graphiti", "is_langgraph", "is_mem0", "read_graphiti", "read_langgraph", "read_mem0"]

_SQLITE = b"SQLite format 3\x00"
_OWN_NAMES = (USER, SESSION, "format", "time", "date", "echo")  # of metadata, which a foreign record may not set
_TEXT_FIELDS = ("content", "text", "memory", "data")  # of a record of LangGraph, the first that has a text


def _has_tables(files: ExportFiles, *tables: str) -> bool:
    if len(files.names) != 1 or not files.head(files.names[0]).startswith(_SQLITE):
        return False
    rows = read_rows(files.path, "SELECT name FROM sqlite_master WHERE type = 'table'")
    return set(tables) <= {row["name"] for row in rows}


def _json_of(files: ExportFiles) -> Any:
    """Return the content of a single JSON file; None for anything else."""
    return files.json(files.names[0]) if len(files.names) == 1 and files.names[0].endswith(".json") else None


def _document(origin: str, record_id: object, text: object, time: object, **metadata: object) -> Iterator[Document]:
    """Yield a record as a document; nothing without a text."""
    if not isinstance(record_id, str) or not record_id:
        raise ValueError(f"a record without an id: {show(record_id)}")
    if isinstance(text, str) and text.strip():
        kept: dict[str, MetadataValue] = {"format": origin}
        kept |= {"time": time} if isinstance(time, str) and time else {}
        kept |= {name: value for name, value in metadata.items() if isinstance(value, (str, int, float, bool))}
        yield Document(text, f"{origin}/{record_id}", metadata=kept)


# ── mem0 ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _mem0_records(files: ExportFiles) -> list[Any]:
    content = _json_of(files)
    listed = content.get("results") if isinstance(content, dict) else content
    return listed if isinstance(listed, list) else []


def is_mem0(files: ExportFiles) -> bool:
    """Whether the file is mem0's history database, or what its ``get_all`` returned, as JSON."""
    records = _mem0_records(files)
    return _has_tables(files, "history", "messages") or (
        bool(records) and isinstance(records[0], dict) and "memory" in records[0]
    )


def read_mem0(files: ExportFiles) -> Iterator[Document | Failure]:
    """Yield a document for each memory. The history database knows no users; a deleted memory is left out."""
    if _has_tables(files, "history"):
        rows = read_rows(files.path, "SELECT * FROM history ORDER BY rowid")
        last = {row["memory_id"]: row for row in rows}
        kept = [
            {**row, "id": row["memory_id"], "memory": row["new_memory"]}
            for row in last.values()
            if not row["is_deleted"]
        ]
        yield from each(kept, _convert_mem0, "mem0 memory")
    else:
        yield from each(_mem0_records(files), _convert_mem0, "mem0 memory")


def _convert_mem0(record: Mapping[str, Any]) -> Iterator[Document]:
    given = {name: value for name, value in (record.get("metadata") or {}).items() if name not in _OWN_NAMES}
    owner = {USER: record.get("user_id")} | ({SESSION: record.get("run_id")} if record.get("user_id") else {})
    agent = {"agent": record.get("agent_id")}
    time = record.get("updated_at") or record.get("created_at")
    yield from _document("mem0", record["id"], record["memory"], time, **{**given, **agent, **owner})


# ── LangGraph and LangMem ────────────────────────────────────────────────────────────────────────────────────────


def is_langgraph(files: ExportFiles) -> bool:
    """Whether the file is a ``SqliteStore`` of LangGraph."""
    return _has_tables(files, "store", "store_migrations")


def read_langgraph(files: ExportFiles) -> Iterator[Document | Failure]:
    """Yield a document for each item; its namespace is in the metadata."""
    rows = read_rows(files.path, "SELECT prefix, key, value, updated_at FROM store ORDER BY prefix, key")
    yield from each(rows, _convert_item, "langgraph item")


def _convert_item(row: Mapping[str, Any]) -> Iterator[Document]:
    value = json.loads(row["value"])
    time = str(row["updated_at"]).replace(" ", "T") + "+00:00"  # SQLite's CURRENT_TIMESTAMP is UTC
    name = f"{row['prefix']}/{row['key']}"
    yield from _document("langgraph", name, _find_text(value), time, prefix=row["prefix"])


def _find_text(value: Any) -> str:
    """Return the text of an item: of the first known field, or else the whole item as JSON."""
    inner = value
    while isinstance(inner, dict):
        name = next((name for name in _TEXT_FIELDS if name in inner), None)
        if name is None:
            return json.dumps(value, ensure_ascii=False)
        inner = inner[name]
    return inner if isinstance(inner, str) else json.dumps(value, ensure_ascii=False)


# ── Graphiti ─────────────────────────────────────────────────────────────────────────────────────────────────────


def is_graphiti(files: ExportFiles) -> bool:
    """Whether the file is an object with lists of Graphiti's episodes and edges."""
    content = _json_of(files)
    return (
        isinstance(content, dict)
        and isinstance(content.get("episodes"), list)
        and isinstance(content.get("edges"), list)
    )


def read_graphiti(files: ExportFiles) -> Iterator[Document | Failure]:
    """Yield a document for each month of a group's episodes, and one for each fact that holds, or held, at a time."""
    content = _json_of(files)
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for episode in content["episodes"]:
        if isinstance(episode, dict):
            groups.setdefault(str(episode.get("group_id") or "default"), []).append(episode)
    yield from each(groups.items(), lambda group: _convert_episodes(*group), "graphiti group")
    yield from each(content["edges"], _convert_edge, "graphiti edge")


def _convert_episodes(group: str, episodes: Iterable[Mapping[str, Any]]) -> Iterator[Document]:
    in_order = sorted(episodes, key=lambda episode: str(episode["valid_at"]))
    messages = [
        make_message(episode.get("source_description") or episode.get("name"), episode["content"], episode["valid_at"])
        for episode in in_order
    ]
    yield from by_month("graphiti", group, group, messages)


def _convert_edge(edge: Mapping[str, Any]) -> Iterator[Document]:
    """Yield a fact; its validity is in its text, so that a reader sees it, and in its metadata."""
    since, until = edge.get("valid_at"), edge.get("invalid_at") or edge.get("expired_at")
    days = [f"{word} {str(time)[:10]}" for word, time in (("since", since), ("until", until)) if time]
    text = f"{edge['fact']} ({', '.join(days)})" if days else edge["fact"]
    more = {"since": since, "until": until, "group": edge.get("group_id")}
    yield from _document("graphiti", edge["uuid"], text, since or edge.get("created_at"), **more)
