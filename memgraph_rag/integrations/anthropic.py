"""Anthropic's memory tool over a memory: the files that Claude writes are documents.

It implements the tool's six commands; ``items`` stores the files. Invariants: every command answers as
``BetaLocalFilesystemMemoryTool`` does, except for the sizes of directories; no path leaves ``/memories``; a command
that fails raises ``ToolError``, which the model reads.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Sequence
from typing import Any

from memgraph_rag.errors import DocumentError
from memgraph_rag.integrations.items import Item, Items
from memgraph_rag.integrations.requirements import framework
from memgraph_rag.memory import Memory

with framework("anthropic", extra="anthropic"):
    from anthropic.lib.tools import BetaAbstractMemoryTool, ToolError
    from anthropic.types.beta import (
        BetaCacheControlEphemeralParam,
        BetaMemoryTool20250818CreateCommand,
        BetaMemoryTool20250818DeleteCommand,
        BetaMemoryTool20250818InsertCommand,
        BetaMemoryTool20250818RenameCommand,
        BetaMemoryTool20250818StrReplaceCommand,
        BetaMemoryTool20250818ViewCommand,
    )

_ROOT = "/memories"
_DIRECTORIES = ""  # id of the item that lists them: a directory stays when its last file goes
_DEPTH = 2
_MOST_LINES = 999_999
_WIDTH = len(str(_MOST_LINES))


class MemoryTool(BetaAbstractMemoryTool):
    """Anthropic's memory tool (``memory_20250818``) whose files are documents of a memory.

    Searches of the memory find Claude's files too. No file is written to disk outside the store.

    Args:
        memory: an open ``Memory``.
        cache_control: as for Anthropic's own tools.
    """

    def __init__(self, memory: Memory, *, cache_control: BetaCacheControlEphemeralParam | None = None) -> None:
        super().__init__(cache_control=cache_control)
        self.memory = memory
        self._items = Items(memory, "anthropic")

    def execute(self, command: Any) -> Any:
        """Execute a command; calls wait for each other. Errors of the model are ``ToolError``, of the store ours."""
        with self._items.lock:
            return super().execute(command)

    # ── reading ──────────────────────────────────────────────────────────────────────────────────────────

    def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """Return the content of a file with line numbers, or the list of a directory with sizes.

        ``view_range`` picks lines of a file; -1 is the last line. A list is two levels deep, without hidden items.

        Raises:
            ToolError: nothing is stored under the path, or the file has too many lines.
        """
        path = _check_path(command.path)
        if self._is_directory(path):
            return self._listing(path, command.path)
        item = self._items.get(path)
        if item is None:
            raise ToolError(f"The path {command.path} does not exist. Please provide a valid path.")
        lines = self._items.text(item).split("\n")
        if len(lines) > _MOST_LINES:
            raise ToolError(f"File {command.path} exceeds maximum line limit of {_MOST_LINES:,} lines.")
        first, shown = 1, lines
        if command.view_range and len(command.view_range) == 2:
            first = max(1, command.view_range[0])
            last = len(lines) if command.view_range[1] == -1 else command.view_range[1]
            shown = lines[first - 1 : last]
        return f"Here's the content of {command.path} with line numbers:\n" + _number_lines(shown, first)

    def _listing(self, path: str, shown_path: str) -> str:
        files = {item.id: item.value["bytes"] for item in self._files() if _is_below(item.id, path)}
        directories = {
            name: sum(size for file, size in files.items() if _is_below(file, name))
            for name in self._directories()
            if _is_below(name, path)
        }
        lines = [f"{_format_size(sum(files.values()))}\t{shown_path}"]
        for parts, size, is_directory in _sort_as_tree(path, files, directories):
            lines.append(f"{_format_size(size)}\t{shown_path}/{'/'.join(parts)}{'/' if is_directory else ''}")
        return (
            f"Here're the files and directories up to 2 levels deep in {shown_path}, excluding hidden items:\n"
            + "\n".join(lines)
        )

    # ── writing ──────────────────────────────────────────────────────────────────────────────────────────

    def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """Create a file, and the directories above it, and return a message.

        Raises:
            ToolError: the path exists, a file is in the place of a directory, or text or path is too long.
        """
        path = _check_path(command.path)
        is_made = self._make_directories(posixpath.dirname(path))
        if self._exists(path):
            raise ToolError(f"File {command.path} already exists")
        if not is_made:
            raise ToolError(f"The path {posixpath.dirname(command.path)} is no directory")
        self._write(path, command.file_text)
        return f"File created successfully at: {command.path}"

    def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Replace a text that occurs exactly once in a file. The result shows lines around its place.

        Raises:
            ToolError: there is no such file, the text occurs never or several times, or the new content is too large.
        """
        item = self._file(command.path)
        content, old = self._items.text(item), command.old_str
        places = _places(content, old)
        if not places:
            raise ToolError(f"No replacement was performed, old_str `{old}` did not appear verbatim in {command.path}.")
        if content.count(old) > 1:
            lines = ", ".join(str(content[:place].count("\n") + 1) for place in places)
            raise ToolError(
                f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: {lines}. "
                "Please ensure it is unique"
            )
        changed = content.replace(old, command.new_str)
        self._write(item.id, changed, before=item)
        line = content[: places[0]].count("\n")
        first = max(0, line - 2)
        return (
            "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n"
            + _number_lines(changed.split("\n")[first : line + 3], first + 1)
        )

    def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """Insert a text after the given line of a file; after line 0 at the beginning. Return a message.

        Line ends at the end of the text are dropped. The file ends with a line end afterwards.

        Raises:
            ToolError: there is no such file or line, or the new content is too large.
        """
        item = self._file(command.path)
        lines = self._items.text(item).split("\n")
        if lines[-1] == "":
            lines.pop()
        if not 0 <= command.insert_line <= len(lines):
            raise ToolError(
                f"Invalid `insert_line` parameter: {command.insert_line}. "
                f"It should be within the range [0, {len(lines)}]."
            )
        lines.insert(command.insert_line, command.insert_text.rstrip("\n"))
        content = "\n".join(lines)
        self._write(item.id, content if content.endswith("\n") else content + "\n", before=item)
        return f"The file {command.path} has been edited."

    def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """Delete a file, or a directory with everything in it, and return a message.

        Raises:
            ToolError: the path does not exist, or is ``/memories`` itself.
        """
        path = _check_path(command.path)
        if path == _ROOT:
            raise ToolError(f"Cannot delete the {_ROOT} directory itself")
        if self._is_directory(path):
            for item in self._files():
                if _is_below(item.id, path):
                    self._items.delete(item.id)
            self._keep_directories(name for name in self._directories() if name != path and not _is_below(name, path))
        elif not self._items.delete(path):
            raise ToolError(f"The path {command.path} does not exist")
        return f"Successfully deleted {command.path}"

    def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Move a file or a directory with everything in it to another path, and return a message.

        The directories above the new path are created.

        Raises:
            ToolError: the old path does not exist or is ``/memories``, the new path exists or is below the old one, or
                a file is in the place of a directory.
        """
        old, new = _check_path(command.old_path), _check_path(command.new_path)
        if old == _ROOT:
            raise ToolError(f"Cannot rename the {_ROOT} directory itself")
        if self._exists(new):
            raise ToolError(f"The destination {command.new_path} already exists")
        is_made = self._make_directories(posixpath.dirname(new))
        if not self._exists(old):
            raise ToolError(f"The path {command.old_path} does not exist")
        if not is_made:
            raise ToolError(f"The path {posixpath.dirname(command.new_path)} is no directory")
        if _is_below(new, old):
            raise ToolError(f"Cannot move {command.old_path} into itself")
        for item in self._files():
            if item.id == old or _is_below(item.id, old):
                self._write(new + item.id[len(old) :], self._items.text(item))
                self._items.delete(item.id)
        if self._is_directory(old):
            self._keep_directories(
                new + name[len(old) :] if name == old or _is_below(name, old) else name for name in self._directories()
            )
        return f"Successfully renamed {command.old_path} to {command.new_path}"

    def clear_all_memory(self) -> str:
        """Delete all files and directories, and return a message; other documents of the memory stay."""
        with self._items.lock:
            for item in self._items.all():
                self._items.delete(item.id)
        return "All memory cleared"

    # ── files and directories ────────────────────────────────────────────────────────────────────────────

    def _file(self, shown_path: str) -> Item:
        path = _check_path(shown_path)
        if self._is_directory(path):
            raise ToolError(f"The path {shown_path} is not a file.")
        item = self._items.get(path)
        if item is None:
            raise ToolError(f"The path {shown_path} does not exist. Please provide a valid path.")
        return item

    def _write(self, path: str, content: str, *, before: Item | None = None) -> None:
        size = len(content.encode("utf-8", "surrogatepass"))
        try:
            self._items.put(path, content, {"bytes": size}, before=before)
        except DocumentError as error:  # too large, or too long a path: the model can write less
            raise ToolError(str(error)) from error

    def _exists(self, path: str) -> bool:
        return self._is_directory(path) or self._items.get(path) is not None

    def _is_directory(self, path: str) -> bool:
        return path == _ROOT or path in self._directories()

    def _files(self) -> list[Item]:
        return [item for item in self._items.all() if item.id != _DIRECTORIES]

    def _directories(self) -> list[str]:
        item = self._items.get(_DIRECTORIES)
        return [] if item is None else item.value

    def _keep_directories(self, names: Iterable[str]) -> None:
        self._items.put(_DIRECTORIES, "", sorted(set(names)), before=self._items.get(_DIRECTORIES))

    def _make_directories(self, path: str) -> bool:
        """Create a directory and its parents, like ``mkdir -p``. Return False if a file is in the way."""
        known, wanted = self._directories(), []
        while _is_below(path, _ROOT) and path not in known:
            if self._items.get(path) is not None:
                return False
            wanted.append(path)
            path = posixpath.dirname(path)
        if wanted:
            self._keep_directories([*known, *wanted])
        return True


def _check_path(path: str) -> str:
    """Return the path without ``.``, ``..`` and double slashes.

    Raises:
        ToolError: the path is not below ``/memories``.
    """
    if path != _ROOT and not path.startswith(f"{_ROOT}/"):
        raise ToolError(f"Path must start with {_ROOT}, got: {path}")
    plain = posixpath.normpath(path)
    if plain != _ROOT and not _is_below(plain, _ROOT):
        raise ToolError(f"Path {path} would escape {_ROOT} directory")
    return plain


def _is_below(path: str, directory: str) -> bool:
    return path.startswith(f"{directory}/")


def _sort_as_tree(path: str, files: dict[str, int], directories: dict[str, int]) -> list[tuple[list[str], int, bool]]:
    """Return the entries of a listing as (parts below ``path``, bytes, is directory), each after its parent."""
    entries = [
        (name[len(path) + 1 :].split("/"), size, is_directory)
        for sizes, is_directory in ((files, False), (directories, True))
        for name, size in sizes.items()
    ]
    return sorted(
        entry for entry in entries if len(entry[0]) <= _DEPTH and not any(part.startswith(".") for part in entry[0])
    )


def _places(content: str, text: str) -> list[int]:
    """Return all places of a text, overlapping ones included."""
    places, at = [], content.find(text)
    while at != -1:
        places.append(at)
        at = content.find(text, at + 1)
    return places


def _number_lines(lines: Sequence[str], first: int) -> str:
    return "\n".join(f"{str(number).rjust(_WIDTH)}\t{line}" for number, line in enumerate(lines, first))


def _format_size(size: int) -> str:
    """Format a number of bytes as ``du -h`` does."""
    power = min((size.bit_length() - 1) // 10, 3) if size else 0
    scaled = size / 1024**power
    return f"{int(scaled)}{'BKMG'[power]}" if scaled == int(scaled) else f"{scaled:.1f}{'BKMG'[power]}"
