"""An open Ladybug file: its statements and transactions, and its errors as errors of this library.

The module knows neither documents nor namespaces. Invariants: a process opens a file once, for all stores and under all
names of the file, because two openings destroy each other's writes. No other process has the file open
(``lock.py``). One thread at a time uses the engine, and a forked child never does. A transaction without a commit
is rolled back. Only the owner can read the files that the engine writes. A file without changes stays the same, byte
for byte.
"""

from __future__ import annotations

import os
import shutil
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar
from weakref import WeakSet

import ladybug

from memgraph_rag.display import show
from memgraph_rag.errors import MemgraphRagError, StoreError, StoreLocked, StoreReadOnly
from memgraph_rag.stores.ladybug import lock as ladybug_lock
from memgraph_rag.stores.ladybug import log as ladybug_log
from memgraph_rag.stores.ladybug import sidecars as ladybug_sidecars
from memgraph_rag.stores.ladybug.errors import convert_engine_errors
from memgraph_rag.stores.ladybug.kept import KeptIndexes
from memgraph_rag.stores.ladybug.paths import PENDING, WRITTEN, check_place, has_log, real_place, remove_empty_shadow
from memgraph_rag.stores.shared.process_guard import OpeningProcess, keep_for_ever

if TYPE_CHECKING:
    import pyarrow as pa

T = TypeVar("T")

Execute = Callable[[str, Mapping[str, Any]], list[dict[str, Any]]]

IN_MEMORY = ":memory:"

# The engine aborts the process if the disk is full at a checkpoint. The largest checkpoint may need this much.
SPARE_BYTES = 64 * 2**20

CHECKPOINT_ON_CLOSE = "CALL force_checkpoint_on_close=true"
NO_CHECKPOINT_ON_CLOSE = "CALL force_checkpoint_on_close=false"
NO_SPILLING = "CALL spill_to_disk=false"  # else the engine writes to a file that all users can read

WRITES_PER_CONNECTION = 64

_MOST_CHUNK = 10_000  # rows in one chunk of an arrow table

# For statements on few rows, such as those of a write: waking more threads costs more than they save.
ONE_THREAD = 1

_files: dict[str, LadybugFile] = {}
_opening = threading.Lock()


def open_file(path: str, *, read_only: bool = False) -> LadybugFile:
    """Open the Ladybug file at a path, or return it if this process has it open. Each caller closes it once.

    A file to write is created if it does not exist. ``:memory:`` is a new, empty graph at each call, shared with none.

    Args:
        read_only: whether to open for reading only. Several processes may then read one file, if no process has it open
            for writing. If this process has the file open for writing, that open file is returned.

    Raises:
        StoreLocked: another process has the file open.
        StoreReadOnly: the file to read does not exist; or it is to be written, and this process has it open for reading
            only.
        StoreAccessDenied: no permission to read or write the file.
        StoreError: the path is a folder, is not a Ladybug file, cannot be created, or is too long; or the file has
            several names.
        SettingsError: the path is invalid.
    """
    with _opening:
        if path == IN_MEMORY and not read_only:
            file = LadybugFile(path)
        else:
            place = _first_name(real_place(path))
            if place not in _files:
                check_place(place, read_only=read_only)
                _files[place] = LadybugFile(place, read_only=read_only, is_locked=True)
            file = _files[place]
            if file.read_only and not read_only:
                raise StoreReadOnly(
                    f"Expected an unused file, got {show(place)}: this process has it open for reading only. Close it "
                    "first.",
                    path=place,
                )
        file.users += 1
        return file


def _first_name(place: str) -> str:
    """Return the name under which this process has the file open, for example by a hard link; else ``place``."""
    for known in _files:
        with suppress(OSError):
            if Path(known).samefile(place):
                return known
    return place


def _abandon_all() -> None:
    """Forget all open files, in a child that was just forked. The parent's engines are never destroyed."""
    global _opening
    _opening = threading.Lock()  # a thread of the parent, which the child lacks, may have held it
    for file in list(LadybugFile.all):
        file.abandon()
    _files.clear()
    ladybug_lock.abandon_all()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_abandon_all)


