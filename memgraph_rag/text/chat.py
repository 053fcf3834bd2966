"""Chat messages as one readable text.

It knows neither keys nor documents. Invariant: each message is a paragraph of its own, in the order given, its
content verbatim, so that a citation of the text can be found in the message.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from memgraph_rag.errors import DocumentError
from memgraph_rag.types import Message

__all__ = ["render"]


def render(messages: Sequence[Message | Mapping[str, Any]]) -> str:
    r"""The conversation, a paragraph per message.

    Args:
        messages: ``Message``, or mappings with role, content and perhaps time (str or datetime); other entries of
            a mapping are passed over.

    Raises:
        DocumentError: there is no message, or one has no role or content.

    >>> render([Message("user", "Is it raining?", "2024-05-01T10:00"), {"role": "assistant", "content": "No."}])
    'user (2024-05-01T10:00): Is it raining?\n\nassistant: No.'
    """
    if not messages:
        raise DocumentError("Expected at least one chat message, got an empty list.")
    return "\n\n".join(_paragraph(index, message) for index, message in enumerate(messages))


def _paragraph(index: int, message: object) -> str:
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
    for name, value in (("role", role), ("content", content)):
        if not isinstance(value, str) or not value.strip():
            got = repr(value) if value is None or isinstance(value, str) else type(value).__name__
            raise DocumentError(
                f"Expected the {name} of message {index} as a non-empty str, got {got}. "
                "Set it, or leave the message out.",
                index=index,
            )
    if time is not None and not isinstance(time, (str, date)):
        raise DocumentError(
            f"Expected the time of message {index} as ISO 8601 or a datetime, got {type(time).__name__}.", index=index
        )
    moment = time.isoformat() if isinstance(time, date) else time
    return f"{role} ({moment}): {content}" if moment else f"{role}: {content}"
