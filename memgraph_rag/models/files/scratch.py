"""Folders in the cache that appear completely or not at all.

The module knows files and locks, and no model. Invariant: the next start removes the files of a killed process.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from memgraph_rag.display import show
from memgraph_rag.errors import ModelError
from memgraph_rag.private_files import try_lock

_MAKING = ".making-"  # begins the names of unfinished folders


@contextmanager
def check_cache(cache_dir: Path) -> Iterator[None]:
    """Turn the system's error for an unreadable, protected or full folder into an error of this library."""
    try:
        yield
    except OSError as exc:
        raise ModelError(
            f"Expected a cache folder that can be read and written, got {show(exc)}. Free space, or set cache_dir to "
            "another folder.",
            folder=cache_dir,
        ) from exc


@contextmanager
def scratch_folder(parent: Path) -> Iterator[Path]:
    """Make a temporary folder in ``parent``, from which a result can be moved in one step; remove it at the end."""
    parent.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=f"{_MAKING}{os.getpid()}-", dir=parent))
    try:
        with _lock_folder(folder):
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def remove_abandoned(parent: Path) -> None:
    """Remove the temporary folders that killed processes left in ``parent``: the folders that no process locks.

    Empty folders stay, because another process may be about to lock them, and they take no space.
    """
    for folder in parent.glob(f"{_MAKING}*"):
        with _lock_folder(folder) as was_free:
            if was_free and any(folder.iterdir()):
                shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _lock_folder(folder: Path) -> Iterator[bool]:
    """Lock a folder; yield False if another process has the lock. The lock ends with its process.

    A process id would not be enough: another container may share the cache and use the same ids. On a system that
        cannot lock folders, the result is always False.
    """
    if sys.platform == "win32":
        yield False
        return
    with ExitStack() as stack:
        was_free = False
        with suppress(OSError):
            descriptor = os.open(folder, os.O_RDONLY)
            stack.callback(os.close, descriptor)
            was_free = try_lock(descriptor)
        yield was_free


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file, as hex digits."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def publish(made: Path, folder: Path) -> None:
    """Move a finished folder to its place in one step. A folder that another process made meanwhile stays."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    try:
        made.replace(folder)
    except OSError:  # another process was faster
        if not (folder / "config.json").is_file():
            raise