class LadybugFile:
    """An open Ladybug database. ``open_file`` creates it.

    Args:
        is_locked: whether to lock the file against other processes; False for a file that no other process knows.
    """

    all: ClassVar[WeakSet[LadybugFile]] = WeakSet()
    """All open files of this process, with graphs in memory and files of a rewriting."""

    def __init__(self, place: str, *, read_only: bool = False, is_locked: bool = False) -> None:
        self.place = place
        self.read_only = read_only
        self.users = 0
        self.generation = 0
        """The number of times that the embeddings were replaced since the file was opened."""
        self.process = OpeningProcess()
        self.lock = threading.RLock()
        self.kept = KeptIndexes(place, self.lock)
        self._is_changed = False
        if place != IN_MEMORY and not read_only:
            _create(place)
        with ExitStack() as undone:
            with convert_engine_errors(place):
                self._file_lock = ladybug_lock.hold(place, shared=read_only) if is_locked else None
            if self._file_lock:
                undone.callback(self._file_lock.release)
                if not read_only:
                    _recover(place)
            is_there = place == IN_MEMORY or Path(place).exists()
            self.is_empty = is_there and not self.size and not has_log(place)
            """Whether the file certainly holds no table, because it was never written to."""
            self._open_engine()
            undone.pop_all()

    @property
    def size(self) -> int:
        """The size of the file on the disk in bytes, without its log; 0 in memory."""
        if self.place == IN_MEMORY:
            return 0
        with convert_engine_errors(self.place):
            return Path(self.place).stat().st_size

    def read(self, text: str, parameters: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Run one reading statement on all threads; return its rows, each a mapping by column name."""
        with self.lock:
            return _execute(self._reader, self.place, text, parameters)

    def look_up(self, text: str, parameters: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Run a reading statement as ``read`` does, but on one thread, which is faster for few rows."""
        with self.lock:
            return _execute(self._writer, self.place, text, parameters)

    def read_table(self, text: str, parameters: Mapping[str, Any]) -> pa.Table:
        """Run one reading statement; return its rows as an arrow table, without a Python object per number.

        The engine reserves memory for a whole chunk before it fills it. Its default chunk has a million rows, which for
        one row with an embedding costs 1.7 GB and 80 to 300 ms.
        """
        with self.lock, convert_engine_errors(self.place):
            result = self._reader.execute(text, dict(parameters))
            assert isinstance(result, ladybug.QueryResult)
            with result:
                rows = result.get_num_tuples()
                return result.get_as_arrow(min(max(rows, 1), _MOST_CHUNK))

    def transaction(self, work: Callable[[Execute], T], *, row_bytes: int = 0, script: str = "") -> T:
        """Call ``work`` in a transaction, commit, and return its result; roll back if it raises.

        Args:
            work: receives a function that executes a statement with parameters and returns its rows.
            row_bytes: approximate size of the write. If the disk has too little space, the write is refused at the
                beginning.
            script: statements without parameters that begin the transaction, run together.

        Raises:
            StoreReadOnly: the file is open for reading only.
            StoreError: the disk has too little space.
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
            writer = self._renew_writer()

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
                    with suppress(RuntimeError):  # a failed statement may have ended the transaction already
                        writer.execute("ROLLBACK")
                self._touch_again()
            return result

    def change_schema(self, work: Callable[[Execute], None], *, row_bytes: int = 0, script: str = "") -> None:
        """Run ``work`` as a transaction that creates or changes tables; open the engine again if it raises.

        After the engine rolled back an added column, later transactions can write a file on which every read of that
        table ends the process (Ladybug 0.22.0, ``benchmarks/results/ladybug_report.md``).
        """
        with self.lock, ExitStack() as on_failure:
            on_failure.callback(self._open_engine)
            on_failure.callback(self._close_engine)
            on_failure.callback(self._drop_changes)
            self.transaction(work, row_bytes=row_bytes, script=script)
            on_failure.pop_all()

    def _renew_writer(self) -> ladybug.Connection:
        """Return the connection for writing; create a new one regularly, as it keeps a statement per arrow table."""
        if self._writes % WRITES_PER_CONNECTION == 0:
            with convert_engine_errors(self.place):
                old, self._writer = self._writer, ladybug.Connection(self._database, ONE_THREAD)
                old.close()
        self._writes += 1
        return self._writer

    def rewrite(self, fill: Callable[[LadybugFile], None]) -> None:
        """Replace this file by a new one: ``fill`` writes it, from an empty file next to this one.

        The old file stays until the new one is complete on the disk. After an interruption, one of the two is open and
        whole. In memory, nothing happens, and ``fill`` is not called.

        Raises:
            StoreLocked: another process opened the file at that moment. The file was not changed.
            StoreError: the disk has too little space for a second file, or the log was not empty after closing.
        """
        with self.lock:
            if self.place == IN_MEMORY:
                return
            scratch = ladybug_sidecars.scratch_path(self.place)
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
                    with convert_engine_errors(self.place):
                        self._reader.execute("CHECKPOINT")
                    self._close_engine()
                    _replace(self.place, scratch)
                finally:
                    self._close_engine()  # it may still be open, or partly open
                    self._open_engine()
            finally:
                ladybug_sidecars.remove_scratch(self.place)

    def _open_engine(self) -> None:
        is_file = self.place != IN_MEMORY and not self.read_only
        if self.read_only:
            remove_empty_shadow(self.place)
            ladybug_log.require_whole(self.place)
        self._is_changed = is_file and has_log(self.place)  # a killed process left a log
        with convert_engine_errors(self.place), ExitStack() as undone:
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
        """Create the engine's files before it writes (it would make them readable for all), and enable its checkpoint.

        Without this call, closing leaves the file unchanged, byte for byte.
        """
        self._touch_written()
        if not self._is_changed:
            _execute(self._writer, self.place, CHECKPOINT_ON_CLOSE, {})
            self._is_changed = True

    def _drop_changes(self) -> None:
        """Make the closing write nothing. Committed data stays in the log."""
        with suppress(MemgraphRagError):
            _execute(self._writer, self.place, NO_CHECKPOINT_ON_CLOSE, {})
        self._is_changed = False

    def _touch_written(self) -> None:
        for suffix in WRITTEN:
            _touch_private(f"{self.place}{suffix}")

    def _touch_again(self) -> None:
        """Create the engine's files again for the checkpoint at closing, which the end of the process triggers too."""
        if self.place != IN_MEMORY:
            with suppress(MemgraphRagError):  # the folder was removed: the engine reports that too
                self._touch_written()

    def _close_engine(self) -> None:
        """Close the database and both connections, even if one of them raises. A second call does nothing."""
        changed, self._is_changed = self._is_changed, False
        with convert_engine_errors(self.place), ExitStack() as closing:
            closing.callback(self._database.close)
            closing.callback(self._writer.close)
            closing.callback(self._reader.close)
            if changed:
                self._touch_again()

    def close(self) -> None:
        """Close the file for one user; the last user closes the engine. In a forked child, do nothing."""
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
        """Never destroy the engine in a forked child: its destruction would wait for threads that the child lacks."""
        keep_for_ever(self._database, self._reader, self._writer)


def _recover(place: str) -> None:
    """Mend a file that a stopped process left, and remove its leftovers, unless another process has the file open."""
    with convert_engine_errors(place), Path(place).open("rb+") as file:
        if _lock(file.fileno()):  # else the engine reports which process has the file open
            ladybug_log.mend(place)
            ladybug_sidecars.remove_leftovers(place)


def _create(place: str) -> None:
    """Create the file and its folder if they do not exist. Only the owner can read the file."""
    with convert_engine_errors(place):
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
    with convert_engine_errors(place), suppress(FileExistsError):
        os.close(os.open(place, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def _replace(place: str, scratch: Path) -> None:
    """Replace a closed Ladybug file by another closed one, which has no log any more.

    The descriptor that locks the old file, like the engine does, is closed last.
    """
    old = Path(place)
    for kept in (Path(place + suffix) for suffix in PENDING):  # the engine would apply it to the new file
        if kept.exists() and kept.stat().st_size:
            raise StoreError(
                f"Expected {show(place)} without a log after closing, got {kept}. Nothing was changed; open the file "
                "again, then try once more.",
                path=place,
            )
    _flush(scratch)
    with convert_engine_errors(place), old.open("rb+") as file:
        if not _lock(file.fileno()):
            raise StoreLocked(
                f"Expected {show(place)} to be open in this process only, got another process that opened it. Close it "
                "there, then try again.",
                path=place,
            )
        scratch.replace(old)
        _flush(old.parent)


def _lock(descriptor: int) -> bool:
    if sys.platform == "win32":  # Windows never replaces an open file
        return True
    import fcntl

    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _flush(path: Path) -> None:
    """Write a file, or the names in a folder, to the disk."""
    with convert_engine_errors(str(path)):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _require_space(place: str, row_bytes: int) -> None:
    needed = SPARE_BYTES + 4 * row_bytes
    with convert_engine_errors(place):
        free = shutil.disk_usage(Path(place).parent).free
    if free < needed:
        raise StoreError(
            f"Expected {needed >> 20} MiB of free space on the disk of {show(place)}, got {free >> 20} MiB. Nothing "
            "was written. Free some space, or move the file.",
            path=place,
            free=free,
            needed=needed,
        )


def _execute(
    connection: ladybug.Connection, place: str, text: str, parameters: Mapping[str, Any]
) -> list[dict[str, Any]]:
    with convert_engine_errors(place):
        result = connection.execute(text, dict(parameters))
        if not isinstance(result, ladybug.QueryResult):  # the results of several statements without rows
            for each in result:
                each.close()
            return []
        with result:
            return [row for row in result.rows_as_dict() if isinstance(row, dict)]
