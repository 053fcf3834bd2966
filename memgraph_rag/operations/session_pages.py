"""The turns of a session as pages: documents of bounded size, so that a turn is stored without reading the session.

It knows records and texts, no store and no model. Invariants: a page is made of its turns alone, so equal turns make
equal pages; a user and a session have keys of their own, whatever characters their names have.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, islice
from typing import Any
from urllib.parse import quote

from memgraph_rag.display import show
from memgraph_rag.errors import DocumentError, SettingsError
from memgraph_rag.layers.facts import FACTS
from memgraph_rag.lexical import timestamps
from memgraph_rag.operations.scope_index import SESSION, USER
from memgraph_rag.text.chat import read_message
from memgraph_rag.text.loading import MAX_BYTES, is_storable, storable
from memgraph_rag.types import Document, DocumentRecord, Message, MetadataValue, Segment, Turn, make_id

__all__ = ["MOST_TURNS", "TURNS", "Page", "PageTurn", "Scope", "is_growing", "page_of", "read_turns"]

TURNS = "turns"
"""In a page's metadata, beside its user and session: [id, characters] of each turn as JSON."""

MOST_TURNS = 32
"""Of a page. A page is read again by the next search after a turn; a turn that begins one lacks the turn before it."""

_MOST_CHARACTERS = 32_000  # of a page that takes a further turn
_MOST_NAME = 100_000  # characters of a user's or session's name
_MOST_QUOTED = 200  # characters of a readable key
_MOST_ID_BITS = 1_024  # of a number that is an id: Python does not write out a huge one
_END = "\n\n"


@dataclass(frozen=True, slots=True)
class Scope:
    """A session of a user."""

    namespace: str
    user: str
    session: str

    def __post_init__(self) -> None:
        for name in (USER, SESSION):
            value = getattr(self, name)
            is_name = isinstance(value, str) and value.strip() and len(value) <= _MOST_NAME and is_storable(value)
            if not is_name:
                raise SettingsError(
                    f"Expected {name} as a text of 1 to {_MOST_NAME:,} characters that can be stored, got "
                    f"{show(value)}. Name whose words these are.",
                    setting=name,
                )

    def key(self, number: int) -> str:
        """The key of a page; one that would be long is a hash.

        >>> Scope("default", "ann/lee", "1").key(0)
        'session/ann%2Flee/1/0'
        """
        readable = f"session/{quote(self.user, safe='')}/{quote(self.session, safe='')}/{number}"
        if len(readable) <= _MOST_QUOTED:
            return readable
        return f"session#{make_id(self.namespace, 'session', self.user, self.session)}/{number}"

    def page_id(self, number: int) -> str:
        """The id of a page's document."""
        return make_id(self.namespace, "document", self.key(number))

    def turn_id(self, *natural_key: str | int) -> str:
        """The id of a turn within the session."""
        return make_id(self.namespace, "turn", self.user, self.session, *natural_key)


@dataclass(frozen=True, slots=True)
class PageTurn:
    """A turn as a page holds it: its paragraph with the blank line behind it, who said it, and when (ISO 8601)."""

    id: str
    text: str
    speaker: str
    time: str


@dataclass(frozen=True, slots=True)
class Page:
    """Some turns of a session, in the order in which they came; ``record`` is None until it is stored."""

    scope: Scope
    number: int
    turns: tuple[PageTurn, ...] = ()
    segments: tuple[Segment, ...] = ()
    record: DocumentRecord | None = None

    @property
    def sha256(self) -> str:
        """The hash of its stored content; empty until it is stored."""
        return self.record.sha256 if self.record else ""

    @property
    def is_open(self) -> bool:
        """Whether it takes further turns: it has room, and no costly layer rests on its end."""
        layers = self.record.layers if self.record else ()
        return _takes_turns(len(self.turns), sum(len(turn.text) for turn in self.turns), layers)

    def fitting(self, turns: Iterable[PageTurn]) -> list[PageTurn]:
        """The first of these turns, one at least, that the page takes, which is open."""
        size = sum(len(turn.text) for turn in self.turns)
        fitting: list[PageTurn] = []
        for turn in islice(turns, MOST_TURNS - len(self.turns)):
            size += len(turn.text)
            if fitting and size > _MOST_CHARACTERS:
                break
            fitting.append(turn)
        return fitting

    def with_turns(self, turns: Sequence[PageTurn]) -> Page:
        """The page with these turns in place of its own."""
        return replace(self, turns=tuple(turns))

    @property
    def document(self) -> Document:
        """What is to be stored."""
        lengths = [len(turn.text) for turn in self.turns]
        starts = [*accumulate(lengths, initial=0)]
        metadata: dict[str, MetadataValue] = {
            USER: self.scope.user,
            SESSION: self.scope.session,
            TURNS: json.dumps([[turn.id, length] for turn, length in zip(self.turns, lengths, strict=True)]),
        }
        placed = tuple(
            Turn(start, start + length, turn.speaker, turn.time)
            for turn, start, length in zip(self.turns, starts, lengths, strict=False)
        )
        text = "".join(turn.text for turn in self.turns)
        return Document(text, self.scope.key(self.number), metadata=metadata, turns=placed)


