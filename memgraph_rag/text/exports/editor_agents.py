"""Read the sessions of coding agents of editors: Cursor, and the chat of VS Code (Copilot).

Both keep their state as VS Code does: a folder for each workspace, whose ``workspace.json`` names the project's folder.
Invariants: turns are the person's prompts and the agent's texts; tools, thoughts and attached code are left out. The
forms are not published: sources and versions are in benchmarks/results/agent_formats.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname

from memgraph_rag.errors import DocumentError
from memgraph_rag.text.exports.agent_session import (
    AgentSession,
    AgentTurn,
    as_mapping,
    as_text,
    program_folder,
    read_lines,
)
from memgraph_rag.text.exports.conversations import utc_time
from memgraph_rag.text.exports.export_files import read_rows


def _find_folder(workspace: Path) -> str:
    """Return the project's folder of a workspace; empty for a workspace of several folders or of another machine."""
    try:
        address = urlsplit(as_text(as_mapping((workspace / "workspace.json").read_text("utf-8")).get("folder")))
    except (OSError, ValueError):
        return ""
    return url2pathname(unquote(address.path)) if address.scheme == "file" else ""


def _format_time(milliseconds: Any) -> str:
    return utc_time(milliseconds / 1000) or "" if isinstance(milliseconds, (int, float)) else ""


# ── Cursor ───────────────────────────────────────────────────────────────────────────────────────────────────

_CURSOR_ROLES = {1: "user", 2: "assistant"}
_ITEM = "SELECT value FROM ItemTable WHERE key = ?"
_COMPOSERS = """
SELECT substr(key, 14) AS session, value
FROM cursorDiskKV
WHERE key >= 'composerData:' AND key < 'composerData;'
ORDER BY key
"""
_BUBBLES = """
SELECT key, json_extract(form, '$.type') AS type, json_extract(form, '$.text') AS text,
    json_extract(form, '$.createdAt') AS createdAt
FROM (
    SELECT key, CASE WHEN json_valid(CAST(value AS TEXT)) THEN CAST(value AS TEXT) END AS form
    FROM cursorDiskKV
    WHERE key >= 'bubbleId:' AND key < 'bubbleId;'
)
WHERE json_extract(form, '$.text') <> ''
"""
"""The words of all sessions; results of tools and attached code are most of a database."""


def find_cursor(home: Path) -> Iterator[Path]:
    """Yield the path of Cursor's database, ``Cursor/User/globalStorage/state.vscdb`` in the settings, if it exists."""
    path = program_folder(home, "Cursor") / "User" / "globalStorage" / "state.vscdb"
    yield from [path] if path.is_file() else []


def read_cursor(path: Path) -> Iterator[AgentSession]:
    """Yield the sessions ("composers") of Cursor's database; a session without words is passed over.

    A bubble without a time, as older versions wrote it, has the time at which its session began.

    Raises:
        DocumentError: the database cannot be read.
    """
    folders = _cursor_folders(path)
    bubbles = {row["key"].removeprefix("bubbleId:"): row for row in read_rows(path, _BUBBLES)}
    for row in read_rows(path, _COMPOSERS):
        session_id, composer = row["session"], as_mapping(row["value"])
        inline = composer.get("conversation") or ()  # versions before 1.0 have the bubbles in it
        listed = [
            bubbles.get(f"{session_id}:{as_text(as_mapping(head).get('bubbleId'))}", as_mapping(head))
            for head in composer.get("fullConversationHeadersOnly") or inline
        ]
        turns = tuple(turn for bubble in listed if (turn := _cursor_turn(bubble, composer)))
        if turns:
            yield AgentSession("cursor", session_id, folders.get(session_id, ""), turns)


def _cursor_turn(bubble: Mapping[str, Any], composer: Mapping[str, Any]) -> AgentTurn | None:
    role, words = _CURSOR_ROLES.get(bubble.get("type", 0)), as_text(bubble.get("text")).strip()
    moment = as_text(bubble.get("createdAt")) or _format_time(composer.get("createdAt"))
    return AgentTurn.from_words(role, words, moment) if role and words else None


