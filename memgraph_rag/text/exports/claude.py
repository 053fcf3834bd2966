"""Read Claude's export: ``conversations.json``, where each conversation is a list of messages.

Source: the shape as documented by Sinity/polylogue and withLinda/claude-conversation-exporter.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from memgraph_rag.text.exports.conversations import append_attachments, chat_document, make_message, read_all
from memgraph_rag.text.exports.export_files import ExportFiles
from memgraph_rag.types import Document, Failure, Message

_ROLES = {"human": "user", "assistant": "assistant"}


def _name(files: ExportFiles) -> str | None:
    """Return the name of the file with the conversations."""
    names = files.find_files("conversations.json") or files.names
    return names[0] if names and names[0].endswith(".json") else None


def matches(files: ExportFiles) -> bool:
    """Return whether the files are an export of Claude."""
    name = _name(files)
    content = files.json(name) if name else None
    return isinstance(content, list) and any(isinstance(item, dict) and "chat_messages" in item for item in content[:9])


def read(files: ExportFiles) -> Iterator[Document | Failure]:
    """Yield a document for each conversation of a Claude export, a ``Failure`` for one that cannot be read."""
    name = _name(files)
    yield from read_all(files.json(name) if name else (), _convert, "claude conversation")


def _convert(conversation: Mapping[str, Any]) -> Iterator[Document]:
    messages = [_message(message) for message in conversation["chat_messages"]]
    yield from chat_document("claude", conversation["uuid"], conversation.get("name"), messages)


def _message(message: Mapping[str, Any]) -> Message | None:
    blocks = [block.get("text") for block in message.get("content") or () if block.get("type") == "text"]
    said = "\n\n".join(text for text in blocks if isinstance(text, str) and text.strip()) or message.get("text") or ""
    files = [
        (str(file.get("file_name") or "file"), file.get("extracted_content") or "")
        for file in message.get("attachments") or ()
    ]
    return make_message(
        _ROLES.get(message["sender"], message["sender"]), append_attachments(said, files), message.get("created_at")
    )
