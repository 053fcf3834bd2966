"""Store the turns of a session as pages: documents of bounded size, so that adding a turn does not read the session.

The module knows records and texts, no store and no model. Invariants: a page depends on its turns alone, so equal turns
make equal pages; each user and session has keys of its own, whatever characters the names have.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice
from typing import Any, NamedTuple
from urllib.parse import quote

from memgraph_rag.display import show
from memgraph_rag.errors import DocumentError, SettingsError
from memgraph_rag.lexical import timestamps
from memgraph_rag.lexical.language import detect_language
from memgraph_rag.lexical.tokenize import stemmer_name
from memgraph_rag.text.chat import BETWEEN_TURNS, read_message, write_paragraph
from memgraph_rag.text.files import MAX_BYTES
from memgraph_rag.types import (
    SESSION,
    USER,
    Document,
    DocumentRecord,
    Message,
    MetadataValue,
    Segment,
    Turn,
    get_owner,
    is_storable,
    make_id,
    make_storable,
)
from memgraph_rag.types.facts import FACTS

TURNS = "turns"
"""The name in a page's metadata under which [id, characters] of each turn is stored as JSON."""

MOST_TURNS = 32
"""Most turns of a page. The next search reads a changed page again; a page's first turn has no turn before it."""

_MOST_CHARACTERS = 32_000  # of a page that still takes turns
_MOST_NAME = 30_000  # bytes of a user's or session's name as JSON: both fit the metadata of a document
_MOST_BYTES = MAX_BYTES - 4 * _MOST_CHARACTERS  # of a turn, so that it fits a page that still takes turns
_MOST_QUOTED = 200  # characters of a readable key
_MOST_ID_BITS = 1_024  # of a number as an id: Python does not print huge ones
_LAST_NUMBER = 10**9 - 1  # of a page
_LONG = "session#"  # prefix of a hash of long names
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
            is_name = isinstance(value, str) and value.strip() and is_storable(value)
            if not is_name or len(json.dumps(value)) > _MOST_NAME:
                raise SettingsError(
                    f"Expected {name} as a text of 1 to {_MOST_NAME:,} bytes that can be stored, got "
                    f"{show(value)}. Name whose words these are.",
                    setting=name,
                )

    def key(self, number: int) -> str:
        """Return the key of page ``number``, from 0; a long key is replaced by a hash.

        >>> Conversation("default", "ann/lee", "1").key(0)
        'session/ann%2Flee/1/0'
        """
        readable = f"session/{quote(self.user, safe='')}/{quote(self.session, safe='')}/{number}"
        if len(readable) <= _MOST_QUOTED:
            return readable
        return f"{_LONG}{make_id(self.namespace, 'session', self.user, self.session)}/{number}"

    @property
    def key_heads(self) -> set[str]:
        """The beginnings of the keys of all pages: one, or two if only keys of small numbers are readable."""
        return {self.key(number).removesuffix(str(number)) for number in (0, _LAST_NUMBER)}

    def find_number(self, key: str) -> int | None:
        """Return the number of the page with this key; None for the key of anything else."""
        end = re.fullmatch(r".*/([0-9]{1,9})", key, re.DOTALL)
        return int(end[1]) if end and self.key(int(end[1])) == key else None

    def page_id(self, number: int) -> str:
        """Return the id of the document of page ``number``, whether it is stored or not."""
        return make_id(self.namespace, "document", self.key(number))

    def turn_id(self, *natural_key: str | int) -> str:
        """Return the id of the turn that these parts name within the session; equal parts give equal ids."""
        return make_id(self.namespace, "turn", self.user, self.session, *natural_key)


@dataclass(frozen=True, slots=True)
class PageTurn:
    """A turn of a page: its paragraph with the blank line after it, the speaker, and the time (ISO 8601)."""

    id: str
    text: str
    speaker: str
    time: str

    @property
    def form(self) -> int:
        """The hash of speaker and text, by which turns without an id are compared; valid in this process only."""
        return hash((self.speaker, self.text))


class StoredTurn(NamedTuple):
    """What a session keeps in memory of a stored turn: its id, the number of its page, and ``PageTurn.form``."""

    id: str
    page: int
    form: int


