"""Replaces a file in one step with a new file that only its owner can read.

It knows no file format. Invariants: only a regular file that is empty or that this library wrote is replaced. A
symbolic link stays, and its target is replaced by the same rules. The scratch file has a name that no other file has.
"""

from __future__ import annotations

import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from memgraph_rag.display import show
from memgraph_rag.errors import MemgraphRagError
from memgraph_rag.private_files import replace_private
from memgraph_rag.stores import open_place

_HEAD_BYTES = 4096  # searched for the mark of a kind of file


@contextmanager
def replace_file(path: Path, *, kind: str, mark: bytes, error: type[MemgraphRagError]) -> Iterator[BinaryIO]:
    """Open a scratch file for the block, and rename it to ``path`` at the end. If the block raises, remove it.

    Args:
        kind: the kind of file, with an article, for messages: "an archive".
        mark: bytes near the beginning of each file of this kind. Without the mark only an empty file is replaced.
        error: the class of the errors.

    Raises:
        MemgraphRagError: an error of the class ``error``: the path holds another file, or cannot be written.
    """
    try:
        target = _target(path)
        _require_replaceable(path, target, kind=kind, mark=mark, error=error)
        with replace_private(target) as file:
            yield file
    except OSError as exc:
        raise error(
            f"Expected a path where {kind} can be written, got {show(exc)}. Name another file.", path=path
        ) from exc


def _target(path: Path) -> Path:
    """Return the path after following all symbolic links."""
    try:
        return path.resolve()
    except RuntimeError as exc:  # a loop of links, before Python 3.13
        raise OSError(str(exc)) from exc


def _require_replaceable(path: Path, target: Path, *, kind: str, mark: bytes, error: type[MemgraphRagError]) -> None:
    """Raise ``error`` unless the target is missing, empty, or a regular file with the mark, and of no open store."""
    if not target.exists():
        return
    if (place := open_place(target)) is not None:  # before it is opened: closing it may release the engine's lock
        raise error(
            f"Expected a new file, or {kind} to replace, got {show(path)}, which holds something else: a part of the "
            f"open store {show(place)}. Name another file.",
            path=path,
        )
    mode = target.stat().st_mode
    if not stat.S_ISREG(mode):
        got = "a folder" if stat.S_ISDIR(mode) else "a device, a pipe or a socket"
        raise error(f"Expected a regular file for {kind}, got {got}: {show(path)}. Name another file.", path=path)
    with target.open("rb") as file:
        head = file.read(_HEAD_BYTES)
    if head and mark not in head:
        raise error(
            f"Expected a new file, or {kind} to replace, got {show(path)}, which holds something else. It was not "
            "changed: name another file.",
            path=path,
        )
