"""The coding agents and chat programs that can be connected, and what each keeps in its settings.

Sources and versions of the formats are in benchmarks/results/agent_formats.md. The module knows no content of a file.
Invariant: an edit adds one member or item; no client's other settings are named here.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from memgraph_rag.agents import hook
from memgraph_rag.display import show
from memgraph_rag.errors import SettingsError
from memgraph_rag.text.exports.agent_session import program_folder

SERVER = "memory"
"""The name of the server in a client's list."""

CLIENTS = ("claude-code", "codex", "cursor", "opencode", "vscode", "claude-desktop", "windsurf")
"""Names of clients that can be connected."""

_HOOK_S = 30  # a client's limit for a hook: the first of a day waits for the server to start
_CLAUDE_EVENTS = ("SessionStart", "UserPromptSubmit", "PreCompact", "Stop", "SessionEnd")
_CODEX_EVENTS = ("SessionStart", "UserPromptSubmit", "PreCompact", "Stop")
_CURSOR_EVENTS = ("sessionStart", "beforeSubmitPrompt", "afterAgentResponse")


@dataclass(frozen=True, slots=True)
class Edit:
    """One addition to a file.

    Attributes:
        how: "member" sets a member of an object, "item" appends to an array, "file" writes the whole file.
        keys: the path of the member or of the array.
    """

    path: Path
    how: Literal["member", "item", "file"]
    keys: tuple[str, ...]
    value: Any


def list_edits(client: str, *, home: Path, folder: Path) -> list[Edit]:
    """Return the additions that connect a client.

    Args:
        home: the person's home folder.
        folder: the folder of the local server, which the hooks get.

    Raises:
        SettingsError: the client is unknown.
    """
    if client not in CLIENTS:
        raise SettingsError(f"Expected a client out of {', '.join(CLIENTS)}, got {show(client)}. Name one of them.")
    command = [*_own_command(), "agent", "mcp", "--folder", str(folder)]
    plain = {"command": command[0], "args": command[1:]}
    typed = {"type": "stdio", **plain}
    match client:
        case "claude-code":
            hooks = [_make_hook(home / ".claude" / "settings.json", client, event, folder) for event in _CLAUDE_EVENTS]
            text = (files("memgraph_rag.agents") / "SKILL.md").read_text("utf-8")
            skill = Edit(home / ".claude" / "skills" / SERVER / "SKILL.md", "file", (), text)
            return [_member(home / ".claude.json", "mcpServers", typed), *hooks, skill]
        case "codex":
            hooks = [_make_hook(home / ".codex" / "hooks.json", client, event, folder) for event in _CODEX_EVENTS]
            return [_member(home / ".codex" / "config.toml", "mcp_servers", plain), *hooks]
        case "cursor":
            return [_member(home / ".cursor" / "mcp.json", "mcpServers", plain), *_cursor_hooks(home, folder)]
        case "opencode":
            value = {"type": "local", "command": command, "enabled": True}
            return [_member(_opencode_file(home), "mcp", value)]
        case "vscode":
            return [_member(program_folder(home, "Code") / "User" / "mcp.json", "servers", typed)]
        case "claude-desktop":
            return [_member(program_folder(home, "Claude") / "claude_desktop_config.json", "mcpServers", plain)]
        case _:
            return [_member(home / ".codeium" / "windsurf" / "mcp_config.json", "mcpServers", plain)]


def _own_command() -> list[str]:
    """Return the command line of this package. Neither form imports modules from the folder of a project."""
    script = Path(sys.executable).with_name("memgraph-rag")
    return [str(script)] if script.is_file() else [sys.executable, "-I", "-m", "memgraph_rag"]


def _member(path: Path, key: str, value: Any) -> Edit:
    return Edit(path, "member", (key, SERVER), value)


def _make_hook(path: Path, client: str, event: str, folder: Path) -> Edit:
    """Return a hook in the form of Claude Code and Codex: a group without a matcher, so that it always runs."""
    entry = {"type": "command", "command": _hook_command(folder, client, event), "timeout": _HOOK_S}
    return Edit(path, "item", ("hooks", event), {"hooks": [entry]})


def _cursor_hooks(home: Path, folder: Path) -> list[Edit]:
    path = home / ".cursor" / "hooks.json"
    events = [
        Edit(path, "item", ("hooks", event), {"command": _hook_command(folder, "cursor", event)})
        for event in _CURSOR_EVENTS
    ]
    return [Edit(path, "member", ("version",), 1), *events]


def _hook_command(folder: Path, client: str, event: str) -> str:
    """Return the command of a hook. ``-I -S`` spares what slows the start of Python down and what it does not need."""
    parts: Sequence[str] = (sys.executable, "-I", "-S", hook.__file__, str(folder), client, event)
    return shlex.join(parts)


def _opencode_file(home: Path) -> Path:
    with_comments = home / ".config" / "opencode" / "opencode.jsonc"
    return with_comments if with_comments.exists() else with_comments.with_suffix(".json")
