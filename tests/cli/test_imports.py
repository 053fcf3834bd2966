"""``memgraph-rag import`` of exports, on a real file."""

from __future__ import annotations

import json

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
