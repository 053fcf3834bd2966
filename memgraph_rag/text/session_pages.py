"""The turns of a session as pages: documents of bounded size, so that a turn is stored without reading the session.

It knows records and texts, no store and no model. Invariants: a page is made of its turns alone, so equal turns make
equal pages; a user and a session have keys of their own, whatever characters their names have.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, islice
from typing import Any, NamedTuple
from urllib.parse import quote

from memgraph_rag.display import show
from memgraph_rag.errors import DocumentError, SettingsError
from memgraph_rag.lexical import timestamps
from memgraph_rag.text.chat import read_message
from memgraph_rag.text.loading import MAX_BYTES
from memgraph_rag.types import (
    SESSION,
    USER,
    Document,
    DocumentRecord,
    Message,
    MetadataValue,
    Segment,
    Turn,
    is_storable,
    make_id,
    owner_of,
    storable,
)

__all__ = [
    "MOST_TURNS",
    "TURNS",
    "Conversation",
    "Page",
    "PageTurn",
    "StoredTurn",
    "is_growing",
    "is_page",
    "is_page_key",
    "known_again",
    "page_of",
    "read_turns",
]

TURNS = "turns"
"""In a page's metadata, beside its user and session: [id, characters] of each turn as JSON."""

MOST_TURNS = 32
"""Of a page. A page is read again by the next search after a turn; a turn that begins one lacks the turn before it."""

_MOST_CHARACTERS = 32_000  # of a page that takes a further turn
_MOST_NAME = 100_000  # characters of a user's or session's name
_MOST_QUOTED = 200  # characters of a readable key
_MOST_ID_BITS = 1_024  # of a number that is an id: Python does not write out a huge one
_FACTS = "facts"  # the one layer that is made anew with each turn
_END = "\n\n"
_LONG = "session#"  # before the hash that stands for long names
_PAGE_KEY = re.compile(rf"(?:session/[^/]+/[^/]+|{_LONG}[0-9a-f]+)/[0-9]+")  # as Conversation.key writes them


@dataclass(frozen=True, slots=True)
class Conversation:
    """A session of a user in a namespace."""

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

        >>> Conversation("default", "ann/lee", "1").key(0)
        'session/ann%2Flee/1/0'
        """
        readable = f"session/{quote(self.user, safe='')}/{quote(self.session, safe='')}/{number}"
        if len(readable) <= _MOST_QUOTED:
            return readable
        return f"{_LONG}{make_id(self.namespace, 'session', self.user, self.session)}/{number}"

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

    @property
    def form(self) -> int:
        """The hash of who says what, by which turns without an id are compared; of this process alone."""
        return hash((self.speaker, self.text))


class StoredTurn(NamedTuple):
    """What a session remembers of a turn that is stored, so that a long one is not held in memory."""

    id: str
    page: int
    form: int


@dataclass(frozen=True, slots=True)
class Page:
    """Some turns of a session, in the order in which they came; ``record`` is None until it is stored."""

    conversation: Conversation
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
            USER: self.conversation.user,
            SESSION: self.conversation.session,
            TURNS: json.dumps([[turn.id, length] for turn, length in zip(self.turns, lengths, strict=True)]),
        }
        placed = tuple(
            Turn(start, start + length, turn.speaker, turn.time)
            for turn, start, length in zip(self.turns, starts, lengths, strict=False)
        )
        text = "".join(turn.text for turn in self.turns)
        return Document(text, self.conversation.key(self.number), metadata=metadata, turns=placed)


def is_page_key(key: str) -> bool:
    """Whether a key has the form of a session page's; only a session stores a document under such a key."""
    return _PAGE_KEY.fullmatch(key) is not None


def is_page(record: DocumentRecord, segments: Sequence[Segment]) -> bool:
    """Whether a document under a session's key is the page of turns that a session stores there."""
    user, session = map(str, owner_of(record.metadata))
    head, _, number = record.key.rpartition("/")
    try:
        conversation = Conversation("", user, session)
        _turns_of(conversation, record, segments)
    except (SettingsError, KeyError, TypeError, ValueError):
        return False
    return head.startswith(_LONG) or conversation.key(int(number)) == record.key  # a hash is of another namespace


def is_growing(record: DocumentRecord) -> bool:
    """Whether a document is a page that takes further turns, until a costly layer is built of it."""
    if not is_page_key(record.key):
        return False
    try:
        turns = len(json.loads(str(record.metadata[TURNS])))
    except (KeyError, TypeError, ValueError):  # another document, which an older version stored under the page's key
        return False
    return _takes_turns(turns, record.characters, record.layers)


def _takes_turns(turns: int, characters: int, layers: Iterable[str]) -> bool:
    return turns < MOST_TURNS and characters < _MOST_CHARACTERS and set(layers) <= {_FACTS}


