"""From what a user gives to a ``Document``: text under a key.

It knows no model and no store. Invariants: a str is always text, a Path always a file; the text of a document can
be stored anywhere (NUL and lone surrogates are replaced one for one by U+FFFD, so that no offset moves); a str is
otherwise kept as it is, so that offsets in the document are offsets in the str.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from memgraph_rag.errors import DocumentError
from memgraph_rag.text.chat import render
from memgraph_rag.text.files import MAX_BYTES, read
from memgraph_rag.types import Document, Message, MetadataValue

__all__ = ["MAX_BYTES", "MAX_KEY", "Source", "load"]

Source = str | Path | Document | Sequence[Message | Mapping[str, Any]]
"""What can be added: text, a file, a document, chat messages."""

MAX_KEY = 512
"""Most characters of a key."""

_MOST_OF_A_TITLE = 300  # characters of one found in a file: broken pages have titles of megabytes
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")

_HINTS = {
    bytes: "Decode it first, or pass the Path of the file.",
    bytearray: "Decode it first, or pass the Path of the file.",
    Message: "Put the message in a list.",
    dict: 'Pass text, or a list of messages: [{"role": "user", "content": "…"}].',
}


def load(
    source: Source,
    *,
    key: str | None = None,
    title: str | None = None,
    metadata: Mapping[str, MetadataValue] | None = None,
) -> Document:
    """The source as a document.

    Args:
        source: a str is text; a Path is a file of text, Markdown, HTML or PDF; a Document is taken over; chat
            messages (``Message``, or mappings with role, content and perhaps time) become one text.
        key: 1 to 512 characters. By default a file's path as given, or a hash of the text.
        title: by default the one found in the file, else its stem; empty for text and chat.
        metadata: values of type str, int, float (finite) or bool.

    Raises:
        DocumentError: it cannot be read as text, is empty or above ``MAX_BYTES``, or an argument cannot work.

    >>> load("Ada wrote the first program.").key
    'text-6210c29d8285'
    """
    document = _read_source(source)
    if key is not None:
        document = replace(document, key=key)
    if title is not None:
        document = replace(document, title=title)
    if metadata is not None:
        document = replace(document, metadata=metadata)
    return _checked(document)


def _read_source(source: Source) -> Document:
    """The source before any check of what it holds."""
    if isinstance(source, Document):
        return source
    if isinstance(source, Path):
        text, title = read(source)
        title = title[:_MOST_OF_A_TITLE] or source.stem
        return Document(text, source.as_posix(), title=title, source=str(source.absolute()))
    if isinstance(source, str):
        return Document(source, _hashed("text", source))
    if isinstance(source, Sequence) and not isinstance(source, (bytes, bytearray, memoryview)):
        text = render(source)
        return Document(text, _hashed("chat", text))
    hint = _HINTS.get(type(source), "Pass one of these.")
    raise DocumentError(
        "Expected text (str), a file (Path), a Document or a list of chat messages, "
        f"got {type(source).__name__}. {hint}"
    )


def _hashed(kind: str, text: str) -> str:
    return f"{kind}-{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}"


def _checked(document: Document) -> Document:
    """The document with storable text, or a refusal."""
    for name in ("text", "title", "source"):
        value = getattr(document, name)
        if not isinstance(value, str):
            raise DocumentError(f"Expected the {name} of a document as a str, got {type(value).__name__}.")
    _check_key(document.key)
    if not document.text.strip():
        raise DocumentError(
            f"Expected text, got none: {document.key!r} is empty or only white space.", key=document.key
        )
    size = len(document.text.encode("utf-8", "surrogatepass"))
    if size > MAX_BYTES:
        raise DocumentError(
            f"Expected at most {MAX_BYTES:,} bytes of text, got {size:,} in {document.key!r}. Cut it into parts.",
            key=document.key,
            limit=MAX_BYTES,
        )
    return replace(
        document,
        text=_storable(document.text),
        title=_storable(document.title),
        source=_storable(document.source),
        metadata=_checked_metadata(document.metadata),
    )


def _storable(text: str) -> str:
    return _UNSTORABLE.sub("\ufffd", text)


def _check_key(key: object) -> None:
    if not isinstance(key, str):
        raise DocumentError(f"Expected a key as a str, got {type(key).__name__}.", key=key)
    if not key.strip() or len(key) > MAX_KEY:
        got = f"{len(key)} characters" if key.strip() else "an empty one"
        raise DocumentError(f"Expected a key of 1 to {MAX_KEY} characters, got {got}. Pass another: key=…", key=key)
    if _UNSTORABLE.search(key):
        raise DocumentError(
            f"Expected a key that can be stored, got NUL or a lone surrogate in {key!r}. Pass another: key=…", key=key
        )


def _checked_metadata(metadata: Mapping[str, MetadataValue]) -> dict[str, MetadataValue]:
    """A copy, if every key and value can be stored."""
    if not isinstance(metadata, Mapping):
        raise DocumentError(f"Expected metadata as a mapping, got {type(metadata).__name__}.")
    checked: dict[str, MetadataValue] = {}
    for name, value in metadata.items():
        if not isinstance(name, str) or not name:
            raise DocumentError(f"Expected the keys of metadata as non-empty str, got {name!r}.")
        if not isinstance(value, (str, int, float)) or (isinstance(value, float) and not math.isfinite(value)):
            got = repr(value) if isinstance(value, float) else type(value).__name__
            raise DocumentError(
                f"Expected metadata[{name!r}] as str, int, finite float or bool, got {got}. "
                "Leave it out, or write it as a str.",
                name=name,
            )
        checked[_storable(name)] = _storable(value) if isinstance(value, str) else value
    return checked
