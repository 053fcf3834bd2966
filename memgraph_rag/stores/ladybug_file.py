"""One open Ladybug file: statements and transactions on it, and its errors in our words.

It knows neither documents nor namespaces. The invariants: a process opens a file once, however many stores use it and
by whatever names, because two openings destroy each other's writes; no other process has it open (``ladybug_lock``);
one thread at a time talks to the engine, and no child that is forked; a transaction that does not reach its commit is
rolled back; what the engine writes only its owner may read; a file that was not changed stays the same, byte for byte.
"""

from __future__ import annotations

import os
import shutil
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, ClassVar, TypeVar
from weakref import WeakSet

import ladybug
import pyarrow as pa

from memgraph_rag.display import show
from memgraph_rag.errors import MemgraphRagError, StoreError, StoreLocked, StoreReadOnly
from memgraph_rag.stores import ladybug_lock, ladybug_log, ladybug_sidecars
from memgraph_rag.stores.ladybug_errors import in_our_words
from memgraph_rag.stores.ladybug_kept import KeptIndexes
from memgraph_rag.stores.ladybug_paths import (
    PENDING,
    WRITTEN,
    check_place,
    has_log,
    real_place,
    remove_empty_shadow,
)
from memgraph_rag.stores.process_guard import OpeningProcess, ProcessLock, keep_for_ever

__all__ = ["IN_MEMORY", "Execute", "LadybugFile", "open_file"]

T = TypeVar("T")

Execute = Callable[[str, Mapping[str, Any]], list[dict[str, Any]]]

IN_MEMORY = ":memory:"

# The engine aborts the process when the disk is full at a checkpoint; this is what the largest one may need.
SPARE_BYTES = 64 * 2**20

CHECKPOINT_ON_CLOSE = "CALL force_checkpoint_on_close=true"
NO_CHECKPOINT_ON_CLOSE = "CALL force_checkpoint_on_close=false"
NO_SPILLING = "CALL spill_to_disk=false"  # else the engine spills into a file that everybody may read

WRITES_PER_CONNECTION = 64

_MOST_CHUNK = 10_000  # rows of an arrow table that lie together

# For statements that touch few rows, as those of a write do: to wake more threads costs more than they save.
ONE_THREAD = 1

_files: dict[str, LadybugFile] = {}
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
        StoreError: it is a folder, no Ladybug file, or cannot be made there; its name is too long, or it has several.
        SettingsError: it is no path.
    """
    with _opening:
        if path == IN_MEMORY and not read_only:
            file = LadybugFile(path)
        else:
            place = _first_name(real_place(path))
            if place not in _files:
                check_place(place, read_only=read_only)
                _files[place] = LadybugFile(place, read_only=read_only, hold=ladybug_lock.hold)
            file = _files[place]
            if file.read_only and not read_only:
                raise StoreReadOnly(
                    f"Expected a file that is free, got {show(place)}: this process has it open for reading only. "
                    "Close it.",
                    path=place,
                )
        file.users += 1
        return file


def _first_name(place: str) -> str:
    """The name by which this process has that file open already, as by a mount or a hard link; else its own."""
    for known in _files:
        with suppress(OSError):
            if Path(known).samefile(place):
                return known
    return place


def _abandon_all() -> None:
    """In a child that was just forked: nothing is open, and the parent's engines are never destroyed."""
    global _opening
    _opening = threading.Lock()  # another thread, which is not here, may have held it
    for file in list(LadybugFile.all):
        file.abandon()
    _files.clear()
    ladybug_lock.abandon_all()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_abandon_all)


