"""Who has a Ladybug file open: a lock beside it, which only its holder gives up.

It knows paths and no engine. The engine's own lock is a POSIX one, and ends when this process closes any descriptor of
the file, as whoever reads or copies it does. Invariants: the lock file is opened nowhere but here, so only ``release``
or the end of the process ends the lock; who holds it alone removes it; who got it makes sure that it still lies there.

On Windows the engine's lock belongs to its own handle and is not lost so; there nothing more is locked.
"""

from __future__ import annotations

import os
import re
import struct
import sys
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Protocol

from memgraph_rag.display import show
from memgraph_rag.errors import StoreLocked, StoreReadOnly
from memgraph_rag.stores.ladybug.paths import ENGINE, LOCK_SUFFIX

__all__ = ["FileLock", "Hold", "abandon_all", "hold", "open_place"]

TRIES, PAUSE_S = 5, 0.01  # a reader that leaves holds the lock alone for a moment

FLOCK = "hhqqi4x"
"""Linux's ``struct flock``: kind, whence, start, length, process."""

_held: dict[str, FileLock] = {}


class FileLock:
    """A store's file, locked by this process. Made by ``hold``."""

    def __init__(self, place: str, *descriptors: int | None, lock: int | None) -> None:
        self._place = place
        self._lock = lock
        self._descriptors = [descriptor for descriptor in (lock, *descriptors) if descriptor is not None]

    def release(self) -> None:
        """Give the file up; the lock file goes with its last holder."""
        _held.pop(self._place, None)
        lock, self._lock = self._lock, None
        if lock is not None:
            _remove_if_last(lock, f"{self._place}{LOCK_SUFFIX}")
        self.abandon()

    def abandon(self) -> None:
        """Close the copy that a forked child has of the lock; the parent goes on holding it."""
        descriptors, self._descriptors = self._descriptors, []
        for descriptor in descriptors:
            os.close(descriptor)


class Hold(Protocol):
    """What locks a file: ``hold``."""

    def __call__(self, place: str, *, shared: bool) -> FileLock:
        """Lock the file of a store."""
        ...


def hold(place: str, *, shared: bool = False) -> FileLock:
    """Lock a store's file for writing, or with ``shared`` for reading beside other readers.

    Raises:
        StoreLocked: another process has it open.
        StoreReadOnly: it is to be read, and cannot be.
        OSError: it is to be written, and no file can be made beside it.
    """
    with ExitStack() as undone:
        data = _lock_for_reading(place) if shared else None
        if data is not None:
            undone.callback(os.close, data)
        lock = None if sys.platform == "win32" else _lock_beside(place, shared=shared)
        undone.pop_all()
    file_lock = _held[place] = FileLock(place, data, lock=lock)
    return file_lock


def abandon_all() -> None:
    """Hold nothing any more, in a child that was just forked."""
    for file_lock in _held.values():
        file_lock.abandon()
    _held.clear()


def open_place(path: str | Path) -> str | None:
    """The store, open in this process, that a file belongs to: its graph, its log, or another file beside it."""
    try:
        asked = Path(path).stat()
    except (OSError, ValueError):
        return None
    for place in list(_held):
        for suffix in (*ENGINE, LOCK_SUFFIX):
            with suppress(OSError):
                if os.path.samestat(asked, Path(f"{place}{suffix}").stat()):
                    return place
    return None


# ── the lock beside the file ─────────────────────────────────────────────────────────────────────────────────


def _lock_beside(place: str, *, shared: bool) -> int | None:
    """A descriptor that holds the lock; None where this reader or this file system can have none."""
    import fcntl

    path, who = f"{place}{LOCK_SUFFIX}", "another process"
    kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    for _ in range(TRIES):
        descriptor = _open_lock(path, shared=shared)
        if descriptor is None:
            return None
        with ExitStack() as undone:
            undone.callback(os.close, descriptor)
            try:
                fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
            except BlockingIOError:
                who = _holder(descriptor)
                time.sleep(PAUSE_S)
                continue
            except OSError:  # no such locks here; the engine's own remains
                return None
            if not _lies_there(descriptor, path):
                continue
            if not shared:
                _sign(descriptor)
            undone.pop_all()
            return descriptor
    raise _locked(place, who)


def _locked(place: str, who: str) -> StoreLocked:
    return StoreLocked(
        f"Expected a file that is free, got {show(place)}: {who} has it open. Close it there, or use a Neo4j server "
        "for several processes.",
        path=place,
    )


def _open_lock(path: str, *, shared: bool) -> int | None:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError:
        if not shared:
            raise
    with suppress(OSError):  # in a folder that this reader may not change
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    return None


def _lies_there(descriptor: int, path: str) -> bool:
    """Whether the open lock file is still that of the path: its last holder may have removed it meanwhile."""
    try:
        return os.path.samestat(os.fstat(descriptor), Path(path).stat())
    except FileNotFoundError:
        return False


def _signature(descriptor: int) -> str | None:
    """The number of the process that signed the lock file, "" where none did; None where it is somebody else's file."""
    signed = re.fullmatch(rb"(\d*)\n?", os.pread(descriptor, 32, 0))
    return signed[1].decode() if signed else None


def _sign(descriptor: int) -> None:
    with suppress(OSError):  # a full disk: then nobody is told who it is
        if _signature(descriptor) is not None:
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)


def _holder(descriptor: int) -> str:
    """Who holds the lock that was refused: readers, or the writer that signed it."""
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        with suppress(OSError):
            if number := _signature(descriptor):
                return f"process {number}"
        return "another process"
    return "a reader in another process"


def _remove_if_last(descriptor: int, path: str) -> None:
    import fcntl

    with suppress(OSError):  # others read the file too
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if _lies_there(descriptor, path) and _signature(descriptor) is not None:
            Path(path).unlink()
    with suppress(OSError):  # also for a copy of the descriptor that a forked child may have
        fcntl.flock(descriptor, fcntl.LOCK_UN)


# ── the engine's lock ────────────────────────────────────────────────────────────────────────────────────────


def _lock_for_reading(place: str) -> int | None:
    """A descriptor that holds the file itself for readers, so that an engine without our lock cannot write it.

    The engine lets readers in beside a writer, who would then change pages under them. Its own lock is asked for here,
    shared, and bound to this descriptor where the system can: else any other descriptor of the file that this process
    closes would give it up.
    """
    try:
        descriptor = os.open(place, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
    except (OSError, ValueError) as exc:
        raise StoreReadOnly(
            f"Expected a file to read, got {show(place)}, which cannot be opened ({show(exc)}). Open it once without "
            "read_only: that makes it.",
            path=place,
        ) from exc
    if sys.platform == "win32":
        return descriptor
    import fcntl

    try:
        if sys.platform == "linux":
            fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, struct.pack(FLOCK, fcntl.F_RDLCK, os.SEEK_SET, 0, 0, 0))
        else:
            fcntl.lockf(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError as exc:
        who = _writer_of(descriptor)
        os.close(descriptor)
        raise _locked(place, who) from exc
    return descriptor


def _writer_of(descriptor: int) -> str:
    """Who holds a file for writing, where the system tells."""
    import fcntl

    asked = struct.pack(FLOCK, fcntl.F_RDLCK, os.SEEK_SET, 0, 0, 0)
    with suppress(OSError):
        kind, *_, pid = struct.unpack(FLOCK, fcntl.fcntl(descriptor, fcntl.F_GETLK, asked))
        if kind == fcntl.F_WRLCK and pid > 0:
            return f"process {pid}"
    return "another process"