def is_growing(record: DocumentRecord) -> bool:
    """Whether a document is a page that takes further turns, until a costly layer is built of it."""
    if not {USER, SESSION, TURNS} <= record.metadata.keys():
        return False
    return _takes_turns(len(json.loads(str(record.metadata[TURNS]))), record.characters, record.layers)


def _takes_turns(turns: int, characters: int, layers: Iterable[str]) -> bool:
    return turns < MOST_TURNS and characters < _MOST_CHARACTERS and set(layers) <= {FACTS}


def page_of(scope: Scope, number: int, record: DocumentRecord, segments: Sequence[Segment]) -> Page:
    """The page that is stored so.

    Raises:
        DocumentError: another document has the page's key.
    """
    text = "".join(segment.text for segment in segments)
    firsts = {segment.start: segment for segment in segments}
    try:
        listed = [(str(turn_id), int(length)) for turn_id, length in json.loads(str(record.metadata[TURNS]))]
        starts = [*accumulate((length for _, length in listed), initial=0)]
        is_page = (record.metadata[USER], record.metadata[SESSION], starts[-1]) == (
            scope.user,
            scope.session,
            len(text),
        )
        firsts = firsts if is_page else {}
        turns = tuple(
            PageTurn(turn_id, text[start : start + length], firsts[start].speaker, firsts[start].time)
            for (turn_id, length), start in zip(listed, starts, strict=False)
        )
    except (KeyError, TypeError, ValueError) as exc:
        raise DocumentError(
            f"Expected a page of the session under the key {show(record.key)}, got another document. Forget that one, "
            "or name the session otherwise.",
            key=record.key,
        ) from exc
    return Page(scope, number, turns, tuple(segments), record)


def read_turns(scope: Scope, messages: Sequence[Message | Mapping[str, Any]], *, now: str) -> list[PageTurn]:
    """The turns of these messages, each once, in order.

    A turn is known again by the ``id`` that its mapping holds, else by its role, time and content; of several equal
    ones without id and time the n-th of a call is known again as the n-th. A later one of the same id counts.

    Args:
        now: ISO 8601; when a turn was said whose message has no time that can be read.

    Raises:
        DocumentError: something is no message, has no role or content, or an id that is none.
    """
    if isinstance(messages, (str, bytes, Message, Mapping)) or not isinstance(messages, Sequence):
        raise DocumentError(
            f"Expected a list of chat messages, got {type(messages).__name__}. Give one message in a list."
        )
    turns: dict[str, PageTurn] = {}
    seen: dict[tuple[str, str], int] = {}
    for index, message in enumerate(messages):
        role, content, moment = (storable(part) for part in read_message(index, message))
        given = message.get("id") if isinstance(message, Mapping) else None
        if given is not None:
            turn_id = scope.turn_id("id", _checked_id(index, given))
        else:
            count = 0 if moment else seen.get((role, content), 0)
            seen[role, content] = count + 1
            turn_id = scope.turn_id("content", role, moment, content, count)
        head = f"{role} ({moment})" if moment else role
        text = f"{head}: {content}{_END}"
        if len(text) > MAX_BYTES:
            raise DocumentError(
                f"Expected message {index} of at most {MAX_BYTES:,} characters, got {len(text):,}. Cut it into parts.",
                index=index,
                limit=MAX_BYTES,
            )
        turns[turn_id] = PageTurn(turn_id, text, role, timestamps.understood(moment) or now)
    return list(turns.values())


def _checked_id(index: int, value: object) -> str | int:
    is_huge = isinstance(value, int) and value.bit_length() > _MOST_ID_BITS
    if isinstance(value, bool) or not isinstance(value, (str, int)) or value == "" or is_huge:
        raise DocumentError(
            f"Expected the id of message {index} as a non-empty str or an int, got {show(value)}. Leave it out, or "
            "give the one that the message keeps.",
            index=index,
        )
    return value
