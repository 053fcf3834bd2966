"""List the readable files of a folder in a fixed order, and what was left out and why.

The module reads names, first bytes of files, and ignore files. It knows no store and no document. Invariants: links are
not followed, so the walk ends and never leaves the folder; everything that is left out is in ``left_out``, a folder as
one entry; equal folders give equal lists.
"""

from __future__ import annotations

import codecs
import os
import re
from collections.abc import Collection, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import ClassVar

from pathspec import GitIgnoreSpec
from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

from memgraph_rag.display import show
from memgraph_rag.errors import DocumentError
from memgraph_rag.lexical.code import find_program_language
from memgraph_rag.text import office
from memgraph_rag.text.files import MAX_BYTES
from memgraph_rag.text.paths import expand_home, names_file, names_folder

IGNORE_FILES = (".gitignore", ".memgraphignore")
"""Files with patterns as in Git. If both match a name, the last one decides."""

_DRAWN_OR_STYLED = {".svg", ".css", ".scss", ".less", ".map", ".drawio", ".excalidraw", ".po", ".pot"}
_LOCKS = {"package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "go.sum", "bun.lock", "packages.lock.json"}
_BUNDLED = {".js", ".mjs", ".cjs", ".ts"}
_LONGEST_WRITTEN = 2_000  # characters of a line that a person writes in a program
_GENERATED = re.compile(rb"@generated\b|\bgenerated\b.{0,120}\bdo not (?:edit|modify)\b", re.IGNORECASE | re.DOTALL)
_GENERATED_REACH = 600  # first bytes
_VERSION_CONTROL = {"CVS", "_darcs"}  # folders of other systems are hidden
_OF_PROGRAMS = {"node_modules", "__pycache__"}
_MARKS_OF_PROGRAMS = ("CACHEDIR.TAG", "pyvenv.cfg")  # in a cache, and in a Python environment
_HEAD_BYTES = 8192
_MOST_PATTERNS, _LONGEST_PATTERN, _MOST_STARS = (
    1_000,
    255,
    3,
)  # of an ignore file, whose patterns are matched with every name
_STARS = re.compile(r"\*+")
_WIDE = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE)  # encodings of text with NUL bytes

_Rules = tuple[tuple[Path, GitIgnoreSpec], ...]  # folders with ignore files, the outermost first


