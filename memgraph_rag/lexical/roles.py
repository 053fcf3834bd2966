"""Tell who speaks in a chat by the names of roles.

The module knows no conversation. Invariant: a name that is not a role is a person's name.
"""

from __future__ import annotations

import re

_MACHINES = frozenset({"ai", "assistant", "bot", "chatbot", "model", "system", "tool"})

_USERS = frozenset({"human", "user"})


def is_user(speaker: str) -> bool:
    """Return whether a speaker's name is "user" or "human", in any case: the person whom the machine serves.

    A person's own name is not.
    """
    return speaker.casefold() in _USERS


def is_machine(speaker: str) -> bool:
    """Return whether a speaker's name is a role of the machine, in any case.

    These are "ai", "assistant", "bot", "chatbot", "model", "system" and "tool".
    """
    return speaker.casefold() in _MACHINES


def head_length(text: str, speaker: str) -> int:
    """Return where a turn's words begin after "speaker (time): "; 0 if the text does not begin so.

    Without a speaker the result is 0. The time in round brackets may be missing.

    >>> head_length("Ann (2024-05-12): Hi: you!", "Ann"), head_length("Hi: you!", "Ann")
    (18, 0)
    """
    head = re.match(rf"{re.escape(speaker)}(?: \([^()]*\))?: ", text) if speaker else None
    return head.end() if head else 0
