"""The files of a folder that can be read, in a fixed order, and what was left out and why.

It reads names, the first bytes of files and ignore files, and knows no store and no document. Invariants: no link is
followed, so that the walk ends and leaves the folder never; what is left out is in ``left_out``, a folder once and not
file by file; equal folders give equal lists.
"""

from __future__ import annotations

import codecs
import os
import re
from collections.abc import Collection, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

from pathspec import GitIgnoreSpec
from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

from memgraph_rag.display import show
from memgraph_rag.errors import DocumentError
from memgraph_rag.text.files import MAX_BYTES
from memgraph_rag.text.paths import expanded, names_file, names_folder

__all__ = ["IGNORE_FILES", "Folder"]

IGNORE_FILES = (".gitignore", ".memgraphignore")
"""Files of patterns as Git takes them; where both say something, the last one counts."""

_VERSION_CONTROL = {"CVS", "_darcs"}  # the others are hidden
_OF_PROGRAMS = {"node_modules", "__pycache__"}
_MARKS_OF_PROGRAMS = ("CACHEDIR.TAG", "pyvenv.cfg")  # of a cache, and of a Python environment
_HEAD_BYTES = 8192
_MOST_PATTERNS, _LONGEST_PATTERN, _MOST_STARS = 1_000, 255, 3  # of an ignore file: patterns are tried on every name
_STARS = re.compile(r"\*+")
_WIDE = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE)  # text that has NUL bytes

_Rules = tuple[tuple[Path, GitIgnoreSpec], ...]  # the folders that say what to ignore, the outermost first


class Folder:
    """The files of a folder and of all below it, as sources for ``add_many``.

    Left out are hidden files and folders, what ``.gitignore`` and ``.memgraphignore`` name, links, folders of version
    control and of programs (``node_modules``, caches, Python environments), and files that are empty, too large, no
    text, or no files. What cannot be opened is not left out: adding it fails, and says why.

    Args:
        path: of the folder; the paths of its files begin with it.
        without: files to be left out with all beside them whose names begin with theirs and a dot: stores.

    Attributes:
        left_out: for each file or folder that was left out so far, why.

    Raises:
        DocumentError: it is no folder.
    """

    def __init__(self, path: Path, *, without: Collection[Path] = ()) -> None:
        if not isinstance(path, Path) or not names_folder(path):
            raise DocumentError(
                f"Expected a folder as a Path, got {show(path)}. Add a file as add(Path(…)).", path=path
            )
        self.path = expanded(path)
        self.left_out: dict[Path, str] = {}
        self._root = self.path.resolve()
        self._without = [file.resolve() for file in without]

    def __iter__(self) -> Iterator[Path]:
        self.left_out.clear()
        waiting = [(self.path, _rules_above(self._root))]
        while waiting:
            folder, rules = waiting.pop()
            rules = _with_rules_of(self._resolved(folder), rules)
            files, folders = self._listed(folder)
            for file in files:
                reason = self._why_not(file, rules)
                if reason:
                    self.left_out[file] = reason
                else:
                    yield file
            inner = [subfolder for subfolder in folders if not self._leaves_out_folder(subfolder, rules)]
            waiting += [(subfolder, rules) for subfolder in reversed(inner)]

    def _listed(self, folder: Path) -> tuple[list[Path], list[Path]]:
        """What is in a folder: what is none, and folders; by name."""
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError as error:
            self.left_out[folder] = f"cannot be opened ({error.strerror})"
            return [], []
        folders = [folder / entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
        there = set(folders)
        return [path for entry in entries if (path := folder / entry.name) not in there], folders

    def _resolved(self, path: Path) -> Path:
        """The path without links: below the folder itself none was followed."""
        return self._root / path.relative_to(self.path)

    def _leaves_out_folder(self, folder: Path, rules: _Rules) -> bool:
        if folder.name in _VERSION_CONTROL:
            reason = "of version control"
        elif folder.name in _OF_PROGRAMS or any(_is_file(folder / mark) for mark in _MARKS_OF_PROGRAMS):
            reason = "of programs"
        else:
            reason = _why_not_named(self._resolved(folder), rules, is_folder=True)
        if reason:
            self.left_out[folder] = reason
        return bool(reason)

    def _why_not(self, file: Path, rules: _Rules) -> str:
        """Why a file is left out; empty where it is not."""
        with suppress(OSError):  # of a folder that may not be entered: adding the file says so
            if file.is_symlink():
                return "a link"
            if not file.is_file():
                return "no file"
        if self._is_store(file):  # before it is opened: closing a file again may take the engine's lock from it
            return "the memory itself"
        return _why_not_named(self._resolved(file), rules, is_folder=False) or _why_not_content(file)

    def _is_store(self, file: Path) -> bool:
        path = self._resolved(file)
        return any(path.parent == own.parent and f"{path.name}.".startswith(f"{own.name}.") for own in self._without)


def _why_not_named(path: Path, rules: _Rules, *, is_folder: bool) -> str:
    """Why a name is left out. The innermost folder that says something about it counts."""
    if path.name.startswith("."):
        return "hidden"
    for folder, spec in reversed(rules):
        ignored = spec.check_file(path.relative_to(folder).as_posix() + ("/" if is_folder else "")).include
        if ignored is not None:
            return "ignored" if ignored else ""
    return ""


def _why_not_content(file: Path) -> str:
    """Why what a file holds is left out; nothing where it cannot be opened, for that is told when it is read."""
    try:
        size = file.stat().st_size
        with file.open("rb") as opened:
            head = opened.read(_HEAD_BYTES)
    except OSError:
        return ""
    if size > MAX_BYTES:
        return "too large"
    if not head.strip() and size <= _HEAD_BYTES:
        return "empty"
    if b"\x00" in head and not head.startswith((b"%PDF-", *_WIDE)):
        return "no text"
    return ""


def _rules_above(folder: Path) -> _Rules:
    """The rules of the folders around this one, up to the root of its Git repository; none that leave it out itself."""
    root = next((item for item in (folder, *folder.parents) if names_file(item / ".git")), folder)
    rules: _Rules = ()
    for outer in reversed(folder.parents):
        if root == outer or root in outer.parents:
            rules = _with_rules_of(outer, rules)
    return tuple(item for item in rules if _why_not_named(folder, (item,), is_folder=True) != "ignored")


def _with_rules_of(folder: Path, rules: _Rules) -> _Rules:
    """These rules, and those of the ignore files in a folder."""
    patterns = [pattern for name in IGNORE_FILES for pattern in _patterns(folder / name)]
    return (*rules, (folder, GitIgnoreSpec(patterns))) if patterns else rules


def _is_file(path: Path) -> bool:
    """Whether there is a file; none in a folder that may not be entered."""
    with suppress(OSError):
        return path.is_file()
    return False


def _patterns(path: Path) -> Iterator[GitIgnoreSpecPattern]:
    """The patterns of an ignore file; none of a line that is no pattern, or that could take for ever to try."""
    if not _is_file(path) or path.is_symlink():
        return
    with suppress(OSError), path.open(encoding="utf-8", errors="replace") as file:
        for line in islice(file, _MOST_PATTERNS):
            if len(line) <= _LONGEST_PATTERN and len(_STARS.findall(line)) <= _MOST_STARS:
                with suppress(ValueError):
                    yield GitIgnoreSpecPattern(line.rstrip("\n"))
