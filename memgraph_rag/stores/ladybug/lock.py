"""The lock of a Ladybug file: a lock file next to it, which only its holder releases.

The module knows paths and no engine. The engine's own POSIX lock ends when this process closes any descriptor of the
file, for example after reading or copying it. Invariants: only this module opens the lock file, so only ``release`` or
the end of the process ends the lock. A process that holds the lock alone removes the lock file. A process that got the
lock checks that the lock file still exists under its name.

On Windows the engine's lock belongs to its own handle and is not lost in this way, so there is no lock file.
"""

from __future__ import annotations

import os
import re
import struct
import sys
import time
from contextlib import ExitStack, suppress
from pathlib import Path

from memgraph_rag.display import show
from memgraph_rag.errors import StoreLocked, StoreReadOnly
from memgraph_rag.private_files import try_lock
from memgraph_rag.stores.ladybug.paths import ENGINE, LOCK_SUFFIX

WAIT_S = 5.0
"""So long a process waits for the process that has a file open, as SQLite's module does by default."""

TRIES = 5  # a lock file may be removed between its opening and its lock
SHORTEST_PAUSE_S, LONGEST_PAUSE_S = 0.01, 0.2

FLOCK = "hhqqi4x"
"""The format of Linux's ``struct flock``: kind, whence, start, length, process."""

_held: dict[str, FileLock] = {}


class FileLock:
    """The lock of a store's file, held by this process. ``hold`` creates it."""

    def __init__(self, place: str, *descriptors: int | None, lock: int | None) -> None:
        self._place = place
        self._lock = lock
        self._descriptors = [descriptor for descriptor in (lock, *descriptors) if descriptor is not None]

    def release(self) -> None:
        """Release the lock. The last holder removes the lock file. A second call does nothing."""
        _held.pop(self._place, None)
        lock, self._lock = self._lock, None
        if lock is not None:
            _remove_if_last(lock, f"{self._place}{LOCK_SUFFIX}")
        self.abandon()

    def abandon(self) -> None:
        """Close the descriptors of the lock in a forked child. The parent keeps the lock."""
        descriptors, self._descriptors = self._descriptors, []
        for descriptor in descriptors:
            os.close(descriptor)


def hold(place: str, *, shared: bool = False) -> FileLock:
    """Lock a store's file for writing, or with ``shared`` for reading together with other readers.

    While another process has the file open, this call waits for it, ``WAIT_S`` seconds at most. Without an error, the
    lock may be weaker: on Windows, on a file system without such locks, or for a reader that may not write in the
    folder, there is no lock file.

    Raises:
        StoreLocked: another process still has the file open; with ``shared``, it has the file open for writing.
        StoreReadOnly: the file to read cannot be opened.
        OSError: the lock file of a file to write cannot be created.
    """
    until, pause_s = time.monotonic() + WAIT_S, SHORTEST_PAUSE_S
    while True:
        try:
            return _hold_now(place, shared=shared)
        except StoreLocked:
            if time.monotonic() + pause_s > until:
                raise
        time.sleep(pause_s)
        pause_s = min(2 * pause_s, LONGEST_PAUSE_S)


def _hold_now(place: str, *, shared: bool) -> FileLock:
    with ExitStack() as undone:
        data = _lock_for_reading(place) if shared else None
        if data is not None:
            undone.callback(os.close, data)
        lock = None if sys.platform == "win32" else _take_lock(place, shared=shared)
        undone.pop_all()
    file_lock = _held[place] = FileLock(place, data, lock=lock)
    return file_lock


def abandon_all() -> None:
    """Forget all locks of files in a child that was just forked. The parent keeps them."""
    for file_lock in _held.values():
        file_lock.abandon()
    _held.clear()


def list_open_places() -> list[Path]:
    """Return the paths of all stores whose files are open in this process."""
    return [Path(place) for place in list(_held)]


def open_place(path: str | Path) -> str | None:
    """Return the path of the open store to which the file at ``path`` belongs; None if it belongs to no open store.

    The file may be the graph, its log, its lock or another file of the engine, also under another name or by a link.
    Only stores that are open in this process count.
    """
    try:
        status = Path(path).stat()
    except (OSError, ValueError):
        return None
    for place in list(_held):
        for suffix in (*ENGINE, LOCK_SUFFIX):
            with suppress(OSError):
                if os.path.samestat(status, Path(f"{place}{suffix}").stat()):
                    return place
    return None


