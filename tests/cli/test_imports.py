"""``memgraph-rag import`` of exports and of agents' sessions, on a real file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from export_samples import SAMPLES


def test_export_is_imported_asked_and_forgotten(cli, tmp_path) -> None:
    path = SAMPLES["chatgpt"][0](tmp_path)

    first = cli.json("import", path, "--user", "ann")
    again = cli("import", "chatgpt", path, "--user", "ann")

    assert [(each["key"], each["action"]) for each in first["receipts"]] == [("chatgpt/6632-aa", "added")]
    assert "conversations: 1  unchanged: 1" in again.stdout
    assert any("red kayak" in each["text"] for each in cli.json("search", "red kayak", "--user", "ann"))
    cli("forget", "--user", "ann")
    assert cli.json("documents") == []


def test_conversation_that_grew_replaces_itself(cli, tmp_path) -> None:
    path = SAMPLES["claude"][0](tmp_path)
    cli("import", path)
    content = json.loads(path.read_text())
    content[0]["chat_messages"].append({"sender": "human", "text": "How long?", "created_at": "2024-05-02T10:00:00Z"})
    path.write_text(json.dumps([*content, {"uuid": "broken", "chat_messages": None}]))

    failed = cli("import", path, "--format", "claude", status=1).stdout

    assert "conversations: 2  failed: 1  replaced: 1" in failed
    assert [each["key"] for each in cli.json("documents")] == ["claude/c1-uuid"]


def test_several_archives_and_exports_come_together(cli, fox, tmp_path) -> None:
    archive, elsewhere = tmp_path / "all.jsonl", ("--store", tmp_path / "other.lbug")
    cli("export", archive)

    outcome = cli.json("import", archive, SAMPLES["telegram"][0](tmp_path), SAMPLES["mail"][0](tmp_path), *elsewhere)

    assert {each["key"] for each in outcome["receipts"]} == {"fox", "telegram/77/2024-05", "mail/1@a.b"}
    assert outcome["failures"] == []


@pytest.fixture
def codex_log(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The log of a session in a repository, below the home folder."""
    home, shop = tmp_path / "home", tmp_path / "shop"
    log = home / ".codex" / "sessions" / "2026" / "11" / "27" / "rollout-1.jsonl"
    for folder in (log.parent, shop / ".git"):
        folder.mkdir(parents=True)
    records = [
        {"type": "session_meta", "payload": {"id": "0199", "cwd": str(shop)}},
        {"type": "event_msg", "payload": {"type": "user_message", "message": "My key is AKIAIOSFODNN7EXAMPLE."}},
    ]
    log.write_text("".join(json.dumps(each) + "\n" for each in records))
    monkeypatch.setenv("HOME", str(home))
    return log


def test_sessions_of_an_agent_are_imported_into_their_project_once(cli, codex_log, tmp_path) -> None:
    namespace = f"project:{tmp_path / 'shop'}"
    first, again = (cli.json("import", "codex")["sessions"] for _ in range(2))
    assert first == [{"project": namespace, "session": "0199", "new_turns": 1}]
    assert again == [{"project": namespace, "session": "0199", "new_turns": 0}]
    assert cli.json("import", "codex", "--namespace", "project:other")["sessions"] == []
    (page,) = cli.json("search", "key", "--namespace", namespace)
    assert "My key is ********************." in page["text"]


def test_unreadable_log_fails_alone(cli, codex_log) -> None:
    outcome = cli.json("import", "codex", codex_log.with_name("gone.jsonl"), codex_log, status=1)
    assert [each["session"] for each in outcome["sessions"]] == ["0199"]
    assert "gone.jsonl" in outcome["failures"][0]["path"]
