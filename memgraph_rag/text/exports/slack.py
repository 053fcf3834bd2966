"""Read Slack's export of a workspace: a folder for each channel, a JSON file for each day.

Invariants: a reply of a thread follows the message that it replies to; ids of people and channels in the text become
names. Source: Slack's help page "How to read Slack data exports".
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from memgraph_rag.text.exports.conversations import make_message, read_all, split_by_month, utc_time
from memgraph_rag.text.exports.export_files import ExportFiles
from memgraph_rag.types import Document, Failure, Message

_LISTS = ("channels.json", "groups.json", "dms.json", "mpims.json")
_DAY = re.compile(r"\d{4}-\d\d-\d\d\.json")
_SAID = {None, "bot_message", "thread_broadcast", "file_share", "me_message", "file_comment"}  # subtypes with words
_LINK = re.compile(r"<([@#!]?)([^<|>]*)(?:\|([^<>]*))?>")


def matches(files: ExportFiles) -> bool:
    """Return whether the files are an export of Slack."""
    return bool(files.find_files("users.json")) and any(files.find_files(name) for name in _LISTS)


def read(files: ExportFiles) -> Iterator[Document | Failure]:
    """Yield a document for each month of each channel in Slack; a ``Failure`` for a channel of another form."""
    people = {
        str(user["id"]): _choose_name(user) for name in files.find_files("users.json") for user in files.json(name)
    }
    channels = [item for listed in _LISTS for name in files.find_files(listed) for item in files.json(name)]
    days: dict[str, list[str]] = {}
    for name in files.names:
        if _DAY.fullmatch(PurePosixPath(name).name):
            days.setdefault(PurePosixPath(name).parent.name, []).append(name)
    yield from read_all(channels, lambda channel: _convert(channel, files, people, days), "slack channel")


def _choose_name(user: Mapping[str, Any]) -> str:
    profile = user.get("profile") or {}
    names = (profile.get("display_name"), profile.get("real_name"), user.get("real_name"), user.get("name"))
    return next((name for name in names if name), str(user["id"]))


def _convert(
    channel: Mapping[str, Any], files: ExportFiles, people: Mapping[str, str], days: Mapping[str, list[str]]
) -> Iterator[Document]:
    folder = str(channel.get("name") if channel.get("name") in days else channel["id"])
    said = [item for name in days.get(folder, ()) for item in files.json(name) if item.get("subtype") in _SAID]
    roots = {item["ts"] for item in said}

    def place(item: Mapping[str, Any]) -> tuple[float, float]:
        root = item.get("thread_ts")
        return float(root if root is not None and root in roots else item["ts"]), float(item["ts"])

    members = ", ".join(people.get(member, member) for member in channel.get("members") or ())
    title = f"#{channel['name']}" if channel.get("name") else members
    placed = sorted(said, key=place)
    months = [(utc_time(place(item)[0]) or "")[:7] for item in placed]  # a late reply stays in the month of its thread
    yield from split_by_month("slack", channel["id"], title, [_message(item, people) for item in placed], months=months)


def _message(item: Mapping[str, Any], people: Mapping[str, str]) -> Message | None:
    profile = item.get("user_profile") or {}
    speaker = people.get(str(item.get("user"))) or profile.get("real_name") or item.get("username") or item.get("user")
    text = html.unescape(_LINK.sub(lambda match: _format_link(match, people), str(item.get("text") or "")))
    return make_message(speaker, text, utc_time(item["ts"]))


def _format_link(match: re.Match[str], people: Mapping[str, str]) -> str:
    """Return a link of Slack's markup as people see it."""
    sign, target, label = match.groups()
    if sign == "@":
        return f"@{people.get(target) or label or target}"
    if sign:
        return f"{sign}{label or target}".replace("!", "@")
    return f"{label} ({target})" if label and label not in target else target
