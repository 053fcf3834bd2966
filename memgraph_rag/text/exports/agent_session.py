"""``AgentSession``: a session of a coding agent, and the lines of its log.

The module knows JSON Lines. Invariant: a log that is still being written can be read: a broken line is passed over.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["AgentSession", "AgentTurn", "read_lines"]


@dataclass(frozen=True, slots=True)
class AgentTurn:
    """What the person or the agent said, without tools, results and thoughts.

    Attributes:
        id: the same for the same turn whenever the log is read.
        role: "user" or "assistant".
        time: ISO 8601; empty if the log has none.
    """

    id: str
    role: str
    content: str
    time: str = ""

    def as_message(self) -> dict[str, str]:
        """Return the turn as ``Session.add`` takes it."""
        message = {"id": self.id, "role": self.role, "content": self.content}
        return {**message, "time": self.time} if self.time else message


@dataclass(frozen=True, slots=True)
class AgentSession:
    """A session: its client, its id, the folder in which it began, and its turns."""

    client: str
    id: str
    folder: str
    turns: tuple[AgentTurn, ...]


def read_lines(path: Path) -> Iterator[Mapping[str, Any]]:
    """Yield the objects of a file of JSON Lines; other lines are passed over.

    Raises:
        OSError: the file cannot be read.
    """
    with path.open("r", encoding="utf-8", errors="replace") as file:
        for line in file:
            try:
                form: Any = json.loads(line)
            except ValueError:
                continue
            if isinstance(form, Mapping):
                yield form
