"""Files that only their owner can read: replaced in one step, and locked between processes.

The module knows no content. Invariant: a file has either its former or its new content, also after a crash during the
writing.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

_NAME_CHARACTERS = 40  # of the file's name, as the beginning of the scratch file's name


@contextmanager
def replace_private(path: Path, *, mode: int = 0o600) -> Iterator[BinaryIO]:
    """Open a scratch file for the block, and rename it to ``path`` at the end. If the block raises, remove it.

    The scratch file is next to ``path``, under a name that no other file has.

    Raises:
        OSError: the file cannot be written.
    """
    descriptor, name = tempfile.mkstemp(".part", f".{path.name[:_NAME_CHARACTERS]}.", path.parent)  # of mode 0600
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(descriptor)
        Path(name).chmod(mode)
        Path(name).replace(path)
    finally:
        Path(name).unlink(missing_ok=True)


def write_private(path: Path, content: bytes, *, mode: int = 0o600) -> None:
    """Write a file over any file at this path. Create a missing folder, readable by its owner only.

    Raises:
        OSError: the folder or the file cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with replace_private(path, mode=mode) as file:
        file.write(content)


def try_lock(descriptor: int, *, shared: bool = False) -> bool:
    """Lock an open file or folder; return False at once if another process holds the lock. There is none on Windows.

    The lock ends when each process that inherited the descriptor has closed it. The package ``filelock`` has no shared
    locks, no locks of folders, and none that a started server inherits.

    Raises:
        OSError: the file system has no locks.
    """
    import fcntl

    try:
        fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
