"""Mends the write-ahead log of a Ladybug file, whose end is torn if a process or the machine was stopped.

The module knows the frame of a log, but not the content of records. A log has a header (database, whether checksums are
on, checksum) and records. A record has its length, its payload, which begins with its kind, and a checksum of both. The
module opens no database. Invariant: everything that was committed before the first broken record stays in the log. If
the rest contains commits, it is kept in a file of its own, which only the owner can read.

The engine cannot open a log that ends within the last 8 bytes of a record, and crashes on some other torn logs.
"""

from __future__ import annotations

import logging
import os
import struct
from pathlib import Path

import numpy as np

from memgraph_rag.display import show
from memgraph_rag.errors import StoreReadOnly
from memgraph_rag.private_files import write_private
from memgraph_rag.stores.ladybug.errors import convert_engine_errors
from memgraph_rag.stores.ladybug.paths import LOGS
from memgraph_rag.stores.ladybug.sidecars import new_damaged_log_path

HEADER_BYTES = 25
BEGIN_BYTES = 25  # size of the record that begins each transaction
CHECKSUM = struct.Struct("<Q")
COMMIT, CHECKPOINT = 2, 254

_WORD, _REST, _WORDS = 0xBF58476D1CE4E5B9, 0xC6A4A7935BD1E995, 2**64 - 1

logger = logging.getLogger(__name__)


def mend(place: str) -> None:
    """Cut off the part of each log after its last complete transaction, and log a warning.

    A part with commits is kept in a file of its own. A log in an unknown form stays as it is. The caller keeps other
    processes from the file.
    """
    with convert_engine_errors(place):
        for log in _logs(place):
            content = log.read_bytes()
            committed = count_committed_bytes(content)
            if committed is not None and committed < len(content):
                _cut(place, log, content, committed)


def require_whole(place: str) -> None:
    """Check that a file's log ends with a complete write, so that the file can be read without mending.

    Raises:
        StoreReadOnly: the log must be mended.
    """
    with convert_engine_errors(place):
        for log in _logs(place):
            content = log.read_bytes()
            if count_committed_bytes(content) not in (None, len(content)):
                raise StoreReadOnly(
                    f"Expected a log that ends with a complete write, got {show(log)}, whose last write is "
                    "incomplete. Open the file once without read_only: that drops this write.",
                    path=place,
                )


def count_committed_bytes(log: bytes) -> int | None:
    """Return the number of bytes of a log up to the end of its last complete transaction or checkpoint.

    The result is None if the log has an unknown form.
    """
    if not _is_sealed(log, 0, HEADER_BYTES):
        is_known = len(log) < HEADER_BYTES + BEGIN_BYTES or not any(log) or _COMMITTED in log
        return 0 if is_known else None
    at, committed = HEADER_BYTES, 0
    while at + CHECKSUM.size < len(log):
        end = at + CHECKSUM.size + CHECKSUM.unpack_from(log, at)[0] + CHECKSUM.size
        if not _is_sealed(log, at, end):
            break
        kind, at = log[at + CHECKSUM.size], end
        if kind in (COMMIT, CHECKPOINT):
            committed = at
    is_known = at > HEADER_BYTES or len(log) < HEADER_BYTES + BEGIN_BYTES or _COMMITTED in log
    return committed if is_known else None


def _is_sealed(log: bytes, start: int, end: int) -> bool:
    """Return whether a part of a log ends with the checksum of its content."""
    if end > len(log) or end - start <= CHECKSUM.size:
        return False
    return CHECKSUM.unpack_from(log, end - CHECKSUM.size)[0] == _checksum(log[start : end - CHECKSUM.size])


def _checksum(content: bytes) -> int:
    """Return the engine's checksum: words times a constant, joined by exclusive or, and a MurmurHash of the rest."""
    words = np.frombuffer(content, "<u8", len(content) // 8)
    value = 5381 ^ int(np.bitwise_xor.reduce(words * np.uint64(_WORD)))
    if rest := content[words.nbytes :]:
        mixed = 0xE17A1465 ^ (len(rest) * _REST & _WORDS) ^ int.from_bytes(rest, "little")
        mixed = mixed * _REST & _WORDS
        mixed = (mixed ^ mixed >> 47) * _REST & _WORDS
        value ^= mixed ^ mixed >> 47
    return value


def _record(payload: bytes) -> bytes:
    """Return a payload as a record of a log."""
    content = CHECKSUM.pack(len(payload)) + payload
    return content + CHECKSUM.pack(_checksum(content))


_COMMITTED = _record(bytes([COMMIT]) + bytes(8))


def _logs(place: str) -> list[Path]:
    """Return the existing logs that are not empty. After the file was closed there are none."""
    logs = [Path(place + suffix) for suffix in LOGS]
    return [log for log in logs if log.exists() and log.stat().st_size]


def _cut(place: str, log: Path, content: bytes, committed: int) -> None:
    if _COMMITTED in content[committed:]:
        aside = new_damaged_log_path(place)
        write_private(aside, content)
        damage = f"damaged at byte {committed}; all later writes are dropped from it, and kept in {aside}"
    else:
        damage = "cut off within the last write, which was incomplete and is dropped"
    with log.open("rb+") as file:
        file.truncate(committed)
        os.fsync(file.fileno())
    logger.warning("%s: its log was %s", place, damage)
