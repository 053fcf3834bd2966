"""``AgentSession``: a session of a coding agent, and the lines of its log.

The module knows JSON Lines. Invariant: a log that is still being written can be read: a broken line is passed over.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import platformdirs


@dataclass(frozen=True, slots=True)
class AgentTurn:
    """A turn of a session: the words of the person or of the agent, without tools, results and thoughts.

    Attributes:
        id: the same for the same turn whenever the log is read.
        role: "user" or "assistant".
        time: ISO 8601; empty if the log has none.
    """

    id: str
    role: str
    content: str
    time: str = ""

    @classmethod
    def from_words(cls, role: str, words: str, time: str = "") -> AgentTurn:
        """Return a turn whose id is a hash of its words, for a client whose log and hooks give turns different ids."""
        return cls(f"{role}/{hashlib.sha256(words.encode()).hexdigest()[:16]}", role, words, time)

    def as_message(self) -> dict[str, str]:
        """Return the turn as a message for ``Session.add``: id, role, content, and the time if it is known."""
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
            except (ValueError, RecursionError):
                continue
            if isinstance(form, Mapping):
                yield form


def program_folder(home: Path, program: str) -> Path:
    """Return the folder of a program's settings on this system, below the given home folder."""
    path = Path(platformdirs.user_config_dir(program, appauthor=False, roaming=True))
    try:
        return home / path.relative_to(Path.home())
    except ValueError:  # a variable such as XDG_CONFIG_HOME leads elsewhere
        return path


def as_mapping(value: object) -> Mapping[str, Any]:
    """Return the value, or the object in it if it is JSON; an empty mapping for anything else."""
    if isinstance(value, (str, bytes)):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return {}
    return value if isinstance(value, Mapping) else {}


def as_text(value: object) -> str:
    """Return the value if it is a text, else an empty text."""
    return value if isinstance(value, str) else ""
