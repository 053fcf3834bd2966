"""One open Ladybug file: statements and transactions on it, and its errors in our words.

It knows neither documents nor namespaces. The invariants: within a process a file is opened once, however many
stores use it, because the engine's lock keeps out other processes only, and two openings in one process destroy
each other's writes; one thread at a time talks to the engine; a transaction that does not reach its commit is
rolled back, whatever ended it.
"""

from __future__ import annotations

import os
import shutil
import struct
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, TypeVar

import ladybug
import pyarrow as pa

from memgraph_rag.errors import SettingsError, StoreError, StoreLocked, StoreReadOnly
from memgraph_rag.stores import ladybug_companions, ladybug_log
from memgraph_rag.stores.ladybug_errors import in_our_words

__all__ = ["IN_MEMORY", "Execute", "LadybugFile", "open_file"]

T = TypeVar("T")

Execute = Callable[[str, Mapping[str, Any]], list[dict[str, Any]]]

IN_MEMORY = ":memory:"

# The engine aborts the process when the disk is full at a checkpoint; this is what the largest one may need.
SPARE_BYTES = 64 * 2**20

WRITES_PER_CONNECTION = 64

FLOCK = "hhqqi4x"
"""Linux's ``struct flock``: kind, whence, start, length, process."""

# For statements that touch few rows, as those of a write do: to wake more threads costs more than they save.
ONE_THREAD = 1

_open_files: dict[str, LadybugFile] = {}
_opening = threading.Lock()


def open_file(path: str, *, read_only: bool = False) -> LadybugFile:
    """The open file at this path, shared by all who ask for it; each closes its own.

    Args:
        read_only: several processes may read one file, while none has it open otherwise. Where this process has it open
            for writing, that is what is shared.

    Raises:
        StoreLocked: another process has it open.
        StoreReadOnly: it is to be read and is not there, or to be written and is open here for reading only.
        StoreAccessDenied: it must not be read or written.
        StoreError: it is a folder, or no Ladybug file, or the disk is full, or no file can be made there.
        SettingsError: it is no path.
    """
    if path == IN_MEMORY and not read_only:
        return LadybugFile(path)
    if "\0" in path:
        raise SettingsError(f"expected the path of a file; came {path!r}, with a NUL in it.", path=path)
    try:
        place = os.path.realpath(Path(path).expanduser())
        os.fsencode(place)
    except (RuntimeError, UnicodeEncodeError) as exc:  # no such user; half a surrogate pair
        raise SettingsError(f"expected the path of a file; came {path!r} ({exc}). Name another.", path=path) from exc
    if place.endswith(ladybug_companions.SCRATCH):
        raise SettingsError(
            f"Expected the path of a store, got {path!r}, a name that only purge gives. Use one that does not end in "
            f"{ladybug_companions.SCRATCH}.",
            path=path,
        )
    with _opening:
        if place not in _open_files:
            _open_files[place] = LadybugFile(place, read_only=read_only)
        if _open_files[place].read_only and not read_only:
            raise StoreReadOnly(
                f"expected {place} to be free; this process has it open for reading only. Close it first.", path=place
            )
        _open_files[place].users += 1
        return _open_files[place]