def page_of(conversation: Conversation, number: int, record: DocumentRecord, segments: Sequence[Segment]) -> Page:
    """The page that is stored so.

    Raises:
        DocumentError: another document has the page's key.
    """
    try:
        turns = _turns_of(conversation, record, segments)
    except (KeyError, TypeError, ValueError) as exc:
        raise DocumentError(
            f"Expected a page of the session under the key {show(record.key)}, got another document. Forget that one, "
            "or name the session otherwise.",
            key=record.key,
        ) from exc
    return Page(conversation, number, turns, tuple(segments), record)


def _turns_of(conversation: Conversation, record: DocumentRecord, segments: Sequence[Segment]) -> tuple[PageTurn, ...]:
    """Return the turns of a stored page.

    Raises:
        KeyError, TypeError, ValueError: the document is no page of the conversation.
    """
    text = "".join(segment.text for segment in segments)
    firsts = {segment.start: segment for segment in segments}
    listed = [(str(turn_id), int(length)) for turn_id, length in json.loads(str(record.metadata[TURNS]))]
    starts = [*accumulate((length for _, length in listed), initial=0)]
    if (*owner_of(record.metadata), starts[-1]) != (conversation.user, conversation.session, len(text)):
        raise ValueError(record.key)
    return tuple(
        PageTurn(turn_id, text[start : start + length], firsts[start].speaker, firsts[start].time)
        for (turn_id, length), start in zip(listed, starts, strict=False)
    )


def read_turns(
    conversation: Conversation, messages: Sequence[Message | Mapping[str, Any]], *, now: str
) -> list[PageTurn]:
    """Return the turns of these messages, in order; of several turns with one id the last.

    The id of a turn is made of the ``id`` that its mapping holds, else of its role, time and content. A turn with
    neither ``id`` nor time has an empty id: which turn it is follows from its place (``known_again``).

    Args:
        now: ISO 8601; when a turn was said whose message has no time that can be read.

    Raises:
        DocumentError: something is no message, has no role or content, or an id that is none.
    """
    if isinstance(messages, (str, bytes, Message, Mapping)) or not isinstance(messages, Sequence):
        raise DocumentError(
            f"Expected a list of chat messages, got {type(messages).__name__}. Give one message in a list."
        )
    turns: dict[str | int, PageTurn] = {}
    for index, message in enumerate(messages):
        role, content, moment = (storable(part) for part in read_message(index, message))
        given = message.get("id") if isinstance(message, Mapping) else None
        turn_id = ""
        if given is not None:
            turn_id = conversation.turn_id("id", _checked_id(index, given))
        elif moment:
            turn_id = conversation.turn_id("content", role, moment, content, 0)
        head = f"{role} ({moment})" if moment else role
        text = f"{head}: {content}{_END}"
        if len(text) > MAX_BYTES:
            raise DocumentError(
                f"Expected message {index} of at most {MAX_BYTES:,} characters, got {len(text):,}. Cut it into parts.",
                index=index,
                limit=MAX_BYTES,
            )
        turns[turn_id or index] = PageTurn(turn_id, text, role, timestamps.understood(moment) or now)
    return list(turns.values())


def known_again(turns: Sequence[PageTurn], stored: Sequence[PageTurn | StoredTurn]) -> int:
    """Return how many of the first turns repeat the end of what is stored: a retried call, an overlapping history.

    It is the largest number n for which the first n turns are the last n stored ones. A turn with an id is the stored
    turn of this id; a turn without is any stored turn that says the same.

    >>> a, b = (PageTurn("", text, "user", "") for text in "ab")
    >>> known_again([b, a, b], [a, b, a, b]), known_again([a], [a, b])
    (3, 0)
    """
    ids = {turn.id for turn in turns if turn.id}
    forms = [*turns, None, *stored]  # None: no repetition reaches past the turns
    said = [turn and (turn.id if turn.id in ids else "", turn.form) for turn in forms]
    borders = [0]  # of each beginning of what is said, the length of its longest proper end that it begins with, too
    for form in said[1:]:
        length = borders[-1]
        while length and said[length] != form:
            length = borders[length - 1]
        borders.append(length + (said[length] == form))
    return borders[-1]


def _checked_id(index: int, value: object) -> str | int:
    is_huge = isinstance(value, int) and value.bit_length() > _MOST_ID_BITS
    if isinstance(value, bool) or not isinstance(value, (str, int)) or value == "" or is_huge:
        raise DocumentError(
            f"Expected the id of message {index} as a non-empty str or an int, got {show(value)}. Leave it out, or "
            "give the one that the message keeps.",
            index=index,
        )
    return value
