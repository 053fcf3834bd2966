"""Who speaks in a chat, by the names of roles.

It knows no conversation. Invariant: a name that is no role's is a person's.
"""

from __future__ import annotations

__all__ = ["is_machine"]

_MACHINES = frozenset({"ai", "assistant", "bot", "chatbot", "model", "system", "tool"})


def is_machine(speaker: str) -> bool:
    """Whether a speaker is the machine of a chat, by its role's name."""
    return speaker.casefold() in _MACHINES