@dataclass(frozen=True, slots=True)
class Page:
    """Consecutive turns of a session; ``record`` is None until the page is stored."""

    conversation: Conversation
    number: int
    turns: tuple[PageTurn, ...] = ()
    segments: tuple[Segment, ...] = ()
    record: DocumentRecord | None = None

    @property
    def sha256(self) -> str:
        """The hash of the stored content; empty until the page is stored."""
        return self.record.sha256 if self.record else ""

    @property
    def is_open(self) -> bool:
        """Whether the page takes further turns: it has room, and no layer but ``facts`` was built from it."""
        layers = self.record.layers if self.record else ()
        return _takes_turns(len(self.turns), sum(len(turn.text) for turn in self.turns), layers)

    def take_fitting(self, turns: Iterable[PageTurn]) -> list[PageTurn]:
        """Return the first of these turns, as many as the page has room for, at least the first one.

        Empty without turns, or if the page has ``MOST_TURNS``. Whether the page is open is not checked. An iterator may
        lose one further turn.
        """
        size = sum(len(turn.text) for turn in self.turns)
        fitting: list[PageTurn] = []
        for turn in islice(turns, MOST_TURNS - len(self.turns)):
            size += len(turn.text)
            if fitting and size > _MOST_CHARACTERS:
                break
            fitting.append(turn)
        return fitting

    @property
    def document(self) -> Document:
        """The page as a document to store: the turns' texts one after another.

        The metadata hold user, session, and id and length of each turn.
        """
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
    """Return whether a key has the form of a page's key; only sessions store documents under such keys."""
    return _PAGE_KEY.fullmatch(key) is not None


def is_page(record: DocumentRecord, segments: Sequence[Segment]) -> bool:
    """Return whether a document under a page's key is a page that a session stored.

    The key must be the key of the user and the session in the metadata. A key with a hash of long names is not checked.

    Args:
        segments: all segments of the document.
    """
    user, session = map(str, get_owner(record.metadata))
    head, _, number = record.key.rpartition("/")
    try:
        conversation = Conversation("", user, session)
        _parse_turns(conversation, record, segments)
    except (SettingsError, KeyError, TypeError, ValueError):
        return False
    return (
        head.startswith(_LONG) or conversation.key(int(number)) == record.key
    )  # a hash depends on the namespace, which is not known here


def is_growing(record: DocumentRecord) -> bool:
    """Return whether a document is a page that takes further turns; False for any other document."""
    if not is_page_key(record.key):
        return False
    try:
        turns = len(json.loads(str(record.metadata[TURNS])))
    except (KeyError, TypeError, ValueError):  # another document that an older version stored under a page's key
        return False
    return _takes_turns(turns, record.characters, record.layers)


def _takes_turns(turns: int, characters: int, layers: Iterable[str]) -> bool:
    # The layer of facts is the only one that is built again with each turn.
    return turns < MOST_TURNS and characters < _MOST_CHARACTERS and set(layers) <= {FACTS}


def detect_page_language(page: Page, text: str) -> tuple[str, bool]:
    """Return the language of a page whose text becomes ``text``, and whether its stored segments can stay.

    They are written again if their stems change, which the index of a store holds, or if the layer ``facts`` is gone.
    """
    language, record = detect_language(text), page.record
    if record is None:
        return language, True
    return language, FACTS in record.layers and stemmer_name(record.language) == stemmer_name(language)


def parse_page(conversation: Conversation, number: int, record: DocumentRecord, segments: Sequence[Segment]) -> Page:
    """Return page ``number`` of the conversation, from the document and segments stored under the page's key.

    Raises:
        DocumentError: another document has the page's key.
    """
    try:
        turns = _parse_turns(conversation, record, segments)
    except (KeyError, TypeError, ValueError) as exc:
        raise DocumentError(
            f"Expected a page of the session under the key {show(record.key)}, got another document. Forget that one, "
            "or name the session otherwise.",
            key=record.key,
        ) from exc
    return Page(conversation, number, turns, tuple(segments), record)