class Folder:
    """The files of a folder and its subfolders, as sources for ``add_many``.

    Left out are hidden files and folders, names that ``.gitignore`` or ``.memgraphignore`` match, links, folders of
    version control and of programs (``node_modules``, caches, Python environments), and files that are empty, too
    large, not text, or not regular files. Text that tells a reader nothing is left out, too: drawings and styles
    (kinds "svg", "css" and others by their suffix), lock files ("lock"), and programs that a program wrote ("minified",
    "generated"). A file that cannot be opened is listed: adding it fails with the reason.

    Args:
        path: the folder; the paths of its files begin with it.
        without: files to leave out, such as stores, together with files named after them with a dot and a suffix.
        include: kinds to take all the same.

    Attributes:
        left_out: the reason for each file or folder that was left out so far.

    Raises:
        DocumentError: the path is not a folder.
    """

    OF_KIND: ClassVar[str] = "of kind "
    """The beginning of the reason for a text that tells a reader nothing; the name of the kind follows."""

    def __init__(self, path: Path, *, without: Collection[Path] = (), include: Collection[str] = ()) -> None:
        if not isinstance(path, Path) or not names_folder(path):
            raise DocumentError(
                f"Expected a folder as a Path, got {show(path)}. Add a file as add(Path(…)).", path=path
            )
        self.path = expand_home(path)
        self.left_out: dict[Path, str] = {}
        self._resolved_root = self.path.resolve()
        self._without = [file.resolve() for file in without]
        self._include = {kind.lower().lstrip(".") for kind in include}

    def __iter__(self) -> Iterator[Path]:
        self.left_out.clear()
        pending = [(self.path, _read_parent_rules(self._resolved_root))]
        while pending:
            folder, rules = pending.pop()
            rules = _add_rules(self._resolve(folder), rules)
            files, folders = self._list(folder)
            for file in files:
                reason = self._check_file(file, rules)
                if reason:
                    self.left_out[file] = reason
                else:
                    yield file
            inner = [subfolder for subfolder in folders if not self._leaves_out_folder(subfolder, rules)]
            pending += [(subfolder, rules) for subfolder in reversed(inner)]

    def _list(self, folder: Path) -> tuple[list[Path], list[Path]]:
        """Return the files and the subfolders of a folder, by name."""
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError as error:
            self.left_out[folder] = f"cannot be opened ({error.strerror})"
            return [], []
        folders = [folder / entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
        folder_set = set(folders)
        return [path for entry in entries if (path := folder / entry.name) not in folder_set], folders

    def _resolve(self, path: Path) -> Path:
        """Return the path with the folder itself resolved; no link was followed below the folder."""
        return self._resolved_root / path.relative_to(self.path)

    def _leaves_out_folder(self, folder: Path, rules: _Rules) -> bool:
        if folder.name in _VERSION_CONTROL:
            reason = "of version control"
        elif folder.name in _OF_PROGRAMS or any(_is_file(folder / mark) for mark in _MARKS_OF_PROGRAMS):
            reason = "of programs"
        else:
            reason = _check_name(self._resolve(folder), rules, is_folder=True)
        if reason:
            self.left_out[folder] = reason
        return bool(reason)

    def _check_file(self, file: Path, rules: _Rules) -> str:
        """Return why a file is left out; empty if it is not."""
        with suppress(OSError):  # in a folder that may not be entered: adding the file reports it
            if file.is_symlink():
                return "a link"
            if not file.is_file():
                return "no file"
        if self._is_store(file):  # before opening it: closing a file again may release the engine's lock on it
            return "the memory itself"
        return _check_name(self._resolve(file), rules, is_folder=False) or _check_content(file, self._include)

    def _is_store(self, file: Path) -> bool:
        path = self._resolve(file)
        return any(path.parent == own.parent and f"{path.name}.".startswith(f"{own.name}.") for own in self._without)


def _check_name(path: Path, rules: _Rules, *, is_folder: bool) -> str:
    """Return why a name is left out, or an empty text. The innermost folder whose rules match it decides."""
    if path.name.startswith("."):
        return "hidden"
    for folder, spec in reversed(rules):
        ignored = spec.check_file(path.relative_to(folder).as_posix() + ("/" if is_folder else "")).include
        if ignored is not None:
            return "ignored" if ignored else ""
    return ""


def _check_content(file: Path, include: Collection[str]) -> str:
    """Return why a file's content is left out; empty also if the file cannot be opened, which adding it reports."""
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
    if file.suffix.lower() in office.SUFFIXES and head.startswith(office.SIGNATURES):
        return "" if office.is_installed() else "needs the extra office"
    if b"\x00" in head and not head.startswith((b"%PDF-", *_WIDE)):
        return "no text"
    kind = _kind_without_words(file, head)
    return f"{Folder.OF_KIND}{kind}" if kind and kind not in include else ""


def _kind_without_words(file: Path, head: bytes) -> str:
    """Return the kind of a text that tells a reader nothing; empty for other texts."""
    suffix = file.suffix.lower()
    if suffix in _DRAWN_OR_STYLED:
        return suffix[1:]
    if suffix == ".lock" or file.name in _LOCKS:
        return "lock"
    if ".min." in file.name or (suffix in _BUNDLED and max(map(len, head.split(b"\n"))) > _LONGEST_WRITTEN):
        return "minified"
    return "generated" if find_program_language(f"./{file.name}") and _GENERATED.search(head[:_GENERATED_REACH]) else ""


def _read_parent_rules(folder: Path) -> _Rules:
    """Return the rules of the parent folders up to the Git root, without rules that ignore the folder itself."""
    root = next((item for item in (folder, *folder.parents) if names_file(item / ".git")), folder)
    rules: _Rules = ()
    for outer in reversed(folder.parents):
        if root == outer or root in outer.parents:
            rules = _add_rules(outer, rules)
    return tuple(item for item in rules if _check_name(folder, (item,), is_folder=True) != "ignored")


def _add_rules(folder: Path, rules: _Rules) -> _Rules:
    """Return the rules, followed by those of the ignore files in a folder."""
    patterns = [pattern for name in IGNORE_FILES for pattern in _read_patterns(folder / name)]
    return (*rules, (folder, GitIgnoreSpec(patterns))) if patterns else rules


def is_ignored_by(file: Path, folder: Path) -> bool:
    """Return whether an ignore file excludes a folder: the folder of the file itself (by ``*``), or one below it."""
    spec = GitIgnoreSpec(_read_patterns(file))
    inside = folder.relative_to(file.parent).as_posix()
    return spec.match_file("any" if inside == "." else f"{inside}/")


def _is_file(path: Path) -> bool:
    """Return whether the path is a file; False in a folder that may not be entered."""
    with suppress(OSError):
        return path.is_file()
    return False


def _read_patterns(path: Path) -> Iterator[GitIgnoreSpecPattern]:
    """Yield the patterns of an ignore file, without invalid lines and lines that could take very long to match."""
    if not _is_file(path) or path.is_symlink():
        return
    with suppress(OSError), path.open(encoding="utf-8", errors="replace") as file:
        for line in islice(file, _MOST_PATTERNS):
            if len(line) <= _LONGEST_PATTERN and len(_STARS.findall(line)) <= _MOST_STARS:
                with suppress(ValueError):
                    yield GitIgnoreSpecPattern(line.rstrip("\n"))
