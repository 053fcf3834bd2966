"""Render chat messages as one readable text.

The module knows neither keys nor documents. Invariants: each message is a paragraph of its own, in the given order,
with its content verbatim, so that a citation of the text can be found in the message; the turns cover the text without
gaps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from itertools import accumulate, pairwise
from typing import Any

from memgraph_rag.display import show
from memgraph_rag.errors import DocumentError
from memgraph_rag.lexical import timestamps
from memgraph_rag.types import Message, Turn

MAX_SPEAKER = 256
"""Most characters of a message's role. The role is the speaker of a turn, and each segment of the turn contains it."""

BETWEEN_TURNS = "\n\n"


def render(messages: Sequence[Message | Mapping[str, Any]]) -> tuple[str, tuple[Turn, ...]]:
    r"""Return the conversation as a text with one paragraph a message, and a turn for each message.

    The text contains a message's time as it was given. The turn contains it as ISO 8601, or no time if its day is not
    certain ("yesterday").

    Args:
        messages: ``Message``, or mappings with role, content and optional time (str or datetime); other entries of a
            mapping are ignored.

    Raises:
        DocumentError: the list is empty, or a message has no role or content.

    >>> text, turns = render([Message("user", "Rain?", "2024-05-01T10:00"), {"role": "assistant", "content": "No."}])
    >>> text
    'user (2024-05-01T10:00): Rain?\n\nassistant: No.'
    >>> [(turn.speaker, turn.time, text[turn.start : turn.end]) for turn in turns]
    [('user', '2024-05-01T10:00:00', 'user (2024-05-01T10:00): Rain?\n\n'), ('assistant', '', 'assistant: No.')]
    """
    if not messages:
        raise DocumentError("Expected at least one chat message, got an empty list.")
    read = [read_message(index, message) for index, message in enumerate(messages)]
    paragraphs = [write_paragraph(*parts) for parts in read]
    text = BETWEEN_TURNS.join(paragraphs)
    starts = accumulate((len(paragraph) + len(BETWEEN_TURNS) for paragraph in paragraphs[:-1]), initial=0)
    ranges = pairwise([*starts, len(text)])
    return text, tuple(
        Turn(start, end, role, timestamps.parse_time(moment))
        for (start, end), (role, _, moment) in zip(ranges, read, strict=True)
    )


def write_paragraph(role: str, content: str, moment: str) -> str:
    """Return a message as the paragraph "role (moment): content", or "role: content" if the moment is empty."""
    return f"{role} ({moment}): {content}" if moment else f"{role}: {content}"


def count_unread_times(messages: object, turns: Sequence[Turn]) -> int:
    """Return how many messages have a time that could not be read, so that their turns have none; 0 without a list.

    Args:
        turns: the turns of these messages, in the same order.
    """
    if not isinstance(messages, (list, tuple)):
        return 0
    times = (each.get("time") if isinstance(each, Mapping) else getattr(each, "time", None) for each in messages)
    return sum(bool(time) and not turn.time for time, turn in zip(times, turns, strict=False))


def read_message(index: int, message: object) -> tuple[str, str, str]:
    """Return role, content and time of a message.

    The time is a str as given, a date or datetime as ISO 8601, or empty. ``index`` is named in errors.

    Raises:
        DocumentError: it is not a message, it has no role or content, its role is longer than ``MAX_SPEAKER``, or its
            time has another type.
    """
    if isinstance(message, Message):
        role, content, time = message.role, message.content, message.time
    elif isinstance(message, Mapping):
        role, content, time = message.get("role"), message.get("content"), message.get("time")
    else:
        raise DocumentError(
            f"Expected chat messages with role and content, got {type(message).__name__} as number {index}. "
            "For several documents use add_many.",
            index=index,
        )
    if time is not None and not isinstance(time, (str, date)):
        raise DocumentError(
            f"Expected the time of message {index} as ISO 8601 or a datetime, got {type(time).__name__}. Convert it.",
            index=index,
        )
    moment = time.isoformat() if isinstance(time, date) else time or ""
    role = _require_text(index, "role", role)
    if len(role) > MAX_SPEAKER:
        raise DocumentError(
            f"Expected the role of message {index} as at most {MAX_SPEAKER} characters, got {len(role):,}. Put what is "
            "said into the content.",
            index=index,
            limit=MAX_SPEAKER,
        )
    return role, _require_text(index, "content", content), moment


def _require_text(index: int, name: str, value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        got = show(value) if value is None or isinstance(value, str) else type(value).__name__
        raise DocumentError(
            f"Expected the {name} of message {index} as a non-empty str, got {got}. Set it, or leave the message out.",
            index=index,
        )
    return value
