"""Turn the messages of an export into documents with turns.

It knows no format. Invariants: a key depends on the export's own ids alone, so a later export of the same account
replaces and never doubles; a channel that goes on for years is cut by months, so a later export changes its last month.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timezone
from itertools import zip_longest
from typing import Any

from memgraph_rag.display import show
from memgraph_rag.errors import DocumentError, MemgraphRagError
from memgraph_rag.text.chat import MAX_SPEAKER, render
from memgraph_rag.types import Document, Failure, Message, as_line

_MOST_TITLE, _MOST_KEY = 300, 480


def utc_time(seconds: object) -> str | None:
    """Return seconds since 1970 as ISO 8601 in UTC; None for anything else.

    >>> utc_time("1714557600.5"), utc_time(None)
    ('2024-05-01T10:00:00+00:00', None)
    """
    try:
        moment = datetime.fromtimestamp(float(seconds), timezone.utc)  # pyright: ignore[reportArgumentType]
    except (TypeError, ValueError, OverflowError, OSError):
        return None
    return moment.isoformat(timespec="seconds")


def make_message(speaker: object, text: object, time: object) -> Message | None:
    """Return a message from the values of an export; None without text. A speaker without a name is "unknown"."""
    content = text.strip() if isinstance(text, str) else ""
    if not content:
        return None
    name = as_line(speaker)[:MAX_SPEAKER] if isinstance(speaker, str) else ""
    return Message(name or "unknown", content, time if isinstance(time, str) and time else None)


def make_key(origin: str, own_id: str | int) -> str:
    """Return the key of a conversation or a record: its format and its id; a hash replaces the end of a long id."""
    key = f"{origin}/{own_id}"
    if len(key) <= _MOST_KEY:
        return key
    digest = hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"{key[: _MOST_KEY - len(digest) - 1]}-{digest}"


def append_attachments(text: str, attachments: Iterable[tuple[str, str]]) -> str:
    """Return a message's text, followed by each attachment, a pair of name and text, whose text is not empty."""
    return "\n\n".join([text, *(f"[{as_line(name)}]\n{content}" for name, content in attachments if content)]).strip()


def chat_document(
    origin: str, chat_id: object, title: object, messages: Iterable[Message | None]
) -> Iterator[Document]:
    """Yield the conversation as one document with a turn for each message; nothing if all messages are None.

    Args:
        origin: name of the format, with which the key begins.
        chat_id: the conversation's id in the export.

    Raises:
        DocumentError: the id is empty, or no text or number.
    """
    said = [message for message in messages if message is not None]
    if not isinstance(chat_id, (str, int)) or not str(chat_id).strip():
        raise DocumentError(f"Expected a conversation with an id, got {show(chat_id)}. Export it again.")
    if said:
        text, turns = render(said)
        name = as_line(title)[:_MOST_TITLE] if isinstance(title, str) else ""
        yield Document(text, make_key(origin, chat_id), name, metadata={"format": origin}, turns=turns)


def split_by_month(
    origin: str, chat_id: object, title: object, messages: Iterable[Message | None], *, months: Iterable[str] = ()
) -> Iterator[Document]:
    """Yield a document for each month of a conversation (see ``chat_document``), with the month in its key.

    Args:
        months: the month of each message, as "2024-05"; by default that of its time. A message without a time belongs
            to the month of the message before it.
    """
    by_name: dict[str, list[Message | None]] = {}
    name = "undated"
    for message, month in zip_longest(messages, months):
        name = month or (message.time[:7] if message and message.time else name)
        by_name.setdefault(name, []).append(message)
    for name, said in by_name.items():
        yield from chat_document(origin, f"{chat_id}/{name}", title, said)


def read_all(
    items: Iterable[Any], convert: Callable[[Any], Iterator[Document]], what: str
) -> Iterator[Document | Failure]:
    """Convert all conversations of an export into documents; yield a ``Failure`` for one that cannot be converted.

    Args:
        convert: yields the documents of one of the ``items``; its errors become failures, and the next item follows.
        what: name of an item in the error, such as "chatgpt conversation".
    """
    for index, item in enumerate(items):
        try:
            yield from convert(item)
        except MemgraphRagError as error:
            yield Failure(f"{what} {index}", error)
        except (LookupError, TypeError, ValueError, AttributeError, RecursionError) as error:
            failure = DocumentError(
                f"Expected a {what} in its usual form, got one without it ({type(error).__name__}: {show(error)}). The "
                "others are imported.",
                index=index,
            )
            failure.__cause__ = error
            yield Failure(f"{what} {index}", failure)
