"""Logs of coding agents: the person's prompts and the agent's words are turns, and nothing else is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from memgraph_rag.text.exports import claude_code, codex


def write(path: Path, *records: dict[str, Any] | str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{each if isinstance(each, str) else json.dumps(each)}\n" for each in records))
    return path


def record(uuid: str, kind: str, content: object, **more: object) -> dict[str, Any]:
    message = {"role": kind, "content": content}
    return {"type": kind, "uuid": uuid, "message": message, "cwd": "/src", "timestamp": "2026-11-27T08:00:00Z", **more}


def test_claude_code_log_gives_prompts_and_replies(tmp_path: Path) -> None:
    reminder = "<system-reminder>Never mention this.</system-reminder>"
    path = write(
        tmp_path / ".claude" / "projects" / "-src" / "abc.jsonl",
        {"type": "file-history-snapshot", "messageId": "x"},
        record("1", "user", f"Let's use SQLite. {reminder}"),
        record("2", "assistant", [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Done."}]),
        record("3", "assistant", [{"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "ls"}}]),
        record("4", "user", [{"type": "tool_result", "tool_use_id": "t", "content": "db.py"}]),
        record("5", "user", "<command-name>/clear</command-name>"),
        record("6", "user", "the whole story so far", isCompactSummary=True),
        record("7", "user", "look into it", isSidechain=True),
        record("8", "user", "[Request interrupted by user]"),
        '{"type": "user", "uu',
    )
    assert list(claude_code.find_logs(tmp_path)) == [path]
    session = claude_code.read_session(path)
    assert (session.client, session.id, session.folder) == ("claude-code", "abc", "/src")
    assert [(turn.id, turn.role, turn.content) for turn in session.turns] == [
        ("1", "user", "Let's use SQLite."),
        ("2", "assistant", "Done."),
    ]


def test_codex_log_gives_events_not_items(tmp_path: Path) -> None:
    def line(kind: str, **payload: object) -> dict[str, Any]:
        return {"timestamp": "2026-11-27T08:00:00.000Z", "type": kind, "payload": payload}

    instructions = [{"type": "input_text", "text": "<environment_context>…</environment_context>"}]
    path = write(
        tmp_path / ".codex" / "sessions" / "2026" / "11" / "27" / "rollout-2026-11-27T08-00-00-u.jsonl",
        line("session_meta", id="0199", cwd="/src", originator="codex-tui"),
        line("response_item", type="message", role="user", content=instructions),
        line("event_msg", type="user_message", message="Let's use SQLite.", images=[]),
        line("event_msg", type="token_count", info=None),
        line("event_msg", type="agent_message", message="Done."),
        line("response_item", type="message", role="assistant", content=[{"type": "output_text", "text": "Done."}]),
    )
    assert list(codex.find_logs(tmp_path)) == [path]
    session = codex.read_session(path)
    assert (session.id, session.folder) == ("0199", "/src")
    assert [(turn.id, turn.role, turn.content) for turn in session.turns] == [
        ("0199/0", "user", "Let's use SQLite."),
        ("0199/1", "assistant", "Done."),
    ]