# ── the lock file ────────────────────────────────────────────────────────────────────────────────────────────


def _take_lock(place: str, *, shared: bool) -> int | None:
    """Return a descriptor that holds the lock; None if this reader or this file system cannot lock."""
    path = f"{place}{LOCK_SUFFIX}"
    for _ in range(TRIES):
        descriptor = _open_lock(path, shared=shared)
        if descriptor is None:
            return None
        with ExitStack() as undone:
            undone.callback(os.close, descriptor)
            try:
                is_locked = try_lock(descriptor, shared=shared)
            except OSError:  # the file system has no such locks; the engine's own lock remains
                return None
            if not is_locked:
                raise _make_locked_error(place, _find_holder(descriptor))
            if not _is_in_place(descriptor, path):
                continue
            if not shared:
                _sign(descriptor)
            undone.pop_all()
            return descriptor
    raise _make_locked_error(place, "another process")


def _make_locked_error(place: str, who: str) -> StoreLocked:
    return StoreLocked(
        f"Expected an unused file, got {show(place)}: {who} has it open, and kept it open for {WAIT_S:g} s. Close it "
        'there, let one process serve it to the others ("memgraph-rag serve"), or use a Neo4j server.',
        path=place,
    )


def _open_lock(path: str, *, shared: bool) -> int | None:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError:
        if not shared:
            raise
    with suppress(OSError):  # this reader may not write in the folder
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    return None


def _is_in_place(descriptor: int, path: str) -> bool:
    """Return whether the open lock file still has its name: its last holder may have removed it."""
    try:
        return os.path.samestat(os.fstat(descriptor), Path(path).stat())
    except FileNotFoundError:
        return False


def _signature(descriptor: int) -> str | None:
    """Return the process id in the lock file, "" if it is empty; None if the file belongs to another program."""
    signed = re.fullmatch(rb"(\d*)\n?", os.pread(descriptor, 32, 0))
    return signed[1].decode() if signed else None


def _sign(descriptor: int) -> None:
    with suppress(OSError):  # on a full disk, the holder stays unknown
        if _signature(descriptor) is not None:
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)


def _find_holder(descriptor: int) -> str:
    """Return the holder of a refused lock, in words: readers, or the writer that signed it."""
    if try_lock(descriptor, shared=True):
        return "a reader in another process"
    with suppress(OSError):
        if number := _signature(descriptor):
            return f"process {number}"
    return "another process"


def _remove_if_last(descriptor: int, path: str) -> None:
    import fcntl

    with suppress(OSError):
        is_last = try_lock(descriptor)  # else other readers hold the lock too
        if is_last and _is_in_place(descriptor, path) and _signature(descriptor) is not None:
            Path(path).unlink()
    with suppress(OSError):  # this also ends the lock of a copy of the descriptor in a forked child
        fcntl.flock(descriptor, fcntl.LOCK_UN)


# ── the engine's lock ────────────────────────────────────────────────────────────────────────────────────────


def _lock_for_reading(place: str) -> int | None:
    """Return a descriptor that locks the file itself for reading, so that an engine without our lock cannot write it.

    The engine lets readers open a file that a writer has open, and the writer would change pages under them. So this
    function takes the engine's own lock, shared, and binds it to this descriptor if the system can: otherwise closing
    any other descriptor of the file in this process would release it.
    """
    try:
        descriptor = os.open(place, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
    except (OSError, ValueError) as exc:
        raise StoreReadOnly(
            f"Expected a file to read, got {show(place)}, which cannot be opened ({show(exc)}). Open it once without "
            "read_only: that creates it.",
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
        who = _find_writer(descriptor)
        os.close(descriptor)
        raise _make_locked_error(place, who) from exc
    return descriptor


def _find_writer(descriptor: int) -> str:
    """Return the process that has a file open for writing, in words, if the system reports it."""
    import fcntl

    request = struct.pack(FLOCK, fcntl.F_RDLCK, os.SEEK_SET, 0, 0, 0)
    with suppress(OSError):
        kind, *_, pid = struct.unpack(FLOCK, fcntl.fcntl(descriptor, fcntl.F_GETLK, request))
        if kind == fcntl.F_WRLCK and pid > 0:
            return f"process {pid}"
    return "another process"
