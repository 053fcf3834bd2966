"""Read the sessions of Codex: ``~/.codex/sessions/YYYY/MM/DD/rollout-….jsonl``, one record a line.

The module knows one file at a time. Invariants: turns are the events ``user_message`` and ``agent_message``; the items
of the model's transcript repeat them and hold instructions, so they are left out; the id of a turn is its number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from memgraph_rag.text.exports.agent_session import AgentSession, AgentTurn, read_lines

__all__ = ["CLIENT", "find_logs", "read_session"]

CLIENT = "codex"

_ROLES = {"user_message": "user", "agent_message": "assistant"}


def find_logs(home: Path) -> Iterator[Path]:
    """Yield the logs below the person's home folder, sorted by path."""
    yield from sorted((home / ".codex" / "sessions").glob("*/*/*/rollout-*.jsonl"))


def read_session(path: Path) -> AgentSession:
    """Return the session of a log. A session of a subagent has its own log, without turns of a person.

    Raises:
        OSError: the file cannot be read.
    """
    session_id, folder = path.stem[-36:], ""
    turns: list[AgentTurn] = []
    for record in read_lines(path):
        payload = record.get("payload")
        if not isinstance(payload, Mapping):
            continue
        if record.get("type") == "session_meta":
            session_id, folder = _text(payload.get("id")) or session_id, _text(payload.get("cwd")) or folder
        elif record.get("type") == "event_msg" and (role := _ROLES.get(_text(payload.get("type")))):
            words = _text(payload.get("message")).strip()
            if words:
                turns.append(AgentTurn(f"{session_id}/{len(turns)}", role, words, _text(record.get("timestamp"))))
    return AgentSession(CLIENT, session_id, folder, tuple(turns))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
