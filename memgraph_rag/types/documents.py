"""Documents: the text that a user adds, and the record that a store keeps of it."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from memgraph_rag.types.plain import plain_fields

MetadataValue = str | int | float | bool

USER, SESSION = "user", "session"
"""The metadata keys of a document's owner: the user, and the conversation that the document belongs to."""

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")  # NUL and halves of surrogate pairs


def get_owner(metadata: Mapping[str, MetadataValue]) -> tuple[str | None, str | None]:
    """Return the user and the session in a document's metadata, a number as text; None for each that is missing."""
    user, session = (str(metadata[name]) if name in metadata else None for name in (USER, SESSION))
    return user, session


def is_storable(text: str) -> bool:
    """Return whether every store and every tokenizer accepts the text unchanged."""
    return not _UNSTORABLE.search(text)


def make_storable(text: str) -> str:
    """Return the text as a plain str, with U+FFFD in place of each character that no store accepts."""
    return _UNSTORABLE.sub("\ufffd", text)


def as_line(text: str) -> str:
    """Return the text on one line: a single space for each run of white space, none at the ends.

    A language model reads one node a line, so a line break in a node would make two nodes of it.
    """
    return " ".join(text.split())


def shorten(text: str, most: int) -> str:
    """Return the text, cut with "…" to at most ``most`` characters."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def shorten_line(text: str, most: int) -> str:
    """Return the text on one line, cut with "…" to at most ``most`` characters; only its first 4 × ``most`` count."""
    return shorten(as_line(text[: 4 * most]), most)


@dataclass(frozen=True, slots=True)
class Message:
    """One chat message: its speaker, its text, and its time (ISO 8601), if known."""

    role: str
    content: str
    time: str | None = None


@dataclass(frozen=True, slots=True)
class Turn:
    """One chat message within the text of its conversation: characters ``[start, end)``.

    The turns of a document tile its text: the first turn starts at 0, each next turn starts at the end of the previous
    one, and the last turn ends at the end of the text. The blank lines between two messages therefore belong to the
    first one. ``time`` is ISO 8601, or empty if the message had no valid time.
    """

    start: int
    end: int
    speaker: str
    time: str = ""


@dataclass(frozen=True, slots=True)
class Document:
    """A text that a user adds, under a key.

    ``key`` is the user's name for the document; adding other content under the same key replaces it. ``source`` is the
    absolute path of the file that the text was read from, empty for a text given as a string. ``turns`` are the
    messages of a conversation, in order; they are empty for any other text. ``reading`` is the version of the reader of
    markup and programs, 0 for other texts; the library sets it, so that a document that an older version read is read
    anew when it is added again.
    """

    text: str
    key: str
    title: str = ""
    source: str = ""
    metadata: Mapping[str, MetadataValue] = field(default_factory=dict[str, MetadataValue])
    turns: tuple[Turn, ...] = ()
    reading: int = 0

    @property
    def sha256(self) -> str:
        """The SHA-256 of the content, in hex: text, title, metadata, turns and reading; not of key and source."""
        content: list[object] = [self.text, self.title, dict(self.metadata)]
        if self.turns:  # a document without turns keeps the hash that older versions stored
            content.append([[turn.start, turn.end, turn.speaker, turn.time] for turn in self.turns])
        if self.reading:
            content.append(self.reading)
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class DocumentRecord:
    """A document as the store describes it.

    ``characters`` and ``segments`` are the numbers of both. ``layers`` are the layers that were built. ``model`` is the
    language model and ``recognizer`` the entity recognizer that built them; empty if none was used. ``added_at`` is
    ISO 8601 in UTC; it is not part of the document's identity. ``echoes`` is the number of segments that repeat an
    earlier answer of the memory. ``language`` is the ISO 639-1 code of the text's language; empty if it is unknown.
    """

    id: str
    key: str
    title: str
    source: str
    sha256: str
    added_at: str
    characters: int
    segments: int
    layers: tuple[str, ...]
    model: str
    metadata: Mapping[str, MetadataValue]
    recognizer: str = ""
    echoes: int = 0
    language: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Return all fields, for JSON. ``source`` may contain a path of this machine."""
        return plain_fields(self)

    def is_named_with(self, part: str) -> bool:
        """Return whether the key or the title contains a text, in upper or lower case."""
        return any(fold_case(part) in fold_case(name) for name in (self.key, self.title))


def fold_case(text: str) -> str:
    """Return a text in lower case, with one form of the Greek sigma and of the Turkish i, as databases differ there."""
    return text.lower().replace("ς", "σ").replace("i\u0307", "i")


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """The file that a stored document was read from, and the hash of its text (``text_hash``).

    Either is empty if it is unknown: ``source`` for a text given as a string, ``text_sha256`` for a document that an
    older version stored.
    """

    document_id: str
    key: str
    source: str
    text_sha256: str
