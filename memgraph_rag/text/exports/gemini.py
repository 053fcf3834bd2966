"""Read Google Takeout's activity of Gemini: ``MyActivity.json``, one entry for each prompt with its answer.

Takeout names no conversations, so the prompts of a day are one document. The file in HTML, which is Takeout's default,
is not read: choose JSON. Source: the shape as read by purarue/google_takeout_parser.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

from memgraph_rag.errors import DocumentError
from memgraph_rag.text.exports.conversations import chat_document, make_message, read_all
from memgraph_rag.text.exports.export_files import ExportFiles
from memgraph_rag.text.markup import read_html
from memgraph_rag.types import Document, Failure, Message

_PRODUCTS = ("Gemini", "Bard")
_PROMPTED = re.compile("^Prompted[ \u00a0]")  # in English; in other languages the title is kept whole


def matches(files: ExportFiles) -> bool:
    """Return whether the files hold Takeout's activity of Gemini."""
    return any(_entries(files, name) for name in _names(files))


def read(files: ExportFiles) -> Iterator[Document | Failure]:
    """Yield a document for each day of Gemini's activity, with the prompts and answers as turns.

    Where titles are in English, another title ("Used an Assistant feature") is a notice.
    """
    entries = [entry for name in _names(files) for entry in _entries(files, name)]
    if any(_PROMPTED.match(str(entry.get("title"))) for entry in entries):
        entries = [entry if _PROMPTED.match(str(entry.get("title"))) else {**entry, "title": ""} for entry in entries]
    dated = sorted(entries, key=lambda entry: str(entry["time"]))
    days = [list(group) for _, group in groupby(dated, key=lambda entry: str(entry["time"])[:10])]
    yield from read_all(days, _convert, "gemini day")


def _names(files: ExportFiles) -> list[str]:
    return files.find_files("MyActivity.json") or [name for name in files.names[:1] if name.endswith(".json")]


def _entries(files: ExportFiles, name: str) -> list[Mapping[str, Any]]:
    content = files.json(name)
    entries = (
        [entry for entry in content if isinstance(entry, dict) and "time" in entry] if isinstance(content, list) else []
    )
    return [entry for entry in entries if str(entry.get("header", "")).startswith(_PRODUCTS)]


def _convert(day: list[Mapping[str, Any]]) -> Iterator[Document]:
    name = str(day[0]["time"])[:10]
    yield from chat_document(
        "gemini", name, f"Gemini, {name}", [message for entry in day for message in _messages(entry)]
    )


def _messages(entry: Mapping[str, Any]) -> Iterator[Message | None]:
    yield make_message("user", _PROMPTED.sub("", str(entry.get("title", "")), count=1), entry["time"])
    for item in entry.get("safeHtmlItem") or ():
        try:
            yield make_message("assistant", read_html(str(item["html"]), Path("MyActivity.json"))[0], entry["time"])
        except DocumentError:  # an answer without words
            continue
