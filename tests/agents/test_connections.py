"""Settings of clients: only the additions are new, and disconnecting takes back exactly these."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import json5
import pytest
import tomlkit
from recorded_day import CLAUDE_SETTINGS, CLAUDE_STATE
from tables import table

from memgraph_rag.agents import jsonc
from memgraph_rag.agents.clients import CLIENTS, list_edits
from memgraph_rag.agents.connections import Connections, plan_changes
from memgraph_rag.errors import SettingsError
from memgraph_rag.private_files import write_private

CODEX_CONFIG = """# my model
model = "gpt-5.2"

[mcp_servers.docs] # pages
command = "npx"
args = ["-y", "docs-mcp"]

[projects."/src/shop"]
trust_level = "trusted"
"""

SAMPLES: dict[str, dict[str, str]] = {
    "claude-code": {".claude.json": CLAUDE_STATE, ".claude/settings.json": CLAUDE_SETTINGS},
    "codex": {".codex/config.toml": CODEX_CONFIG, ".codex/hooks.json": '{"hooks": {}}'},
    "cursor": {
        ".cursor/mcp.json": '{\r\n\t"mcpServers": {\r\n\t\t"a": {"command": "b"}\r\n\t}\r\n}\r\n',
        ".cursor/hooks.json": '{"version": 1, "hooks": {"stop": [{"command": "./audit.sh"}]}}\n',
    },
    "opencode": {
        ".config/opencode/opencode.jsonc": '{\n  "$schema": "https://opencode.ai/config.json",\n'
        '  // colours\n  "theme": "opencode",\n  "mcp": {\n    "jira": {"type": "remote", "url": "https://j.example"},\n'
        "  },\n}\n"
    },
    "vscode": {
        ".config/Code/User/mcp.json": '{\n    "inputs": [],\n    "servers": {\n        // pictures\n'
        '        "draw": {"type": "stdio", "command": "draw"}\n    }\n}\n'
    },
    "claude-desktop": {".config/Claude/claude_desktop_config.json": '{"globalShortcut": ""}'},
    "windsurf": {".codeium/windsurf/mcp_config.json": '{\n  "mcpServers": {}\n}\n'},
}


def write_samples(client: str, home: Path) -> dict[Path, bytes]:
    for name, text in SAMPLES[client].items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_bytes(text.encode())
    return {home / name: text.encode() for name, text in SAMPLES[client].items()}


def read(path: Path) -> object:
    text = path.read_text("utf-8")
    return tomlkit.parse(text).unwrap() if path.suffix == ".toml" else json5.loads(text)


def contains(whole: object, part: object) -> bool:
    if isinstance(part, dict):
        return isinstance(whole, dict) and all(contains(whole.get(key), value) for key, value in part.items())
    if isinstance(part, list):
        return isinstance(whole, list) and whole[: len(part)] == part
    return whole == part


def is_subsequence(part: str, whole: str) -> bool:
    characters = iter(whole)
    return all(character in characters for character in part)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


def connect(client: str, home: Path) -> Connections:
    connections = Connections(home / "agents")
    connections.connect(client, plan_changes(list_edits(client, home=home, folder=home / "agents")))
    return connections


@table("client", CLIENTS)
def test_every_client_has_a_sample(client: str) -> None:
    assert client in SAMPLES


@pytest.mark.parametrize("client", CLIENTS)
def test_connecting_keeps_other_settings_and_comments(client: str, home: Path) -> None:
    before = write_samples(client, home)
    former = {path: read(path) for path in before}
    connect(client, home)
    for path, content in before.items():
        assert contains(read(path), former[path]), path.read_text()
        assert is_subsequence(content.decode(), path.read_bytes().decode()), "only insertions"
    assert any("agent" in path.read_text() and "mcp" in path.read_text() for path in before)
    assert plan_changes(list_edits(client, home=home, folder=home / "agents")) == []


@pytest.mark.parametrize("client", CLIENTS)
def test_disconnecting_restores_every_byte(client: str, home: Path) -> None:
    before = write_samples(client, home)
    connections = connect(client, home)
    connections.disconnect(client, connections.plan_disconnect(client))
    after = {path: path.read_bytes() for path in home.rglob("*") if path.is_file() and "agents" not in path.parts}
    assert after == before
    assert connections.all() == {}


@pytest.mark.parametrize("client", CLIENTS)
def test_disconnecting_keeps_what_the_client_wrote_meanwhile(client: str, home: Path) -> None:
    before = write_samples(client, home)
    connections = connect(client, home)
    former: dict[Path, object] = {}
    for path, content in before.items():
        former[path] = (
            tomlkit.parse(content.decode()).unwrap() if path.suffix == ".toml" else json5.loads(content.decode())
        )
        if path.suffix == ".toml":
            path.write_text(path.read_text() + '\n[tui]\ntheme = "dark"\n')
            former[path]["tui"] = {"theme": "dark"}
        else:  # as a client does that writes its whole state anew
            path.write_text(json.dumps({**read(path), "new": 1}, indent=2))
            former[path]["new"] = 1
    connections.disconnect(client, connections.plan_disconnect(client))
    assert {path: read(path) for path in before} == former


@pytest.mark.parametrize("client", CLIENTS)
def test_a_home_without_settings_is_left_without_settings(client: str, home: Path) -> None:
    connections = connect(client, home)
    connections.disconnect(client, connections.plan_disconnect(client))
    assert [path for path in home.rglob("*") if path.is_file() and "agents" not in path.parts] == []


def test_another_server_of_the_name_and_a_broken_file_are_refused(home: Path) -> None:
    path = home / ".cursor" / "mcp.json"
    path.parent.mkdir()
    path.write_text('{"mcpServers": {"memory": {"command": "other"}}}')
    with pytest.raises(SettingsError, match=r"Expected no mcpServers\.memory in .*Remove it"):
        connect("cursor", home)
    path.write_text("{")
    with pytest.raises(SettingsError, match="Expected JSON, got another text"):
        connect("cursor", home)
    assert path.read_text() == "{"
    with pytest.raises(SettingsError, match="Expected a client out of claude-code, codex"):
        list_edits("emacs", home=home, folder=home)
    with pytest.raises(SettingsError, match="Expected a connected client, got 'codex'"):
        Connections(home / "agents").plan_disconnect("codex")


def test_disconnecting_takes_back_what_two_versions_wrote(home: Path) -> None:
    before = write_samples("claude-code", home)
    connections = connect("claude-code", home)
    edits = list_edits("claude-code", home=home, folder=home / "agents")
    newer = [replace(edit, value=f"{edit.value}More.") if edit.how == "file" else edit for edit in edits]
    connections.connect("claude-code", plan_changes(newer))
    connections.disconnect("claude-code", connections.plan_disconnect("claude-code"))
    after = {path: path.read_bytes() for path in home.rglob("*") if path.is_file() and "agents" not in path.parts}
    assert after == before


def test_half_of_a_connection_is_taken_back(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def write(path: Path, content: bytes, *, mode: int) -> None:
        if path.name == "settings.json":
            raise PermissionError(path)
        write_private(path, content, mode=mode)

    before = write_samples("claude-code", home)
    with monkeypatch.context() as patch:
        patch.setattr("memgraph_rag.agents.connections.write_private", write)
        with pytest.raises(PermissionError):
            connect("claude-code", home)
    assert "memory" in (home / ".claude.json").read_text()
    connections = Connections(home / "agents")
    connections.disconnect("claude-code", connections.plan_disconnect("claude-code"))
    assert {path: path.read_bytes() for path in before} == before
    assert connections.all() == {}


def test_link_to_a_device_is_refused(home: Path) -> None:
    (home / ".cursor").mkdir()
    (home / ".cursor" / "mcp.json").symlink_to(os.devnull)
    edits = list_edits("cursor", home=home, folder=home / "agents")
    with pytest.raises(SettingsError, match=r"Expected a file of text, got .*mcp\.json'?, which is no regular file"):
        plan_changes(edits)


def test_file_that_changed_after_the_diff_is_refused(home: Path) -> None:
    before = write_samples("claude-code", home)
    state = home / ".claude.json"
    planned = plan_changes(list_edits("claude-code", home=home, folder=home / "agents"))
    state.write_text('{"written": "by the client"}')
    with pytest.raises(SettingsError, match=r"Expected '.*\.claude\.json' as in the diff, got a file that changed"):
        Connections(home / "agents").connect("claude-code", planned)
    assert state.read_text() == '{"written": "by the client"}'
    assert (home / ".claude" / "settings.json").read_bytes() == before[home / ".claude" / "settings.json"]
    connections = connect("claude-code", home)
    planned = connections.plan_disconnect("claude-code")
    state.write_text('{"written": "again"}')
    with pytest.raises(SettingsError, match="Run the command again"):
        connections.disconnect("claude-code", planned)
    assert [*connections.all()] == ["claude-code"]


@pytest.mark.parametrize(
    ("text", "wanted"), [("a = ", "TOML"), ("mcp_servers = 1", "a table"), ("[[mcp_servers]]", "a table")]
)
def test_broken_toml_is_refused(text: str, wanted: str, home: Path) -> None:
    (home / ".codex").mkdir()
    (home / ".codex" / "config.toml").write_text(text)
    edits = list_edits("codex", home=home, folder=home / "agents")
    with pytest.raises(SettingsError, match=rf"Expected {wanted}.*Correct '?/.*config\.toml"):
        plan_changes(edits)


@pytest.mark.parametrize(
    ("name", "text", "at"),
    [
        ("mcp.json", '{"mcpServers": []}', "an object at mcpServers"),
        ("mcp.json", "[]", "an object at the top"),
        ("hooks.json", '{"hooks": []}', "an object at hooks"),
        ("hooks.json", '{"hooks": {"sessionStart": {}}}', r"an array at hooks\.sessionStart"),
        ("hooks.json", '{"hooks": {"sessionStart": "none"}}', r"an array at hooks\.sessionStart"),
    ],
)
def test_value_of_another_kind_is_refused(name: str, text: str, at: str, home: Path) -> None:
    (home / ".cursor").mkdir()
    (home / ".cursor" / name).write_text(text)
    edits = list_edits("cursor", home=home, folder=home / "agents")
    with pytest.raises(SettingsError, match=f"Expected {at}, got another value"):
        plan_changes(edits)


def test_link_to_settings_stays_a_link_and_keeps_its_mode(home: Path) -> None:
    real = home / "dotfiles" / "mcp.json"
    real.parent.mkdir()
    real.write_text('{"mcpServers": {}}')
    real.chmod(0o640)
    (home / ".cursor").mkdir()
    (home / ".cursor" / "mcp.json").symlink_to(real)
    connect("cursor", home)
    assert (home / ".cursor" / "mcp.json").is_symlink()
    assert (real.stat().st_mode & 0o777, "memory" in real.read_text()) == (0o640, True)


@table(
    "text",
    [
        *("{}", "", '{"a": "\u2028"}', "{\n}\n", '{"a": 1}\n', "{\n  // nothing\n}\n"),
        '{\n  "x": {"a": 1, }, // tail\n}\n',
    ],
)
def test_member_is_added_and_removed_again(text: str) -> None:
    added = jsonc.set_member(text, ["x", "memory"], {"command": "c", "args": ["d"]})
    assert jsonc.parse(added)["x"]["memory"] == {"command": "c", "args": ["d"]}
    assert is_subsequence(text, added)
    removed = jsonc.parse(jsonc.remove_member(added, ["x", "memory"]))
    assert {**removed, "x": removed.get("x") or None} == {**jsonc.parse(text), "x": jsonc.parse(text).get("x")}