def _parse_turns(
    conversation: Conversation, record: DocumentRecord, segments: Sequence[Segment]
) -> tuple[PageTurn, ...]:
    """Return the turns of a stored page.

    Raises:
        KeyError, TypeError, ValueError: the document is not a page of the conversation.
    """
    text = "".join(segment.text for segment in segments)
    firsts = {segment.start: segment for segment in segments}
    listed = [(str(turn_id), int(length)) for turn_id, length in json.loads(str(record.metadata[TURNS]))]
    starts = [*accumulate((length for _, length in listed), initial=0)]
    if (*get_owner(record.metadata), starts[-1]) != (conversation.user, conversation.session, len(text)):
        raise ValueError(record.key)
    return tuple(
        PageTurn(turn_id, text[start : start + length], firsts[start].speaker, firsts[start].time)
        for (turn_id, length), start in zip(listed, starts, strict=False)
    )


def read_turns(
    conversation: Conversation, messages: Sequence[Message | Mapping[str, Any]], *, now: str
) -> list[PageTurn]:
    """Return the turns of these messages, in order. The last of several turns with one id replaces the first one.

    A turn's id is made from the ``id`` in its mapping, else from its role, time and content. A turn with neither ``id``
    nor time has an empty id: its place decides which turn it is (``count_repeated``).

    Args:
        now: ISO 8601; the time of a turn whose message has no readable time.

    Raises:
        DocumentError: ``messages`` is not a list; an item is not a message, has no role or content, has an invalid id
            or time, or is too large.
    """
    if isinstance(messages, (str, bytes, Message, Mapping)) or not isinstance(messages, Sequence):
        raise DocumentError(
            f"Expected a list of chat messages, got {type(messages).__name__}. Give one message in a list."
        )
    turns: dict[str | int, PageTurn] = {}
    for index, message in enumerate(messages):
        role, content, moment = (make_storable(part) for part in read_message(index, message))
        message_id = message.get("id") if isinstance(message, Mapping) else None
        turn_id = ""
        if message_id is not None:
            turn_id = conversation.turn_id("id", _check_id(index, message_id))
        elif moment:
            turn_id = conversation.turn_id("content", role, moment, content, 0)
        text = f"{write_paragraph(role, content, moment)}{BETWEEN_TURNS}"
        if (size := len(text.encode())) > _MOST_BYTES:
            raise DocumentError(
                f"Expected message {index} of at most {_MOST_BYTES:,} bytes, got {size:,}. Cut it into parts.",
                index=index,
                limit=_MOST_BYTES,
            )
        turns[turn_id or index] = PageTurn(turn_id, text, role, timestamps.parse_time(moment) or now)
    return list(turns.values())


def count_repeated(turns: Sequence[PageTurn], stored: Sequence[PageTurn | StoredTurn]) -> int:
    """Return how many of the first turns repeat the end of the stored ones, as in a retried call or a longer history.

    It is the largest number n for which the first n turns equal the last n stored turns. A turn with an id equals the
    stored turn with that id; a turn without an id equals any stored turn with the same words and speaker.

    >>> a, b = (PageTurn("", text, "user", "") for text in "ab")
    >>> count_repeated([b, a, b], [a, b, a, b]), count_repeated([a], [a, b])
    (3, 0)
    """
    ids = {turn.id for turn in turns if turn.id}
    forms = [*turns, None, *stored]  # None: no repetition reaches past the turns
    keys = [turn and (turn.id if turn.id in ids else "", turn.form) for turn in forms]
    borders = [0]  # for each prefix the length of its longest border, a proper suffix that is also a prefix
    for form in keys[1:]:
        length = borders[-1]
        while length and keys[length] != form:
            length = borders[length - 1]
        borders.append(length + (keys[length] == form))
    return borders[-1]


def _check_id(index: int, value: object) -> str | int:
    is_huge = isinstance(value, int) and value.bit_length() > _MOST_ID_BITS
    if isinstance(value, bool) or not isinstance(value, (str, int)) or value == "" or is_huge:
        raise DocumentError(
            f"Expected the id of message {index} as a non-empty str or an int, got {show(value)}. Leave it out, or "
            "give the one that the message keeps.",
            index=index,
        )
    return value
