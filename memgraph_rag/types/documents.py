"""Documents: what a user adds, and the record that a store keeps of it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from memgraph_rag.types.plain import plain_fields

__all__ = [
    "SESSION", "USER", "Document", "DocumentRecord", "Fingerprint", "Message", "MetadataValue", "Turn", "as_line",
    "owner_of",
]  # fmt: skip


MetadataValue = str | int | float | bool

USER, SESSION = "user", "session"
"""What a document's metadata call its owner: whose document it is, and the conversation that it belongs to."""


def owner_of(metadata: Mapping[str, MetadataValue]) -> tuple[MetadataValue | None, MetadataValue | None]:
    """Return the user and the session that metadata name, None for each that they leave out."""
    return metadata.get(USER), metadata.get(SESSION)


def as_line(text: str) -> str:
    """The text on one line, as a model reads it: a node can then never look like two."""
    return " ".join(text.split())


@dataclass(frozen=True, slots=True)
class Message:
    """One chat message: who said what, and when (ISO 8601, where known)."""

    role: str
    content: str
    time: str | None = None


@dataclass(frozen=True, slots=True)
class Turn:
    """One chat message within the text of its conversation: characters ``[start, end)``.

    The turns of a document tile its text: the first starts at 0, each next starts where the last ended, the last ends
    at the text's end. So the blank lines between two messages belong to the one before. ``time`` is ISO 8601, or empty
    where the message had none that can be read as such.
    """

    start: int
    end: int
    speaker: str
    time: str = ""


@dataclass(frozen=True, slots=True)
class Document:
    """What a user adds: a text under a key.

    ``key`` is the user's name for it; adding other content under the same key replaces it. ``source`` is where
    the text was read from (an absolute path), empty for text that came as a string. ``turns`` are the messages of a
    conversation, in order; a text that is none has none.
    """

    text: str
    key: str
    title: str = ""
    source: str = ""
    metadata: Mapping[str, MetadataValue] = field(default_factory=dict[str, MetadataValue])
    turns: tuple[Turn, ...] = ()

    @property
    def sha256(self) -> str:
        """Hash of the content: text, title, metadata and turns (not of the key, nor of where it came from)."""
        content: list[object] = [self.text, self.title, dict(self.metadata)]
        if self.turns:  # only then, so that a document without keeps the hash it had before there were turns
            content.append([[turn.start, turn.end, turn.speaker, turn.time] for turn in self.turns])
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class DocumentRecord:
    """A document as the store knows it.

    ``layers`` are the layers that were built; ``model`` is the language model and ``recognizer`` the recognizer of
    entities that built them (empty without).
    ``added_at`` is ISO 8601 in UTC and is no part of the document's identity. ``echoes`` counts the segments that say
    again what the memory itself answered.
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

    def as_dict(self) -> dict[str, Any]:
        """Return all fields, for JSON; ``source`` may name a path of this machine."""
        return plain_fields(self)


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What tells a stored document from others: the file it was read from, and the hash of its text (``text_hash``).

    Either is empty where it is not known: ``source`` of text that came as a str, ``text_sha256`` of what an older
    version stored.
    """

    document_id: str
    key: str
    source: str
    text_sha256: str
