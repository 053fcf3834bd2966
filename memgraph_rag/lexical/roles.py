"""Who speaks in a chat, by the names of roles.

It knows no conversation. Invariant: a name that is no role's is a person's.
"""

from __future__ import annotations

import re

__all__ = ["head_length", "is_machine", "is_user"]

_MACHINES = frozenset({"ai", "assistant", "bot", "chatbot", "model", "system", "tool"})

_USERS = frozenset({"human", "user"})


def is_user(speaker: str) -> bool:
    """Whether a speaker is the one whom the machine serves, by its role's name."""
    return speaker.casefold() in _USERS


def is_machine(speaker: str) -> bool:
    """Whether a speaker is the machine of a chat, by its role's name."""
    return speaker.casefold() in _MACHINES


def head_length(text: str, speaker: str) -> int:
    """Where a turn's words begin behind its speaker, perhaps a time in parentheses, and a colon; 0 within a turn.

    >>> head_length("Ann (2024-05-12): Hi: you!", "Ann"), head_length("Hi: you!", "Ann")
    (18, 0)
    """
    head = re.match(rf"{re.escape(speaker)}(?: \([^()]*\))?: ", text) if speaker else None
    return head.end() if head else 0