class LadybugFile:
    """A Ladybug database, opened. Made by ``open_file``.

    Args:
        hold: locks the file against other processes; None where no other knows of it.
    """

    all: ClassVar[WeakSet[LadybugFile]] = WeakSet()
    """Those of this process, graphs in memory and files that are being written anew too."""

    def __init__(self, place: str, *, read_only: bool = False, hold: ladybug_lock.Hold | None = None) -> None:
        self.place = place
        self.read_only = read_only
        self.users = 0
        self.generation = 0
        """How often the embeddings were replaced since the file was opened."""
        self.process = OpeningProcess(place)
        self.lock = ProcessLock(self.process)
        self.kept = KeptIndexes(place, self.lock)
        self._is_changed = False
        if place != IN_MEMORY and not read_only:
            _create(place)
        with ExitStack() as undone:
            with in_our_words(place):
                self._file_lock = hold(place, shared=read_only) if hold else None
            if self._file_lock:
                undone.callback(self._file_lock.release)
                if not read_only:
                    _recover(place)
            is_there = place == IN_MEMORY or Path(place).exists()
            self.is_empty = is_there and not self.size and not has_log(place)
            """Whether it holds no table, for certain: nothing was written since it was made. Told under the lock."""
            self._open_engine()
            undone.pop_all()

    @property
    def size(self) -> int:
        """How many bytes it takes on the disk, its log left out; 0 in memory."""
        if self.place == IN_MEMORY:
            return 0
        with in_our_words(self.place):
            return Path(self.place).stat().st_size

    def read(self, text: str, parameters: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The rows of one reading statement."""
        with self.lock:
            return _execute(self._reader, self.place, text, parameters)

    def look_up(self, text: str, parameters: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The rows of one reading statement that touches few: half the time of ``read``, which scans in parallel."""
        with self.lock:
            return _execute(self._writer, self.place, text, parameters)

    def read_table(self, text: str, parameters: Mapping[str, Any]) -> pa.Table:
        """The rows of one reading statement as an arrow table: no Python object for each number of an embedding.

        The engine reserves memory for a whole chunk before it fills it; its own chunk is of a million rows, which for
        one row with an embedding costs 1.7 GB and 80 to 300 ms.
        """
        with self.lock, in_our_words(self.place):
            result = self._reader.execute(text, dict(parameters))
            assert isinstance(result, ladybug.QueryResult)
            with result:
                rows = result.get_num_tuples()
                return result.get_as_arrow(min(max(rows, 1), _MOST_CHUNK))

    def transaction(self, work: Callable[[Execute], T], *, row_bytes: int = 0, script: str = "") -> T:
        """What ``work`` returns, after all that it executed is committed; nothing of it where it raises.

        Args:
            script: statements without parameters with which it begins, run together.
            row_bytes: about how much is written, to refuse while there is no space rather than break half-way.
        """
        with self.lock:
            if self.read_only:
                raise StoreReadOnly(
                    f"{show(self.place)} is open for reading only. Open it again to change it.", path=self.place
                )
            beginning = ["BEGIN TRANSACTION", *([script] if script else [])]
            if self.place != IN_MEMORY:
                _require_space(self.place, row_bytes)
                self._touch_written()
                if not self._is_changed:
                    beginning.insert(0, CHECKPOINT_ON_CLOSE)
                    self._is_changed = True
            self.is_empty = False
            writer = self._renewed_writer()

            def execute(text: str, parameters: Mapping[str, Any]) -> list[dict[str, Any]]:
                return _execute(writer, self.place, text, parameters)

            committed = False
            try:
                execute(";\n".join(beginning), {})
                result = work(execute)
                execute("COMMIT", {})
                committed = True
            finally:
                if not committed:
                    with suppress(RuntimeError):  # a failed statement has ended the transaction already
                        writer.execute("ROLLBACK")
                self._touch_again()
            return result

    def change_schema(self, work: Callable[[Execute], None], *, row_bytes: int = 0, script: str = "") -> None:
        """Do ``work`` as a transaction of statements that make or change tables; open the engine anew where it raises.

        After the engine's own rollback of a column that was added, the next transactions can write a file of which
        reading that table ends the process, each time (Ladybug 0.22.0, ``benchmarks/results/ladybug_report.md``).
        """
        with self.lock, ExitStack() as on_failure:
            on_failure.callback(self._open_engine)
            on_failure.callback(self._close_engine)
            on_failure.callback(self._drop_changes)
            self.transaction(work, row_bytes=row_bytes, script=script)
            on_failure.pop_all()

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
            scratch = ladybug_sidecars.scratch_of(self.place)
            ladybug_sidecars.remove_scratch(self.place)
            try:
                _require_space(self.place, self.size)
                fresh = LadybugFile(str(scratch))
                with ExitStack() as at_end:
                    at_end.callback(fresh._close_engine)
                    with ExitStack() as on_failure:
                        on_failure.callback(fresh._drop_changes)
                        fill(fresh)
                        on_failure.pop_all()
                try:
                    self._expect_changes()
                    with in_our_words(self.place):
                        self._reader.execute("CHECKPOINT")
                    self._close_engine()
                    _replace(self.place, scratch)
                finally:
                    self._close_engine()  # if it was not, or was in part
                    self._open_engine()
            finally:
                ladybug_sidecars.remove_scratch(self.place)

    def _open_engine(self) -> None:
        is_file = self.place != IN_MEMORY and not self.read_only
        if self.read_only:
            remove_empty_shadow(self.place)
            ladybug_log.require_whole(self.place)
        self._is_changed = is_file and has_log(self.place)  # by a process that was killed
        with in_our_words(self.place), ExitStack() as undone:
            database = ladybug.Database(self.place, read_only=self.read_only)
            undone.callback(database.close)
            self._reader, self._writer = ladybug.Connection(database), ladybug.Connection(database, ONE_THREAD)
            if is_file:
                on_close = CHECKPOINT_ON_CLOSE if self._is_changed else NO_CHECKPOINT_ON_CLOSE
                _execute(self._writer, self.place, f"{NO_SPILLING};\n{on_close}", {})
            undone.pop_all()
        self._database = database
        self._writes = 0
        self.all.add(self)

    def _expect_changes(self) -> None:
        """Before the engine writes: make the files that it would make for everybody to read.

        A file that was not changed is left as it is, byte for byte: else the engine writes pages at each closing.
        """
        self._touch_written()
        if not self._is_changed:
            _execute(self._writer, self.place, CHECKPOINT_ON_CLOSE, {})
            self._is_changed = True

    def _drop_changes(self) -> None:
        """Let closing write nothing any more: what was committed stays in the log."""
        with suppress(MemgraphRagError):
            _execute(self._writer, self.place, NO_CHECKPOINT_ON_CLOSE, {})
        self._is_changed = False

    def _touch_written(self) -> None:
        for suffix in WRITTEN:
            _touch_private(f"{self.place}{suffix}")

    def _touch_again(self) -> None:
        """For the checkpoint at closing, which comes with the end of the process too."""
        if self.place != IN_MEMORY:
            with suppress(MemgraphRagError):  # the folder went away: the engine finds that out too
                self._touch_written()

    def _close_engine(self) -> None:
        """Close all three, whatever happens at one of them; a second call does nothing."""
        changed, self._is_changed = self._is_changed, False
        with in_our_words(self.place), ExitStack() as closing:
            closing.callback(self._database.close)
            closing.callback(self._writer.close)
            closing.callback(self._reader.close)
            if changed:
                self._touch_again()

    def close(self) -> None:
        """Let go of the file; the last of its users closes it. In a forked child nothing of it is open."""
        if not self.process.is_current:
            return
        with _opening, self.lock, ExitStack() as closing:
            self.users -= 1
            if self.users <= 0:
                if self._file_lock:
                    _files.pop(self.place, None)
                    closing.callback(self._file_lock.release)
                self._close_engine()

    def abandon(self) -> None:
        """In a forked child: never destroy the engine, which would wait for threads that are not there."""
        keep_for_ever(self._database, self._reader, self._writer)


def _recover(place: str) -> None:
    """Put right what a stopped process left of a file and beside it, unless somebody else has the file open."""
    with in_our_words(place), Path(place).open("rb+") as file:
        if _lock(file.fileno()):  # else the engine says who has it
            ladybug_log.mend(place)
            ladybug_sidecars.remove_leftovers(place)


def _create(place: str) -> None:
    """Make the file and its folder where they are missing; only its owner may read it."""
    with in_our_words(place):
        if Path(place).is_dir():
            raise StoreError(
                f"Expected a file, got the folder {show(place)}. Name a file in it: {show(f'{place}/notes.lbug')}.",
                path=place,
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
    for kept in (Path(place + suffix) for suffix in PENDING):  # taken for the new file's
        if kept.exists() and kept.stat().st_size:
            raise StoreError(
                f"Expected {show(place)} to be closed with nothing beside it, got {kept} beside it. Nothing was "
                "changed; open the file again, and then try once more.",
                path=place,
            )
    _flush(scratch)
    with in_our_words(place), old.open("rb+") as file:
        if not _lock(file.fileno()):
            raise StoreLocked(
                f"Expected {show(place)} for this process alone, got another that opened it meanwhile. Close it there, "
                "then try again.",
                path=place,
            )
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
            f"Expected {needed >> 20} MiB of free space beside {show(place)}, got {free >> 20} MiB. Nothing was "
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
        if not isinstance(result, ladybug.QueryResult):  # of several statements, which give no rows
            for each in result:
                each.close()
            return []
        with result:
            return [row for row in result.rows_as_dict() if isinstance(row, dict)]
