"""The project of a folder, and the namespace in which its memory is kept.

The module reads the files of Git, and runs no program. Invariants: all worktrees of a repository are one project; so
are its clones, if they have the same origin; a namespace holds no password of an address.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

from memgraph_rag.text.folders import is_ignored_by

PERSON = "default"
"""The namespace of what belongs to no repository: the person's own, and the default of every other command."""

IGNORE_FILE = ".memgraphragignore"
"""Patterns as in ``.gitignore``, in the root of a repository: sessions in matching folders are not remembered."""

_ORIGIN = re.compile(r'\[remote "origin"\]((?:\s*(?!\[)[^\n]*\n?)*)')
_URL = re.compile(r"^\s*url\s*=\s*(.+?)\s*$", re.MULTILINE)
_ADDRESS = re.compile(r"(?:[\w+.-]+://)?(?:[^@/]*@)?([\w.-]+)(?::\d+(?=/))?[:/]/?(.+?)(?:\.git)?/?$")
_MOST_NAME = 200  # characters of a namespace


@dataclass(frozen=True, slots=True)
class Project:
    """The project of a folder: a repository of Git or, outside of any repository, the person.

    Attributes:
        is_ignored: whether nothing of the folder that was asked for may be remembered.
    """

    name: str
    namespace: str
    is_ignored: bool = False


def find_project(folder: str | Path) -> Project:
    """Return the project that a folder belongs to; the person's if it is in no repository of Git."""
    place = Path(folder).expanduser().absolute()
    for root in (place, *place.parents):
        mark = root / ".git"
        if mark.exists():
            common = _common_dir(mark)
            home = common.parent if common.name == ".git" else common
            name = _origin(common / "config") or str(home)
            return Project(home.name, _namespace(name), is_ignored_by(root / IGNORE_FILE, place))
    return Project("", PERSON)


def _common_dir(mark: Path) -> Path:
    """Return the folder of Git that all worktrees share; the mark of a worktree is a file that leads to it."""
    if mark.is_dir():
        return mark
    text = _read(mark)
    folder = (mark.parent / text.removeprefix("gitdir:").strip()).resolve()
    if (common := _read(folder / "commondir").strip()) != "":
        return (folder / common).resolve()
    return folder


def _origin(config: Path) -> str:
    """Return host and path of the origin; empty without one, and for an address that cannot be read."""
    section = _ORIGIN.search(_read(config))
    url = _URL.search(section[1]) if section else None
    address = _ADDRESS.fullmatch(url[1]) if url and not url[1].startswith(("/", ".", "file:")) else None
    return f"{address[1]}/{address[2]}".lower() if address else ""


def _namespace(name: str) -> str:
    plain = f"project:{name}"
    return plain if len(plain) <= _MOST_NAME else f"project:{hashlib.sha256(name.encode()).hexdigest()}"


def _read(path: Path) -> str:
    """Return the text of a small file; empty if it cannot be read."""
    try:
        return path.read_text("utf-8", errors="replace")
    except OSError:
        return ""
