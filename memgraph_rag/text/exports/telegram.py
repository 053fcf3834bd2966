"""Read Telegram Desktop's export as JSON: ``result.json``, of one chat or of all chats.

Source: https://core.telegram.org/import-export.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from memgraph_rag.text.exports.conversations import append_attachments, make_message, read_all, split_by_month, utc_time
from memgraph_rag.text.exports.export_files import ExportFiles
from memgraph_rag.types import Document, Failure, Message


def _content(files: ExportFiles) -> Mapping[str, Any]:
    names = files.find_files("result.json") or [name for name in files.names[:1] if name.endswith(".json")]
    content = files.json(names[0]) if names else None
    return content if isinstance(content, dict) else {}


def _chats(files: ExportFiles) -> list[Any]:
    content = _content(files)
    if isinstance(listed := content.get("chats"), dict):
        return list(listed.get("list") or ())
    return [content] if isinstance(content.get("messages"), list) and "id" in content and "guild" not in content else []


def matches(files: ExportFiles) -> bool:
    """Return whether the files are an export of Telegram."""
    return bool(_chats(files))


def read(files: ExportFiles) -> Iterator[Document | Failure]:
    """Yield a document for each month of each chat of a Telegram export; a ``Failure`` for a chat of another form."""
    yield from read_all(_chats(files), lambda chat: _convert(chat, files), "telegram chat")


def _convert(chat: Mapping[str, Any], files: ExportFiles) -> Iterator[Document]:
    messages = [_message(item, files) for item in chat["messages"] if item.get("type") == "message"]
    yield from split_by_month("telegram", chat["id"], chat.get("name"), messages)


def _message(item: Mapping[str, Any], files: ExportFiles) -> Message | None:
    parts = item.get("text") or ""
    listed = [parts] if isinstance(parts, str) else parts
    said = "".join(part if isinstance(part, str) else str(part.get("text", "")) for part in listed)
    file = item.get("file") if not item.get("media_type") else None  # of photos, videos and stickers there is no text
    text = append_attachments(said, [(file, files.attachment(file))] if isinstance(file, str) else [])
    speaker = item.get("forwarded_from" if "forwarded_from" in item else "from")  # who wrote the words
    return make_message(speaker, text, utc_time(item.get("date_unixtime")) or item.get("date"))
