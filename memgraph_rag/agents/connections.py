"""Write a client's settings, and take back exactly what was written.

The module knows edits and files, and no client. Invariants: each file is replaced as a whole or not at all, and
``connect`` keeps a copy of the former one; a file that nothing changed since gets its former bytes back; in a file that
changed meanwhile only the added members and items are removed; nothing is written if one edit cannot be made, or if a
file changed after its change was planned.
"""

from __future__ import annotations

import difflib
import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError

from memgraph_rag.agents import jsonc
from memgraph_rag.agents.clients import Edit
from memgraph_rag.display import show
from memgraph_rag.errors import SettingsError
from memgraph_rag.private_files import write_private


@dataclass(frozen=True, slots=True)
class Change:
    """A file before and after; None for a file that does not exist.

    Attributes:
        made: for each edit, how many of the keys on its path existed before the edit.
    """

    path: Path
    before: bytes | None
    after: bytes | None
    edits: tuple[Edit, ...]
    made: tuple[int, ...] = ()

    @property
    def diff(self) -> str:
        """The change as a unified diff."""
        old, new = ((content or b"").decode().splitlines(keepends=True) for content in (self.before, self.after))
        lines = difflib.unified_diff(old, new, str(self.path), str(self.path))
        return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


def plan_changes(edits: Sequence[Edit]) -> list[Change]:
    """Return the changes that edits make, one for each file; an edit whose value is in the file already is left out.

    Raises:
        SettingsError: a file cannot be read or is no JSON or TOML, or has another value where a member is to be set.
    """
    changes: list[Change] = []
    for path in dict.fromkeys(edit.path for edit in edits):
        before = _read(path)
        text, done, made = (before or b"").decode(), list[Edit](), list[int]()
        for edit in (edit for edit in edits if edit.path == path):
            depth = _depth(text, edit)
            edited = _apply(text, edit)
            if edited != text:
                text = edited
                done.append(edit)
                made.append(depth)
        if done:
            changes.append(Change(path, before, text.encode(), tuple(done), tuple(made)))
    return changes


class Connections:
    """The connected clients, in the folder of the local server.

    Args:
        folder: its file ``connections.json`` and the copies of files are kept here.
    """

    def __init__(self, folder: Path) -> None:
        self._file, self._copies = folder / "connections.json", folder / "backups"

    def all(self) -> dict[str, Any]:
        """Return the record of each connected client by its name: when, and which files."""
        content = _read(self._file)
        return json.loads(content) if content else {}

    def connect(self, client: str, changes: Sequence[Change]) -> None:
        """Write the changes into the files. Each is recorded first, so that ``disconnect`` takes back a part, too.

        Raises:
            SettingsError: a file changed after the plan. Nothing is written.
            OSError: a file cannot be written. The files before it are written.
        """
        _require_unchanged(changes)
        moment = datetime.now(timezone.utc).isoformat(timespec="seconds")
        for change in changes:
            records = self.all()
            before = records.get(client, {"files": []})["files"]
            files = [*before, self._make_record(change, moment)]
            self._keep({**records, client: {"connected_at": moment, "files": files}})
            _replace(change.path, change.after)

    def plan_disconnect(self, client: str) -> list[Change]:
        """Return the changes that take back what ``connect`` wrote.

        Raises:
            SettingsError: the client is not connected.
        """
        record = self.all().get(client)
        if record is None:
            raise SettingsError(
                f"Expected a connected client, got {show(client)}. List them: memgraph-rag agent status."
            )
        before = {path: _read(path) for path in (Path(form["path"]) for form in reversed(record["files"]))}
        after = dict(before)
        for form in reversed(record["files"]):  # a client that was connected twice has two records of a file
            path = Path(form["path"])
            if (content := after[path]) is not None:
                after[path] = _take_back(content, form)
        return [Change(path, content, after[path], ()) for path, content in before.items() if content is not None]

    def disconnect(self, client: str, changes: Sequence[Change]) -> None:
        """Write the changes, and forget the client. Errors are those of ``connect``."""
        _require_unchanged(changes)
        for change in changes:
            _replace(change.path, change.after)
        records = self.all()
        records.pop(client, None)
        self._keep(records)

    def _make_record(self, change: Change, moment: str) -> dict[str, Any]:
        """Keep a copy of a file that is to be changed, and return the record of its change."""
        copy = ""
        if change.before is not None:
            name = hashlib.sha256(str(change.path).encode()).hexdigest()[:12]
            path = self._copies / f"{moment.replace(':', '-')}-{name}-{change.path.name}"
            _replace(path, change.before, mode=0o600)
            copy = str(path)
        edits = [
            {"how": edit.how, "keys": edit.keys, "value": edit.value, "depth": depth}
            for edit, depth in zip(change.edits, change.made, strict=True)
        ]
        return {"path": str(change.path), "copy": copy, "sha256": _digest(change.after), "edits": edits}

    def _keep(self, records: Mapping[str, Any]) -> None:
        _replace(self._file, json.dumps(records, indent=1).encode(), mode=0o600)


