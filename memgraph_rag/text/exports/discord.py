"""Read the JSON files that DiscordChatExporter writes, one for each channel.

Source: ``JsonMessageWriter.cs`` of Tyrrrz/DiscordChatExporter, and a public export in nanoguy0/waterhorn-stats.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from memgraph_rag.text.exports.conversations import append_attachments, make_message, read_all, split_by_month
from memgraph_rag.text.exports.export_files import ExportFiles
from memgraph_rag.types import Document, Failure, Message

_SAID = {"Default", "Reply", "0", "19"}  # other types are notices, such as a pinned message


def _names(files: ExportFiles) -> list[str]:
    return [name for name in files.names if name.endswith(".json") and b'"guild"' in files.head(name)]


def matches(files: ExportFiles) -> bool:
    """Return whether the files are channels that DiscordChatExporter wrote."""
    return any(b'"channel"' in files.head(name) for name in _names(files))


def read(files: ExportFiles) -> Iterator[Document | Failure]:
    """Yield a document for each month of a channel, from all its files; a ``Failure`` for a channel of another form."""
    parts: dict[str, list[Mapping[str, Any]]] = {}
    for name in _names(files):
        part = files.json(name)
        if isinstance(part, dict) and isinstance(part.get("channel"), dict):
            parts.setdefault(str(part["channel"].get("id")), []).append(part)
    yield from read_all(parts.values(), lambda channel: _convert(channel, files), "discord channel")


def _convert(parts: list[Mapping[str, Any]], files: ExportFiles) -> Iterator[Document]:
    channel, guild = parts[0]["channel"], parts[0]["guild"]
    title = " / ".join(str(name) for name in (guild.get("name"), channel.get("name")) if name)
    said = {item["id"]: item for part in parts for item in part["messages"] if str(item.get("type")) in _SAID}
    in_order = sorted(said.values(), key=lambda item: str(item["timestamp"]))
    yield from split_by_month("discord", channel["id"], title, [_message(item, files) for item in in_order])


def _message(item: Mapping[str, Any], files: ExportFiles) -> Message | None:
    author = item["author"]
    attachments = [
        (str(file.get("fileName")), files.attachment(str(file.get("url")))) for file in item.get("attachments") or ()
    ]
    text = append_attachments(str(item.get("content") or ""), attachments)
    return make_message(author.get("nickname") or author.get("name"), text, item.get("timestamp"))
