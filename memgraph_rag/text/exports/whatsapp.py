"""Read WhatsApp's export of a chat: a text with a line a message, in the date form of the phone's language.

Invariant: the order of day and month is taken from the whole chat; if no line decides it, the times stay in the text
and the turns have none. Source: exports of Android and iOS in several languages, as parsed by starkdmi/whats_json.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from pathlib import PurePosixPath

from memgraph_rag.text.exports.conversations import append_attachments, make_message, read_all, split_by_month
from memgraph_rag.text.exports.export_files import ExportFiles
from memgraph_rag.types import Document, Failure, Message

_LINE = re.compile(
    r"\[?(?P<date>(?P<a>\d{1,4})[./-] ?(?P<b>\d{1,2})[./-] ?(?P<c>\d{1,4}))\.?,? "
    r"(?:(?P<word>[^\W\d]+)\.? ?)?(?P<hour>\d{1,2})[:.](?P<minute>\d\d)(?:[:.](?P<second>\d\d))?"
    r"(?: ?(?P<half>[AaPp])\.? ?[Mm]\.?)?(?:\]| [-–]) (?P<rest>.*)",
    re.DOTALL,
)
_SAID = re.compile(r"(?P<speaker>[^:\n]{1,80}): ?(?P<text>.*)", re.DOTALL)
_MARKS = re.compile("[\u200e\u200f\u202a-\u202c\u2066-\u2069]")  # directions of writing, around names and files
_SPACES = re.compile("[\u00a0\u202f]")
_HALVES = {"오전": "a", "上午": "a", "午前": "a", "오후": "p", "下午": "p", "午後": "p"}
_OF_PROGRAM = re.compile("^(\u200e?\\[[^\\]\n]+\\] [^:\n]+: ?)\u200e(?!<|[^:\n]{1,20}:)", re.MULTILINE)
"""Where iOS marks its own words ("image omitted"); also a file, a poll and a location begin with that mark."""
_NOTICE = "\0"  # in place of that mark
_FILE = re.compile(r"<[^<>:]{1,30}: (?P<ios>[^<>]+)>|^(?P<android>\S[^\n]*\.\w{1,5}) \([^()\n]+\)$", re.MULTILINE)
_LEFT_OUT = re.compile(r"<[^<>\n]{3,60}>|(?:image|video|audio|sticker|GIF|document) omitted")  # "<Media omitted>"
_DAYS_OF_MONTHS = 12
_CENTURY = 2000


@dataclass(slots=True)
class _Entry:
    """A line of the chat: the parts of its time, and what follows, with the lines that continue it."""

    match: re.Match[str]
    rest: str


def _names(files: ExportFiles) -> list[str]:
    return [
        name
        for name in files.names
        if name.endswith(".txt")
        and (PurePosixPath(name).name == "_chat.txt" or len(files.names) == 1 or "WhatsApp" in name)
    ]


def matches(files: ExportFiles) -> bool:
    """Return whether the files are a chat of WhatsApp: several lines begin with a time."""
    for name in _names(files):
        lines = _clean(files.head(name).decode("utf-8", "replace")).splitlines()
        if sum(_LINE.match(line) is not None for line in lines) >= max(1, min(2, len(lines))):
            return True
    return False


def read(files: ExportFiles) -> Iterator[Document | Failure]:
    """Yield a document for each month of each WhatsApp chat; a ``Failure`` for a chat of another form."""
    yield from read_all(_names(files), lambda name: _convert(name, files), "whatsapp chat")


def _convert(name: str, files: ExportFiles) -> Iterator[Document]:
    # The export has no ids: the chat is its file's name, without the number of a repeated download.
    file = PurePosixPath(name).name
    stem = files.path.stem if file == "_chat.txt" else PurePosixPath(name).stem
    title = re.sub(r" ?\(\d+\)$", "", stem)
    entries = _entries(_clean(files.read(name).decode("utf-8", "replace")))
    order = _order(entries)
    yield from split_by_month("whatsapp", title, title, [_message(entry, order, files) for entry in entries])


def _clean(text: str) -> str:
    marked = _OF_PROGRAM.sub(rf"\1{_NOTICE}", text.removeprefix("\ufeff"))
    return _SPACES.sub(" ", _MARKS.sub("", marked))


def _entries(text: str) -> list[_Entry]:
    """Return the lines that begin with a time; another line continues the line before."""
    entries: list[_Entry] = []
    for line in text.splitlines():
        match = _LINE.match(line)
        if match is not None:
            entries.append(_Entry(match, match["rest"]))
        elif entries:
            entries[-1].rest += f"\n{line}"
    return entries


def _order(entries: list[_Entry]) -> str:
    """Return the places of year, month and day as "ymd", "dmy" or "mdy"; empty if the chat does not decide it."""
    dates = [(entry.match["a"], int(entry.match["b"])) for entry in entries]
    if any(len(first) == len("2024") for first, _ in dates):
        return "ymd"
    possible = [
        order
        for order in ("dmy", "mdy")
        if not any((second if order == "dmy" else int(first)) > _DAYS_OF_MONTHS for first, second in dates)
    ]
    if len(possible) == 1:
        return possible[0]
    rising = [order for order in possible if _rises([_time(entry, order) for entry in entries])]
    return rising[0] if len(rising) == 1 else ""


def _rises(times: list[str | None]) -> bool:
    known = [time for time in times if time]
    return all(former <= later for former, later in pairwise(known))


def _time(entry: _Entry, order: str) -> str | None:
    """Return the time of a line as ISO 8601, in the phone's own zone; None if it is none."""
    match, parts = entry.match, dict(zip(order, (entry.match[name] for name in "abc"), strict=False))
    hour = int(match["hour"])
    if half := (match["half"] or "").lower() or _HALVES.get(match["word"]):
        hour = hour % 12 + 12 * (half == "p")
    try:
        year = int(parts["y"]) + (_CENTURY if len(parts["y"]) <= len("24") else 0)
        moment = datetime(year, int(parts["m"]), int(parts["d"]), hour, int(match["minute"]), int(match["second"] or 0))
    except (KeyError, ValueError):
        return None
    return moment.isoformat()


def _message(entry: _Entry, order: str, files: ExportFiles) -> Message | None:
    """Return what a person said; None for a notice and for a medium that was left out."""
    said = _SAID.match(entry.rest)
    if said is None or said["text"].startswith(_NOTICE):
        return None
    if _LEFT_OUT.fullmatch(said["text"].strip()) and not _FILE.search(said["text"]):
        return None
    names = [match["ios"] or match["android"] for match in _FILE.finditer(said["text"])]
    text = append_attachments(said["text"], [(name.strip(), files.attachment(name.strip())) for name in names])
    written = f"{entry.match['date']} {entry.match['hour']}:{entry.match['minute']}"
    return make_message(said["speaker"], text, _time(entry, order) or written)
