"""Read ChatGPT's export: ``conversations.json``, where each conversation is a tree of messages.

Invariant: only the branch that ends at ``current_node`` is read: answers that were regenerated or edited away are not.
Source: the shape as documented by mitkury/chatgpt-export-parser and TomzxCode/llm-conversations-viewer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from memgraph_rag.text.exports.conversations import append_attachments, chat_document, make_message, read_all, utc_time
from memgraph_rag.text.exports.export_files import ExportFiles
from memgraph_rag.types import Document, Failure, Message

_FILE = re.compile(r"conversations(?:-\d+)?\.json")  # large exports are cut into numbered files
_SPEAKERS = {"user", "assistant"}


def _names(files: ExportFiles) -> list[str]:
    return [name for name in files.names if _FILE.fullmatch(PurePosixPath(name).name)] or (
        files.names if len(files.names) == 1 and files.names[0].endswith(".json") else []
    )


def matches(files: ExportFiles) -> bool:
    """Return whether the files are an export of ChatGPT."""
    return any(b'"mapping"' in files.head(name) or _begins_with_tree(files, name) for name in _names(files))


def _begins_with_tree(files: ExportFiles, name: str) -> bool:
    content = files.json(name)
    return isinstance(content, list) and bool(content) and isinstance(content[0], dict) and "mapping" in content[0]


def read(files: ExportFiles) -> Iterator[Document | Failure]:
    """Yield a document for each conversation of a ChatGPT export, a ``Failure`` for one that cannot be read."""
    for name in _names(files):
        yield from read_all(files.json(name), lambda item: _convert(item, files), "chatgpt conversation")


def _convert(conversation: Mapping[str, Any], files: ExportFiles) -> Iterator[Document]:
    messages = [_message(node["message"], files) for node in _current_branch(conversation) if node.get("message")]
    chat_id = conversation.get("conversation_id") or conversation.get("id")
    yield from chat_document("chatgpt", chat_id, conversation.get("title"), messages)


def _current_branch(conversation: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the nodes from the root to the current node; without a current node, to the last node of the mapping."""
    nodes: Mapping[str, Any] = conversation["mapping"]
    place = conversation.get("current_node") or next(reversed(list(nodes)), None)
    branch: list[Mapping[str, Any]] = []
    seen: set[str] = set()
    while isinstance(place, str) and place in nodes and place not in seen:  # a hostile file may have a circle
        seen.add(place)
        branch.append(nodes[place])
        place = nodes[place].get("parent")
    return branch[::-1]


def _message(message: Mapping[str, Any], files: ExportFiles) -> Message | None:
    """Return what a person or the assistant said; None for tools, hidden instructions and thoughts."""
    role, details = message["author"]["role"], message.get("metadata") or {}
    is_addressed = message.get("recipient", "all") in ("all", None)
    if role not in _SPEAKERS or not is_addressed or details.get("is_visually_hidden_from_conversation"):
        return None
    names = [str(item.get("name", "")) for item in details.get("attachments") or ()]
    attachments = [(name, files.attachment(name)) for name in names if name]
    text = append_attachments(_text(message.get("content") or {}), attachments)
    return make_message(role, text, utc_time(message.get("create_time")))


def _text(content: Mapping[str, Any]) -> str:
    kind = content.get("content_type")
    if kind == "code":
        return str(content.get("text") or "")
    if kind not in ("text", "multimodal_text"):
        return ""
    parts = [part if isinstance(part, str) else (part or {}).get("text") for part in content.get("parts") or ()]
    return "\n\n".join(part for part in parts if isinstance(part, str) and part.strip())
