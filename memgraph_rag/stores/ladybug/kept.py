"""The indexes of searches that are kept beside a Ladybug file, each a file of its own.

It knows no statement and no index: who keeps one gives its content and its digest, which tells what it was made from.
Invariants: what stands under a digest is whole; after ``remove`` nothing is kept, whole or not, until the next
``keep``; nobody but the owner may read it.
"""

from __future__ import annotations

import logging
import re
import shutil
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from pathlib import Path

from memgraph_rag.stores.ladybug.errors import in_our_words

__all__ = ["KeptIndexes"]

_KEPT = ".index-"
_WRITING = ".writing"
_SPARE_BYTES = 256 * 2**20  # of the disk, left to the engine, which ends the process where a checkpoint finds no room

logger = logging.getLogger(__name__)


class KeptIndexes:
    """Those of one file.

    Args:
        lock: of the file; who writes to it calls ``remove`` and holds it until that is committed.
    """

    def __init__(self, place: str, lock: AbstractContextManager[object]) -> None:
        self._place = place
        self._lock = lock
        self._may_be_there = True  # to look costs a listing of the folder, so it is done once

    def find(self, digest: str) -> Path | None:
        """The index of this digest (16 hexadecimal digits); None where none is kept."""
        path = Path(f"{self._place}{_KEPT}{digest}")
        return path if path.is_file() else None

    def keep(self, write: Callable[[Path], None], *, nbytes: int, digest: Callable[[], str | None]) -> None:
        """Keep what ``write`` puts into a file; nothing where there is no room, or where it cannot be removed again.

        Args:
            nbytes: about how large it will be.
            digest: asked before and after; None where the index is not of what is stored by then.
        """
        if sys.platform == "win32":  # where no file goes that somebody has mapped
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
                    scratch.replace(f"{self._place}{_KEPT}{now}")
        except OSError as exc:  # no room, or no right to write there: it is made again by whoever needs it
            logger.info("%s: its index was not kept (%s)", self._place, exc)
        finally:
            if scratch is not None:
                with suppress(OSError):
                    scratch.unlink(missing_ok=True)

    def remove(self) -> None:
        """Remove all of them, whole or not. The caller holds the file's lock."""
        if not self._may_be_there:
            return
        file = Path(self._place)
        name = re.compile(rf"{re.escape(file.name + _KEPT)}[0-9a-f]{{16}}({_WRITING})?")
        with in_our_words(self._place):
            for path in [path for path in file.parent.iterdir() if name.fullmatch(path.name)]:
                path.unlink(missing_ok=True)
        self._may_be_there = False