def _take_back(current: bytes, form: Mapping[str, Any]) -> bytes | None:
    """Return a file without what was written into it; None for a file that did not exist before."""
    if _digest(current) == form["sha256"]:
        return Path(form["copy"]).read_bytes() if form["copy"] else None
    text = current.decode()
    path = Path(form["path"])
    for edit in reversed(form["edits"]):
        text = _remove(text, path, edit)
    return text.encode()


# ── texts ────────────────────────────────────────────────────────────────────────────────────────────────────


def _depth(text: str, edit: Edit) -> int:
    """Return how many of the keys of an edit exist."""
    if edit.how == "file":
        return 0
    value = _parse_toml(text, edit.path).unwrap() if _is_toml(edit.path) else jsonc.parse(text)
    return next((n for n in range(len(edit.keys), 0, -1) if jsonc.get_value(value, edit.keys[:n]) is not None), 0)


def _apply(text: str, edit: Edit) -> str:
    if edit.how == "file":
        return edit.value
    if _is_toml(edit.path):
        return _set_in_toml(text, edit)
    current = jsonc.get_value(jsonc.parse(text), edit.keys)
    if edit.how == "item":
        is_there = isinstance(current, list) and edit.value in current
        return text if is_there else jsonc.append_item(text, edit.keys, edit.value)
    if current is None:
        return jsonc.set_member(text, edit.keys, edit.value)
    return _require_same(text, edit, current)


def _parse_toml(text: str, path: Path) -> tomlkit.TOMLDocument:
    try:
        return tomlkit.parse(text)
    except TOMLKitError as error:
        raise SettingsError(f"Expected TOML, got another text ({error}). Correct {show(path)}.") from error


def _set_in_toml(text: str, edit: Edit) -> str:
    document = _parse_toml(text, edit.path)
    current = jsonc.get_value(document.unwrap(), edit.keys)
    if current is not None:
        return _require_same(text, edit, current)
    parent, name = edit.keys
    if parent not in document:
        document.add(parent, tomlkit.table(is_super_table=True))
    elif not isinstance(document.unwrap()[parent], dict):
        raise SettingsError(f"Expected a table at {parent}, got another value. Correct {show(edit.path)}.")
    document[parent][name] = edit.value  # pyright: ignore[reportIndexIssue]
    return tomlkit.dumps(document)


def _require_same(text: str, edit: Edit, current: Any) -> str:
    if current == edit.value or edit.keys == ("version",):
        return text
    raise SettingsError(
        f"Expected no {'.'.join(edit.keys)} in {show(edit.path)}, got {show(current)}. Remove it, or disconnect first."
    )


def _remove(text: str, path: Path, edit: Mapping[str, Any]) -> str:
    """Return the text without an edit and without the objects that it made and that are empty now."""
    keys, value = edit["keys"], edit["value"]
    if edit["how"] == "file":
        return text  # the person changed it, so it is theirs
    if _is_toml(path):
        document = _parse_toml(text, path)
        if jsonc.get_value(document.unwrap(), keys) is not None:
            del document[keys[0]][keys[1]]  # pyright: ignore[reportIndexIssue]
            if not document[keys[0]] and edit["depth"] == 0:
                del document[keys[0]]
        return tomlkit.dumps(document)
    text = jsonc.remove_item(text, keys, value) if edit["how"] == "item" else jsonc.remove_member(text, keys)
    for depth in range(len(keys), edit["depth"], -1):
        if jsonc.get_value(jsonc.parse(text), keys[:depth]) in ({}, []):
            text = jsonc.remove_member(text, keys[:depth])
    return text


def _is_toml(path: Path) -> bool:
    return path.suffix == ".toml"


# ── files ────────────────────────────────────────────────────────────────────────────────────────────────────


def _read(path: Path) -> bytes | None:
    """Return the content of a file of UTF-8; None if it does not exist."""
    try:
        if path.exists() and not path.is_file():  # reading may not end, and writing replaces a device
            raise SettingsError(f"Expected a file of text, got {show(path)}, which is no regular file. Look at it.")
        content = path.read_bytes()
        content.decode()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"Expected a file of text, got {show(path)} ({error}). Look at it.") from error
    return content


def _require_unchanged(changes: Sequence[Change]) -> None:
    """Check that the files are as they were planned: a running client may write its own while its user reads a diff."""
    for change in changes:
        if _read(change.path) != change.before:
            raise SettingsError(
                f"Expected {show(change.path)} as in the diff, got a file that changed since. Run the command again."
            )


def _replace(path: Path, content: bytes | None, *, mode: int | None = None) -> None:
    """Write a file at once, keeping its mode and a link that leads to it; None removes it and folders left empty."""
    target = path.resolve()
    if content is None:
        target.unlink(missing_ok=True)
        with suppress(OSError):
            target.parent.rmdir()  # only if nothing else is in it
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    write_private(target, content, mode=mode or (target.stat().st_mode & 0o777 if target.exists() else 0o600))


def _digest(content: bytes | None) -> str:
    return hashlib.sha256(content or b"").hexdigest()
