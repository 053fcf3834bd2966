"""Search indexes that are kept in files next to a Ladybug file.

The module knows no statement and no index: the caller gives the content of an index, and a digest of the state that it
was made from. Invariants: a file under the name of a digest is complete, and made from that state or from an earlier
one since which the namespace deleted nothing. After ``remove`` no file of the namespace is kept, complete or not, until
the next ``keep``. Only the owner can read the files.
"""

from __future__ import annotations

import logging
import re
import shutil
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from pathlib import Path

from memgraph_rag.stores.ladybug.errors import convert_engine_errors

_KEPT = ".index-"
_WRITING = ".writing"
_FIRST = 16  # hexadecimal digits at the beginning of a digest, the same for all states of a namespace
_SPARE_BYTES = 256 * 2**20  # free disk space for the engine, which ends the process if a checkpoint finds none

logger = logging.getLogger(__name__)


class KeptIndexes:
    """The files next to one Ladybug file in which search indexes are kept for later processes.

    Args:
        lock: of the file. A writer of the file calls ``remove``, and holds the lock until its commit.
    """

    def __init__(self, place: str, lock: AbstractContextManager[object]) -> None:
        self._place = place
        self._lock = lock
        self._may_be_there = True  # False after the folder was searched and holds no index

    def find(self, digest: str) -> Path | None:
        """Return the path of the index file for a state, by its digest (32 hexadecimal digits); None if missing."""
        path = Path(f"{self._place}{_KEPT}{digest}")
        return path if path.is_file() else None

    def may_be_there(self) -> bool:
        """Return whether an index file is next to the database file. The folder is searched until none is found."""
        if self._may_be_there:
            file = Path(self._place)
            with suppress(OSError):  # a folder that may not be listed may hold one
                self._may_be_there = any(path.name.startswith(file.name + _KEPT) for path in file.parent.iterdir())
        return self._may_be_there

    def keep(self, write: Callable[[Path], None], *, nbytes: int, digest: Callable[[], str | None]) -> None:
        """Keep an index in a file. On a full disk, on Windows, or if the file cannot be written, do nothing.

        Args:
            write: writes the index to a path.
            nbytes: approximate size of the file.
            digest: returns the digest of the current state, or None if the index is out of date and must not be kept.
                It is called before and after the writing.
        """
        if sys.platform == "win32":  # Windows cannot remove a file that a process has mapped
            return
        scratch = None
        try:
            if shutil.disk_usage(Path(self._place).parent).free < nbytes + _SPARE_BYTES:
                return
            with self._lock:
                if (now := digest()) is None:
                    return
                self._may_be_there = True
                scratch = Path(f"{self._place}{_KEPT}{now}{_WRITING}")
                scratch.touch(0o600)
            write(scratch)
            with self._lock:  # no write between the digest and the name
                if (now := digest()) is not None:
                    self._remove(f"{now[:_FIRST]}[0-9a-f]*")  # of earlier states
                    scratch.replace(f"{self._place}{_KEPT}{now}")
        except OSError as exc:  # no space, or no permission: the next search builds the index again
            logger.info("%s: its index was not kept (%s)", self._place, exc)
        finally:
            if scratch is not None:
                with suppress(OSError):
                    scratch.unlink(missing_ok=True)

    def rename(self, path: Path, digest: str) -> None:
        """Give a kept index the name of the current state, after a write that deleted nothing.

        The caller holds the lock of the file. A process that stops before this call leaves a file that is never read;
        the next ``keep`` of the namespace removes it, and so does each ``remove``.
        """
        with suppress(OSError):  # the write removed it
            path.rename(f"{self._place}{_KEPT}{digest}")

    def remove(self, digest: str = "") -> None:
        """Delete the index files of the namespace to which a digest belongs, by default of all namespaces.

        The caller holds the lock of the file.
        """
        first = digest[:_FIRST]
        self._remove(rf"({first}[0-9a-f]*|[0-9a-f]{{{_FIRST}}})({_WRITING})?")  # names of an older version are shorter

    def _remove(self, pattern: str) -> None:
        file = Path(self._place)
        name = re.compile(re.escape(file.name + _KEPT) + pattern)
        with convert_engine_errors(self._place):
            for path in [path for path in file.parent.iterdir() if name.fullmatch(path.name)]:
                path.unlink(missing_ok=True)