def _cursor_folders(path: Path) -> dict[str, str]:
    """Return the project's folder of each session: from the list of each workspace, or, since 3.0, from one list."""
    folders: dict[str, str] = {}
    for workspace in sorted((path.parents[1] / "workspaceStorage").glob("*/state.vscdb")):
        try:
            listed = _composers(workspace, "composer.composerData")
        except DocumentError:
            continue
        folders |= {as_text(each.get("composerId")): _find_folder(workspace.parent) for each in listed}
    for each in _composers(path, "composer.composerHeaders"):
        uri = as_mapping(as_mapping(each.get("workspaceIdentifier")).get("uri"))
        if folder := as_text(uri.get("fsPath")) or as_text(uri.get("path")):
            folders[as_text(each.get("composerId"))] = folder
    return folders


def _composers(path: Path, key: str) -> list[Mapping[str, Any]]:
    rows = read_rows(path, _ITEM, (key,))
    return [as_mapping(each) for row in rows for each in as_mapping(row["value"]).get("allComposers") or ()]


# ── VS Code ──────────────────────────────────────────────────────────────────────────────────────────────────


def find_vscode(home: Path) -> Iterator[Path]:
    """Yield the paths of VS Code's session files, one a session: of each workspace, then of windows without one."""
    user = program_folder(home, "Code") / "User"
    for pattern in ("workspaceStorage/*/chatSessions/*.json*", "globalStorage/emptyWindowChatSessions/*.json*"):
        for path in sorted(user.glob(pattern)):
            if path.suffix == ".jsonl" or not path.with_suffix(".jsonl").exists():  # the log goes on from the JSON
                yield path


def read_vscode(path: Path) -> Iterator[AgentSession]:
    """Yield the session of a file: JSON, or, since version 1.109, a log of changes to it.

    Raises:
        OSError: the file cannot be read.
    """
    session = _replay(path) if path.suffix == ".jsonl" else as_mapping(path.read_text("utf-8", errors="replace"))
    turns: list[AgentTurn] = []
    for request in map(as_mapping, session.get("requests") or ()):
        message, request_id = request.get("message"), as_text(request.get("requestId"))
        prompt = as_text(message) or as_text(as_mapping(message).get("text"))
        reply = "".join(_vscode_words(part) for part in request.get("response") or ())
        for role, words in (("user", prompt), ("assistant", reply)):
            if words.strip() and request_id:
                moment = _format_time(request.get("timestamp") or session.get("creationDate"))
                turns.append(AgentTurn(f"{request_id}/{role}", role, words.strip(), moment))
    folder = _find_folder(path.parents[1])
    yield AgentSession("vscode", as_text(session.get("sessionId")) or path.stem, folder, tuple(turns))


def _vscode_words(part: Any) -> str:
    """Return the text of a part of a response: Markdown, or the name of a file or symbol within it."""
    form = as_mapping(part)
    match form.get("kind"):
        case None:
            return as_text(form.get("value"))
        case "markdownContent":
            return as_text(as_mapping(form.get("content")).get("value"))
        case "inlineReference":
            return as_text(form.get("name")) or Path(as_text(as_mapping(form.get("inlineReference")).get("path"))).name
        case _:
            return ""


def _replay(path: Path) -> Mapping[str, Any]:
    """Return the session after all changes of its log; a change at a place that does not exist is passed over.

    An entry has a kind (0 is the whole session, 1 sets, 2 appends after cutting to ``i``, 3 deletes), the keys ``k`` of
    the place, and the value ``v``.
    """
    session: Any = {}
    for entry in read_lines(path):
        keys, value = entry.get("k") or [], entry.get("v")
        try:
            if not keys:
                session = value
                continue
            place = session
            for key in keys[:-1]:
                place = place[key]
            _change(place, keys[-1], entry)
        except (LookupError, TypeError):
            continue
    return as_mapping(session)


def _change(place: Any, key: Any, entry: Mapping[str, Any]) -> None:
    match entry.get("kind"):
        case 1:
            place[key] = entry.get("v")
        case 2:
            items = place[key]
            del items[entry.get("i", len(items)) :]
            items += entry.get("v") or []
        case 3:
            del place[key]
        case _:
            return
