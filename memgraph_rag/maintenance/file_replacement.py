"""Replaces a file by one of this library's: whole or not at all, readable by its owner alone.

It knows no format. Invariants: nothing is replaced but a regular file that is empty or that this library wrote; a
symbolic link stays, and its target is replaced by the same rules; what is written meanwhile has a name that no other
file has.
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from memgraph_rag.display import show
from memgraph_rag.errors import MemgraphRagError

__all__ = ["replacement"]

_HEAD_BYTES = 4096  # in which a file says what it is
_NAME_CHARACTERS = 40  # of the file's name, in that of its scratch file


@contextmanager
def replacement(path: Path, *, kind: str, mark: bytes, error: type[MemgraphRagError]) -> Iterator[BinaryIO]:
    """A file to write to, which takes the place of ``path`` when the block ends; where it raises, nothing changes.

    Args:
        kind: what is written, in a message: "an archive".
        mark: what stands in the first bytes of each file of that kind that was written here.
        error: what is raised.

    Raises:
        MemgraphRagError: ``error``: the place holds something else, or cannot be written.
    """
    try:
        target = _target(path)
        _require_replaceable(path, target, kind=kind, mark=mark, error=error)
        prefix = f".{target.name[:_NAME_CHARACTERS]}."
        descriptor, name = tempfile.mkstemp(".part", prefix, target.parent)  # 0600, and none that is there
        try:
            with os.fdopen(descriptor, "wb") as file:
                yield file
            Path(name).replace(target)
        finally:
            with suppress(FileNotFoundError):
                Path(name).unlink()
    except OSError as exc:
        raise error(
            f"Expected a place where {kind} can be written, got {show(exc)}. Name another file.", path=path
        ) from exc


def _target(path: Path) -> Path:
    """The path itself, behind symbolic links."""
    try:
        return path.resolve()
    except RuntimeError as exc:  # links in a circle, before Python 3.13
        raise OSError(str(exc)) from exc


def _require_replaceable(path: Path, target: Path, *, kind: str, mark: bytes, error: type[MemgraphRagError]) -> None:
    if not target.exists():
        return
    mode = target.stat().st_mode
    if not stat.S_ISREG(mode):
        got = "a folder" if stat.S_ISDIR(mode) else "a device, a pipe or a socket"
        raise error(f"Expected a regular file for {kind}, got {got}: {show(path)}. Name another file.", path=path)
    with target.open("rb") as file:
        head = file.read(_HEAD_BYTES)
    if head and mark not in head:
        raise error(
            f"Expected a new file, or {kind} to replace, got {show(path)}, which holds something else. It was left as "
            "it is: name another file.",
            path=path,
        )
