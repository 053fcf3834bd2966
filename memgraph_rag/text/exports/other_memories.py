"""Read the stores of other memories: mem0, LangGraph (LangMem), Graphiti, Letta, LightRAG and neo4j-agent-memory.

Each record is a document, with its user and time. Source: files that the released packages wrote: mem0ai 2.2.1,
langgraph-checkpoint-sqlite 3.1.2, graphiti-core 0.31.2, lightrag-hku 1.5.7; graphs of lightrag-hku 1.5.7 and
neo4j-agent-memory 0.8.0 in Neo4j 2026.08; Letta's ``schemas/agent_file.py``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

from memgraph_rag.display import show
from memgraph_rag.text.exports.agent_session import as_mapping
from memgraph_rag.text.exports.conversations import (
    chat_document,
    make_key,
    make_message,
    read_all,
    split_by_month,
    utc_time,
)
from memgraph_rag.text.exports.export_files import ExportFiles, read_rows
from memgraph_rag.types import SESSION, USER, Document, Failure, MetadataValue

_SQLITE = b"SQLite format 3\x00"
_OWN_NAMES = (USER, SESSION, "format", "time", "date", "echo")  # of metadata, which a foreign record may not set
_TEXT_FIELDS = ("content", "text", "memory", "data")  # of a record of LangGraph, the first that has a text


def _has_tables(files: ExportFiles, *tables: str) -> bool:
    if len(files.names) != 1 or not files.head(files.names[0]).startswith(_SQLITE):
        return False
    rows = read_rows(files.path, "SELECT name FROM sqlite_master WHERE type = 'table'")
    return set(tables) <= {row["name"] for row in rows}


def _parse_json(files: ExportFiles) -> Any:
    """Return the content of a single JSON file; None for anything else."""
    return files.json(files.names[0]) if len(files.names) == 1 and files.names[0].endswith((".json", ".af")) else None


def _has_lists(content: Any, *names: str) -> bool:
    return isinstance(content, dict) and all(isinstance(content.get(name), list) for name in names)


def _document(origin: str, record_id: object, text: object, time: object, /, **metadata: object) -> Iterator[Document]:
    """Yield a record as a document; nothing without a text."""
    if not isinstance(record_id, str) or not record_id:
        raise ValueError(f"a record without an id: {show(record_id)}")
    if isinstance(text, str) and text.strip():
        kept: dict[str, MetadataValue] = {"format": origin}
        kept |= {"time": time} if isinstance(time, str) and time else {}
        kept |= {name: value for name, value in metadata.items() if isinstance(value, (str, int, float, bool))}
        yield Document(text, make_key(origin, record_id), metadata=kept)


# ── mem0 ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _mem0_records(files: ExportFiles) -> list[Any]:
    content = _parse_json(files)
    listed = content.get("results") if isinstance(content, dict) else content
    return listed if isinstance(listed, list) else []


def is_mem0(files: ExportFiles) -> bool:
    """Return whether the file is mem0's history database, or a result of its ``get_all`` as JSON."""
    records = _mem0_records(files)
    return _has_tables(files, "history", "messages") or (
        bool(records) and isinstance(records[0], dict) and "memory" in records[0]
    )


def read_mem0(files: ExportFiles) -> Iterator[Document | Failure]:
    """Yield a document for each memory of mem0. Its history database knows no users; deleted memories are left out."""
    if _has_tables(files, "history"):
        rows = read_rows(files.path, "SELECT * FROM history ORDER BY rowid")
        last = {row["memory_id"]: row for row in rows}
        kept = [
            {**row, "id": row["memory_id"], "memory": row["new_memory"]}
            for row in last.values()
            if not row["is_deleted"]
        ]
        yield from read_all(kept, _convert_mem0, "mem0 memory")
    else:
        yield from read_all(_mem0_records(files), _convert_mem0, "mem0 memory")


def _convert_mem0(record: Mapping[str, Any]) -> Iterator[Document]:
    given = {name: value for name, value in (record.get("metadata") or {}).items() if name not in _OWN_NAMES}
    owner = {USER: record.get("user_id")} | ({SESSION: record.get("run_id")} if record.get("user_id") else {})
    agent = {"agent": record.get("agent_id")}
    time = record.get("updated_at") or record.get("created_at")
    yield from _document("mem0", record["id"], record["memory"], time, **{**given, **agent, **owner})


# ── LangGraph and LangMem ────────────────────────────────────────────────────────────────────────────────────────


def is_langgraph(files: ExportFiles) -> bool:
    """Return whether the file is a ``SqliteStore`` of LangGraph."""
    return _has_tables(files, "store", "store_migrations")