class LadybugFile:
    """A Ladybug database, opened. Made by ``open_file``."""

    def __init__(self, place: str, *, read_only: bool = False) -> None:
        self.place = place
        self.read_only = read_only
        self.users = 0
        self.generation = 0
        """How often the embeddings were replaced since the file was opened."""
        self.lock = threading.RLock()
        self._shared: int | None = None
        if read_only:
            self._shared = _lock_for_reading(place)
        elif place != IN_MEMORY:
            _create(place)
            _recover(place)
        self._open_engine()

    def read(self, text: str, parameters: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The rows of one reading statement."""
        with self.lock:
            return _execute(self._reader, self.place, text, parameters)

    def look_up(self, text: str, parameters: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The rows of one reading statement that touches few: half the time of ``read``, which scans in parallel."""
        with self.lock:
            return _execute(self._writer, self.place, text, parameters)

    def read_table(self, text: str, parameters: Mapping[str, Any]) -> pa.Table:
        """The rows of one reading statement as an arrow table: no Python object for each number of an embedding."""
        with self.lock, in_our_words(self.place):
            result = self._reader.execute(text, dict(parameters))
            assert isinstance(result, ladybug.QueryResult)
            with result:
                return result.get_as_arrow()

    def transaction(self, work: Callable[[Execute], T], *, row_bytes: int = 0) -> T:
        """What ``work`` returns, after all that it executed is committed; nothing of it where it raises.

        Args:
            row_bytes: about how much is written, to refuse while there is no space rather than break half-way.
        """
        with self.lock:
            if self.read_only:
                raise StoreReadOnly(
                    f"{self.place} is open for reading only. Open it again to change it.", path=self.place
                )
            if self.place != IN_MEMORY:
                _require_space(self.place, row_bytes)
                _touch_private(f"{self.place}.wal")
            writer = self._renewed_writer()

            def execute(text: str, parameters: Mapping[str, Any]) -> list[dict[str, Any]]:
                return _execute(writer, self.place, text, parameters)

            committed = False
            try:
                execute("BEGIN TRANSACTION", {})
                result = work(execute)
                execute("COMMIT", {})
                committed = True
            finally:
                if not committed:
                    with suppress(RuntimeError):  # a failed statement has ended the transaction already
                        writer.execute("ROLLBACK")
            return result

    def _renewed_writer(self) -> ladybug.Connection:
        """A connection to write by, a new one now and then: it keeps each statement it prepared for an arrow table."""
        if self._writes % WRITES_PER_CONNECTION == 0:
            with in_our_words(self.place):
                old, self._writer = self._writer, ladybug.Connection(self._database, ONE_THREAD)
                old.close()
        self._writes += 1
        return self._writer

    def rewrite(self, fill: Callable[[LadybugFile], None]) -> None:
        """Put another file in place of this one: what ``fill`` makes of an empty one beside it.

        The old file stays until the new one is whole on the disk, so that whatever ends this leaves one of the two, and
        that one open.

        Raises:
            StoreLocked: another process took the file at that moment; it is as it was.
        """
        with self.lock:
            if self.place == IN_MEMORY:
                return
            scratch = ladybug_companions.scratch_of(self.place)
            ladybug_companions.remove_scratch(self.place)
            try:
                with in_our_words(self.place):
                    old_bytes = Path(self.place).stat().st_size
                _require_space(self.place, old_bytes)
                fresh = LadybugFile(str(scratch))
                fill(fresh)
                fresh._close_engine()
                try:
                    with in_our_words(self.place):
                        self._reader.execute("CHECKPOINT")
                    self._close_engine()
                    _replace(self.place, scratch)
                finally:
                    self._close_engine()  # if it was not, or was in part
                    self._open_engine()
            finally:
                ladybug_companions.remove_scratch(self.place)

    def _open_engine(self) -> None:
        with ExitStack() as undone:
            undone.callback(self._let_go)
            with in_our_words(self.place):
                if self.read_only:
                    ladybug_log.require_whole(self.place)
                self._database = undone.enter_context(ladybug.Database(self.place, read_only=self.read_only))
                self._reader = ladybug.Connection(self._database)
                self._writer = ladybug.Connection(self._database, ONE_THREAD)
            undone.pop_all()
        self._writes = 0

    def _close_engine(self) -> None:
        """Close all three, whatever happens at one of them; what is closed stays so."""
        with in_our_words(self.place), ExitStack() as closing:
            closing.callback(self._database.close)
            closing.callback(self._writer.close)
            closing.callback(self._reader.close)

    def _let_go(self) -> None:
        shared, self._shared = self._shared, None
        if shared is not None:
            os.close(shared)

    def close(self) -> None:
        """Let go of the file; the last of its users closes it."""
        with _opening, self.lock:
            self.users -= 1
            if self.users <= 0:
                _open_files.pop(self.place, None)
                self._close_engine()
                self._let_go()


def _recover(place: str) -> None:
    """Put right what a stopped process left of a file and beside it, unless somebody else has the file open."""
    with in_our_words(place), Path(place).open("rb+") as held:
        if _lock(held.fileno()):  # else the engine says who has it
            ladybug_log.mend(place)
            ladybug_companions.remove_leftovers(place)


def _create(place: str) -> None:
    """Make the file and its folder where they are missing; only its owner may read it."""
    with in_our_words(place):
        if Path(place).is_dir():
            raise StoreError(
                f"expected a file; {place} is a folder. Name a file in it: {place}/notes.lbug.", path=place
            )
        if Path(place).exists():
            return
        Path(place).parent.mkdir(parents=True, exist_ok=True)
    _require_space(place, 0)
    _touch_private(place)


def _touch_private(place: str) -> None:
    with in_our_words(place), suppress(FileExistsError):
        os.close(os.open(place, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def _replace(place: str, scratch: Path) -> None:
    """Put a closed Ladybug file in place of another closed one, which has no log any more.

    The descriptor that locks the old file, as the engine does, is closed last.
    """
    old = Path(place)
    for kept in (Path(place + suffix) for suffix in ladybug_companions.PENDING):  # taken for the new file's
        if kept.exists() and kept.stat().st_size:
            raise StoreError(
                f"expected {place} to be closed with nothing beside it; {kept} is still there. Nothing was changed; "
                "open the file again, and then try once more.",
                path=place,
            )
    _flush(scratch)
    with in_our_words(place), old.open("rb+") as held:
        if not _lock(held.fileno()):
            raise StoreLocked(f"another process opened {place} meanwhile. Close it there, then try again.", path=place)
        scratch.replace(old)
        _flush(old.parent)


def _lock(descriptor: int) -> bool:
    if sys.platform == "win32":  # where an open file cannot be replaced in any case
        return True
    import fcntl

    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _lock_for_reading(place: str) -> int | None:
    """A descriptor that holds the file for readers: who wants to write gets ``StoreLocked``, as we do beside a writer.

    The engine lets readers in beside a writer, who would then change pages under them. Its own lock is asked for here,
    shared, and bound to this descriptor where the system can: else any other descriptor of the file that this process
    closes would give it up.
    """
    try:
        descriptor = os.open(place, os.O_RDONLY)
    except (OSError, ValueError) as exc:
        raise StoreReadOnly(
            f"expected a file to read; {place} cannot be opened ({exc}). Open it once without read_only: "
            "that makes it.",
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
        raise StoreLocked(
            f"expected {place} to be free of writers; {who} has it open. Close it there, or use a Neo4j server for "
            "several processes.",
            path=place,
        ) from exc
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


def _flush(path: Path) -> None:
    """See to it that a file, or the names in a folder, are on the disk."""
    with in_our_words(str(path)):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _require_space(place: str, row_bytes: int) -> None:
    needed = SPARE_BYTES + 4 * row_bytes
    with in_our_words(place):
        free = shutil.disk_usage(Path(place).parent).free
    if free < needed:
        raise StoreError(
            f"expected {needed >> 20} MiB of free space beside {place}; there are {free >> 20} MiB. Nothing was "
            "written. Make room, or move the file.",
            path=place,
            free=free,
            needed=needed,
        )


def _execute(
    connection: ladybug.Connection, place: str, text: str, parameters: Mapping[str, Any]
) -> list[dict[str, Any]]:
    with in_our_words(place):
        result = connection.execute(text, dict(parameters))
        assert isinstance(result, ladybug.QueryResult)  # a list only where a text holds several statements
        with result:
            return [row for row in result.rows_as_dict() if isinstance(row, dict)]
