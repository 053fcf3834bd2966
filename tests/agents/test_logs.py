"""Logs of coding agents: the person's prompts and the agent's words are turns, and nothing else is.

The samples of Claude Code, Codex and OpenCode have the records that the named versions wrote, cut to some fields; those
of Cursor and VS Code have the shape that benchmarks/results/agent_formats.md names.
"""

from __future__ import annotations

import json
import sqlite3
import time
from pathlib import Path
from typing import Any

import pytest

from memgraph_rag.errors import DocumentError
from memgraph_rag.text.exports.agent_session import AgentSession, program_folder
from memgraph_rag.text.exports.formats import SESSION_LOGS

SAID = [("user", "Let's use SQLite."), ("assistant", "Done.")]
AT = 1_795_831_507_413  # 2026-11-28T02:05:07


def write(path: Path, *records: dict[str, Any] | str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{each if isinstance(each, str) else json.dumps(each)}\n" for each in records))
    return path


def record(uuid: str, kind: str, content: object, **more: object) -> dict[str, Any]:
    message = {"role": kind, "content": content}
    return {"type": kind, "uuid": uuid, "message": message, "cwd": "/src", "timestamp": "2026-11-27T08:00:00Z", **more}


def sessions(client: str, home: Path) -> list[AgentSession]:
    logs = SESSION_LOGS[client]
    return [session for path in logs.find(home) for session in logs.read(path)]


def said(session: AgentSession) -> list[tuple[str, str]]:
    return [(turn.role, turn.content) for turn in session.turns]


def test_claude_code_log_gives_prompts_and_replies(tmp_path: Path) -> None:
    reminder = "<system-reminder>Never mention this.</system-reminder>"
    write(
        tmp_path / ".claude" / "projects" / "-src" / "abc.jsonl",
        {"type": "queue-operation", "operation": "enqueue", "content": "Let's use SQLite."},
        {"type": "attachment", "uuid": "0", "attachment": {"type": "skill_listing", "content": "- deep-research"}},
        record("1", "user", f"Let's use SQLite. {reminder}"),
        record("2", "assistant", [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Done."}]),
        record("3", "assistant", [{"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "ls"}}]),
        record("4", "user", [{"type": "tool_result", "tool_use_id": "t", "content": "db.py"}]),
        record("5", "user", "<command-name>/clear</command-name>"),
        record("6", "user", "the whole story so far", isCompactSummary=True),
        record("7", "user", "look into it", isSidechain=True),
        record("8", "user", "[Request interrupted by user]"),
        record("9", "user", "<task-notification>\n<task-id>b27a792</task-id>\n</task-notification>"),
        {**record("10", "assistant", ""), "message": {"model": "<synthetic>", "content": "API Error: 529 Overloaded"}},
        '{"type": "user", "uu',
    )
    (session,) = sessions("claude-code", tmp_path)
    assert (session.client, session.id, session.folder) == ("claude-code", "abc", "/src")
    assert [turn.id for turn in session.turns] == ["1", "2"]
    assert said(session) == SAID


def test_open_tags_of_the_program_take_no_time(tmp_path: Path) -> None:
    words = f"{'<system-reminder>' * 100_000}<ide_selection>a</ide_selection> Hi.<command-name>b</command-name>"
    began = time.process_time()
    (session,) = SESSION_LOGS["claude-code"].read(write(tmp_path / "abc.jsonl", record("1", "user", words)))
    assert time.process_time() - began < 20  # hours, if each tag is followed to the end
    assert said(session) == [("user", f"{'<system-reminder>' * 100_000} Hi.")]


def test_deep_line_is_passed_over(tmp_path: Path) -> None:
    path = write(tmp_path / "abc.jsonl", "[" * 100_000, record("1", "user", "Let's use SQLite."))
    (session,) = SESSION_LOGS["claude-code"].read(path)
    assert said(session) == SAID[:1]


@pytest.mark.parametrize("requests", [5, [{"requestId": "1", "message": "Hi.", "timestamp": 10**400}]])
def test_log_of_another_form_is_refused(requests: object, tmp_path: Path) -> None:
    path = write(tmp_path / "workspace" / "chatSessions" / "abc.json", {"requests": requests})
    with pytest.raises(DocumentError, match="a log of sessions in its usual form, got one without it"):
        list(SESSION_LOGS["vscode"].read(path))


# ── Codex ────────────────────────────────────────────────────────────────────────────────────────────────────


def line(kind: str, **payload: object) -> dict[str, Any]:
    return {"timestamp": "2026-11-27T08:00:00.000Z", "type": kind, "payload": payload}


CODEX = {
    "0.171.0": [
        line("event_msg", type="item_completed", item={"type": "UserMessage", "id": "u", "content": [
            {"type": "text", "text": "Let's use SQLite.", "text_elements": []}]}),
        line("event_msg", type="item_completed", item={"type": "Reasoning", "id": "r", "summary_text": ["hm"]}),
        line("event_msg", type="item_completed", item={"type": "AgentMessage", "id": "a", "content": [
            {"type": "Text", "text": "Done."}]}),
        line("event_msg", type="task_complete", last_agent_message="Done."),
    ],
    "older": [
        line("event_msg", type="user_message", message="Let's use SQLite.", images=[]),
        line("event_msg", type="token_count", info=None),
        line("event_msg", type="agent_message", message="Done."),
    ],
}  # fmt: skip


@pytest.mark.parametrize("version", CODEX)
def test_codex_log_is_read_from_its_events(tmp_path: Path, version: str) -> None:
    instructions = [{"type": "input_text", "text": "<environment_context>…</environment_context>"}]
    reply = [{"type": "output_text", "text": "Done."}]
    write(
        tmp_path / ".codex" / "sessions" / "2026" / "11" / "27" / "rollout-2026-11-27T08-00-00-u.jsonl",
        line("session_meta", id="0199", cwd="/src", originator="codex-tui"),
        line("response_item", type="message", role="user", content=instructions),
        *CODEX[version],
        line("response_item", type="message", role="assistant", content=reply),
    )
    (session,) = sessions("codex", tmp_path)
    assert (session.id, session.folder) == ("0199", "/src")
    assert [turn.id for turn in session.turns] == ["0199/0", "0199/1"]
    assert said(session) == SAID


# ── OpenCode, Cursor ─────────────────────────────────────────────────────────────────────────────────────────


def database(path: Path, *statements: str, **rows: list[tuple[object, ...]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with sqlite3.connect(path) as connection:
        for statement in statements:
            connection.execute(statement)
        for table, values in rows.items():
            connection.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(values[0]))})", values)
    connection.close()


def test_opencode_database_gives_texts_of_whole_sessions(tmp_path: Path) -> None:
    def part(number: int, message: str, **data: object) -> tuple[str, str, str]:
        return (f"prt_{number}", message, json.dumps(data))

    database(
        tmp_path / ".local" / "share" / "opencode" / "opencode.db",
        "CREATE TABLE session (id text PRIMARY KEY, parent_id text, directory text NOT NULL, time_created integer)",
        "CREATE TABLE message (id text PRIMARY KEY, session_id text, time_created integer, data text NOT NULL)",
        "CREATE TABLE part (id text PRIMARY KEY, message_id text NOT NULL, data text NOT NULL)",
        session=[("ses_1", None, "/src", AT), ("ses_2", "ses_1", "/src", AT)],
        message=[
            ("msg_1", "ses_1", AT, '{"role": "user"}'),
            ("msg_2", "ses_1", AT + 1000, '{"role": "assistant"}'),
            ("msg_3", "ses_2", AT, '{"role": "user"}'),
        ],
        part=[
            part(1, "msg_1", type="text", text="Let's use SQLite."),
            part(2, "msg_1", type="text", text="Called the Read tool.", synthetic=True),
            part(3, "msg_2", type="reasoning", text="hm"),
            part(4, "msg_2", type="tool", tool="bash", state={}),
            part(5, "msg_2", type="text", text="Done."),
            part(6, "msg_3", type="text", text="Look into it."),
        ],
    )
    (session,) = sessions("opencode", tmp_path)
    assert (session.id, session.folder, said(session)) == ("ses_1", "/src", SAID)
    assert [(turn.id, turn.time) for turn in session.turns] == [
        ("msg_1", "2026-11-28T02:05:07+00:00"),
        ("msg_2", "2026-11-28T02:05:08+00:00"),
    ]


TABLES = [
    f"CREATE TABLE {name} (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)" for name in ("ItemTable", "cursorDiskKV")
]


def bubble(kind: int, text: str, **more: object) -> dict[str, object]:
    return {"_v": 3, "type": kind, "bubbleId": f"b{kind}", "text": text, **more}


def rows(**values: object) -> list[tuple[object, ...]]:
    return [(key.replace("__", ":"), json.dumps(value)) for key, value in values.items()]


def test_cursor_database_gives_bubbles_of_each_composer(tmp_path: Path) -> None:
    user = program_folder(tmp_path, "Cursor") / "User"
    workspace = user / "workspaceStorage" / "8af6"
    listed = {"allComposers": [{"composerId": "c1"}, {"composerId": "c2"}]}
    database(workspace / "state.vscdb", *TABLES, ItemTable=[("composer.composerData", json.dumps(listed))])
    (workspace / "workspace.json").write_text('{"folder": "file:///src/my%20shop"}')
    heads = [{"bubbleId": "b1", "type": 1}, {"bubbleId": "b9", "type": 2}, {"bubbleId": "b2", "type": 2}]
    database(
        user / "globalStorage" / "state.vscdb",
        *TABLES,
        ItemTable=[
            (
                "composer.composerHeaders",
                b'{"allComposers": [{"composerId": "c3", "workspaceIdentifier": {"uri": {"fsPath": "/src/new"}}}]}',
            )
        ],
        cursorDiskKV=[
            *rows(
                composerData__c1={"_v": 10, "createdAt": AT, "fullConversationHeadersOnly": heads},
                bubbleId__c1__b1=bubble(1, "Let's use SQLite.", createdAt="2026-11-28T02:05:07.413Z"),
                bubbleId__c1__b9=bubble(2, "", thinking={"text": "hm"}, toolFormerData={"name": "read_file"}),
                bubbleId__c1__b2=bubble(2, "Done."),
                composerData__c2={"createdAt": AT, "conversation": [bubble(1, "Hello from 0.45."), bubble(2, "Hi.")]},
                composerData__c3={"createdAt": AT, "fullConversationHeadersOnly": heads[:1]},
                bubbleId__c3__b1=bubble(1, "Hello from 3.0."),
                composerData__c4={"fullConversationHeadersOnly": []},
            ),
            ("composerData:c5", None),
        ],
    )
    first, old, new = sessions("cursor", tmp_path)
    assert (first.id, first.folder, said(first)) == ("c1", "/src/my shop", SAID)
    assert [turn.time for turn in first.turns] == ["2026-11-28T02:05:07.413Z", "2026-11-28T02:05:07+00:00"]
    assert (old.id, old.folder, said(old)) == (
        "c2",
        "/src/my shop",
        [("user", "Hello from 0.45."), ("assistant", "Hi.")],
    )
    assert (new.id, new.folder) == ("c3", "/src/new")


# ── VS Code ──────────────────────────────────────────────────────────────────────────────────────────────────

REQUEST = {"requestId": "r1", "timestamp": AT, "message": {"text": "Let's use SQLite.", "parts": []}, "response": []}
REPLY = [
    {"kind": "thinking", "value": "hm"},
    {"kind": "toolInvocationSerialized", "invocationMessage": {"value": "Reading db.py"}},
    {"value": "Done", "supportThemeIcons": False},
    {"kind": "markdownContent", "content": {"value": "."}},
]


def vscode(home: Path) -> Path:
    workspace = program_folder(home, "Code") / "User" / "workspaceStorage" / "8af6"
    write(workspace / "workspace.json", '{"folder": "file:///src"}')
    return workspace / "chatSessions"


def test_vscode_json_gives_requests_and_responses(tmp_path: Path) -> None:
    whole = {"version": 3, "sessionId": "s1", "creationDate": AT, "requests": [{**REQUEST, "response": REPLY}]}
    write(vscode(tmp_path) / "s1.json", whole)
    (session,) = sessions("vscode", tmp_path)
    assert (session.id, session.folder, said(session)) == ("s1", "/src", SAID)
    assert [turn.id for turn in session.turns] == ["r1/user", "r1/assistant"]


def test_replayed_log_replaces_json_of_vscode(tmp_path: Path) -> None:
    folder = vscode(tmp_path)
    write(folder / "s1.json", {"sessionId": "s1", "requests": [{**REQUEST, "requestId": "r0"}]})
    write(
        folder / "s1.jsonl",
        {"kind": 0, "v": {"version": 3, "sessionId": "s1", "creationDate": AT, "requests": []}},
        {"kind": 2, "k": ["requests"], "v": [{**REQUEST, "message": {"text": "Never mind."}}]},
        {"kind": 2, "k": ["requests"], "v": [REQUEST], "i": 0},
        {"kind": 2, "k": ["requests", 0, "response"], "v": [{"value": "Let me th"}]},
        {"kind": 2, "k": ["requests", 0, "response"], "v": REPLY, "i": 0},
        {"kind": 1, "k": ["requests", 0, "timestamp"], "v": AT + 1000},
        {"kind": 1, "k": ["requests", 7, "timestamp"], "v": AT},
        {"kind": 3, "k": ["creationDate"]},
    )
    (session,) = sessions("vscode", tmp_path)
    assert said(session) == SAID
    assert session.turns[0].time == "2026-11-28T02:05:08+00:00"