def read_langgraph(files: ExportFiles) -> Iterator[Document | Failure]:
    """Yield a document for each item of LangGraph's store; its namespace is in the metadata as "prefix"."""
    rows = read_rows(files.path, "SELECT prefix, key, value, updated_at FROM store ORDER BY prefix, key")
    yield from read_all(rows, _convert_item, "langgraph item")


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
    """Return whether the file is an object with lists of Graphiti's episodes and edges."""
    return _has_lists(_parse_json(files), "episodes", "edges")


def read_graphiti(files: ExportFiles) -> Iterator[Document | Failure]:
    """Yield a document for each month of a group's episodes in Graphiti, and one for each fact, with its validity."""
    content = _parse_json(files)
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for episode in content["episodes"]:
        if isinstance(episode, dict):
            groups.setdefault(str(episode.get("group_id") or "default"), []).append(episode)
    yield from read_all(groups.items(), lambda group: _convert_episodes(*group), "graphiti group")
    yield from read_all(content["edges"], _convert_edge, "graphiti edge")


def _convert_episodes(group: str, episodes: Iterable[Mapping[str, Any]]) -> Iterator[Document]:
    in_order = sorted(episodes, key=lambda episode: str(episode["valid_at"]))
    messages = [
        make_message(episode.get("source_description") or episode.get("name"), episode["content"], episode["valid_at"])
        for episode in in_order
    ]
    yield from split_by_month("graphiti", group, group, messages)


def _convert_edge(edge: Mapping[str, Any], origin: str = "graphiti") -> Iterator[Document]:
    """Yield a fact; its validity is in its text, so that a reader sees it, and in its metadata."""
    since, until = edge.get("valid_at"), edge.get("invalid_at") or edge.get("expired_at")
    days = [f"{word} {str(time)[:10]}" for word, time in (("since", since), ("until", until)) if time]
    text = f"{edge['fact']} ({', '.join(days)})" if days else edge["fact"]
    more = {"since": since, "until": until, "group": edge.get("group_id")}
    yield from _document(origin, edge["uuid"], text, since or edge.get("created_at"), **more)


# ── Letta ────────────────────────────────────────────────────────────────────────────────────────────────────────


def is_letta(files: ExportFiles) -> bool:
    """Return whether the file is an agent file (``.af``) of Letta, of one agent (older) or of several."""
    content = _parse_json(files)
    return _has_lists(content, "agents", "blocks") or _has_lists(content, "core_memory", "messages")


def read_letta(files: ExportFiles) -> Iterator[Document | Failure]:
    """Yield a document for each agent's messages, each block of core memory, and each file.

    Ids in an agent file are numbers within it, so a key is made of the agent's name.
    """
    content = _parse_json(files)
    blocks = {block.get("id"): block for block in content.get("blocks") or ()}
    for agent in content.get("agents") or [content]:
        name = agent.get("name") or "agent"
        own = agent.get("core_memory") or [blocks[key] for key in agent.get("block_ids") or () if key in blocks]
        yield from read_all([(name, agent)], lambda pair: _convert_agent(*pair), "letta agent")
        yield from read_all([(name, block) for block in own], lambda pair: _convert_block(*pair), "letta block")
    yield from read_all(content.get("files") or (), _convert_file, "letta file")


def _convert_agent(name: str, agent: Mapping[str, Any]) -> Iterator[Document]:
    messages = [
        make_message(name if message["role"] == "assistant" else message["role"], text, message.get("created_at"))
        for message in agent.get("messages") or ()
        for text in _read_letta_message(message)
    ]
    yield from chat_document("letta", f"{name}/messages", name, messages)


def _convert_block(name: str, block: Mapping[str, Any]) -> Iterator[Document]:
    yield from _document("letta", f"{name}/{block['label']}", block["value"], block.get("updated_at"), agent=name)


def _convert_file(file: Mapping[str, Any]) -> Iterator[Document]:
    yield from _document("letta", f"file/{file['file_name']}", file.get("content"), file.get("created_at"))


def _read_letta_message(message: Mapping[str, Any]) -> Iterator[Any]:
    """Yield what a person or the agent said: texts, and what the agent sends by its tool ``send_message``.

    A message of a person may be JSON with its kind; one of the system (heartbeat, login) is left out.
    """
    if message["role"] not in ("user", "assistant"):
        return
    content = message.get("content") or message.get("text") or ()
    parts = [content] if isinstance(content, str) else [part.get("text") for part in content]
    for part in filter(None, parts):
        form = as_mapping(part)
        if not form or form.get("type") == "user_message":
            yield form.get("message") if form else part
    for call in message.get("tool_calls") or ():
        function = call.get("function") or {}
        if function.get("name") == "send_message":
            yield as_mapping(function.get("arguments")).get("message")


# ── LightRAG ─────────────────────────────────────────────────────────────────────────────────────────────────────

_DOCUMENTS, _GRAPH = "kv_store_full_docs.json", "graph_chunk_entity_relation.graphml"
_GRAPHML = "{http://graphml.graphdrawing.org/xmlns}"


def is_lightrag(files: ExportFiles) -> bool:
    """Return whether the files are a working folder of LightRAG, or its graph as JSON with "nodes" and "edges"."""
    return bool(files.find_files(_DOCUMENTS) or files.find_files(_GRAPH)) or _has_lists(
        _parse_json(files), "nodes", "edges"
    )


def read_lightrag(files: ExportFiles) -> Iterator[Document | Failure]:
    """Yield LightRAG's documents, and a document for each description of an entity or relation that its model wrote."""
    content = _parse_json(files)
    if _has_lists(content, "nodes", "edges"):
        nodes, edges = content["nodes"], content["edges"]
    else:
        for name in files.find_files(_DOCUMENTS):
            yield from read_all(files.json(name).items(), lambda pair: _convert_document(*pair), "lightrag document")
        graphs = [_read_graphml(files.read(name)) for name in files.find_files(_GRAPH)]
        nodes, edges = ([item for graph in graphs for item in graph[place]] for place in (0, 1))
    yield from read_all(nodes, _convert_described, "lightrag entity")
    yield from read_all(edges, _convert_described, "lightrag relation")


def _convert_document(document_id: str, record: Mapping[str, Any]) -> Iterator[Document]:
    yield from _document(
        "lightrag", document_id, record["content"], utc_time(record.get("create_time")), file=record.get("file_path")
    )


def _convert_described(item: Mapping[str, Any]) -> Iterator[Document]:
    name = item.get("entity_id") or f"{item['source']} - {item['target']}"
    described = "\n".join((item.get("description") or "").split("<SEP>"))
    more = {"kind": item.get("entity_type") or item.get("keywords"), "file": item.get("file_path")}
    yield from _document(
        "lightrag", f"graph/{name}", described and f"{name}: {described}", utc_time(item.get("created_at")), **more
    )


def _read_graphml(content: bytes) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the nodes and the edges of a GraphML file, each as its data by name."""
    root = ElementTree.fromstring(content)  # noqa: S314 - expat limits entities; the file is of the person's own store
    names = {key.get("id"): key.get("attr.name") for key in root.iter(f"{_GRAPHML}key")}
    nodes, edges = (
        [
            {**item.attrib, **{names[data.get("key")]: data.text for data in item.iter(f"{_GRAPHML}data")}}
            for item in root.iter(f"{_GRAPHML}{kind}")
        ]
        for kind in ("node", "edge")
    )
    return nodes, edges


# ── neo4j-agent-memory ───────────────────────────────────────────────────────────────────────────────────────────


def is_agent_memory(files: ExportFiles) -> bool:
    """Return whether the file has the lists that examples/graphs_of_other_memories.py writes of neo4j-agent-memory."""
    return _has_lists(_parse_json(files), "messages", "facts", "preferences")


def read_agent_memory(files: ExportFiles) -> Iterator[Document | Failure]:
    """Yield a document of neo4j-agent-memory for each month of a conversation, each fact, and each preference."""
    content = _parse_json(files)
    sessions: dict[str, list[Mapping[str, Any]]] = {}
    for message in content["messages"]:
        sessions.setdefault(str(message.get("session_id")), []).append(message)
    yield from read_all(sessions.items(), lambda pair: _convert_session(*pair), "agent-memory conversation")
    for fact in content["facts"]:
        named = {"uuid": fact.get("id"), "valid_at": fact.get("valid_from"), "invalid_at": fact.get("valid_until")}
        words = " ".join(str(fact.get(name) or "") for name in ("subject", "predicate", "object"))
        yield from read_all([{**fact, **named, "fact": words}], _convert_agent_fact, "agent-memory fact")
    yield from read_all(content["preferences"], _convert_preference, "agent-memory preference")


def _convert_session(session_id: str, messages: Sequence[Mapping[str, Any]]) -> Iterator[Document]:
    said = [make_message(message["role"], message["content"], message.get("timestamp")) for message in messages]
    user = messages[0].get("user_id")
    owner = {USER: user, SESSION: session_id} if isinstance(user, str) and user else {}
    for document in split_by_month("agent-memory", session_id, session_id, said):
        yield replace(document, metadata={**document.metadata, **owner})


def _convert_agent_fact(fact: Mapping[str, Any]) -> Iterator[Document]:
    yield from _convert_edge(fact, origin="agent-memory")


def _convert_preference(preference: Mapping[str, Any]) -> Iterator[Document]:
    more = {name: preference.get(name) for name in ("category", "context")} | {USER: preference.get("user_id")}
    yield from _document(
        "agent-memory", preference["id"], preference["preference"], preference.get("created_at"), **more
    )
