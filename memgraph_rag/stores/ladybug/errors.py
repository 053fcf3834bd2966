"""Converts errors of Ladybug and of the file system into errors of this library.

The module knows no statement and no schema. Invariant: every exception of the engine or the system about a file becomes
an error of this library, with the foreign exception as its cause. Ctrl-C stays Ctrl-C.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from memgraph_rag.errors import (
    MemgraphRagError,
    SchemaMismatch,
    StoreAccessDenied,
    StoreError,
    StoreLocked,
    StoreReadOnly,
)

# The engine raises RuntimeErrors. On damaged pages the C++ library fails too, whose exceptions pybind11 converts
# (std::bad_alloc, std::length_error, std::out_of_range), or the engine returns bytes that are not text.
FOREIGN = (RuntimeError, OSError, MemoryError, ValueError, IndexError, OverflowError)

KNOWN_ERRORS: tuple[tuple[str, type[MemgraphRagError], str], ...] = (
    (
        "Mmap for size",
        StoreError,
        "Expected 8 TiB of addresses, which the engine reserves for {place} but does not use, got a limit on the "
        "address space. Raise this limit (ulimit -v unlimited), and limit the memory in another way.",
    ),
    (
        "Could not set lock",
        StoreLocked,
        "Expected an unused file {place}, got a lock: {who} has it open. Close it there, or use a Neo4j server for "
        "several processes.",
    ),
    (
        "WAL file is corrupted|Checksum verification failed|corrupted WAL tail",
        StoreError,
        "Expected a log that ends with a complete write, got {place}.wal ({reason}). Restore both files from a copy; "
        '"memgraph-rag doctor" checks the store.',
    ),
    (
        "Cannot open database in read-only mode|replay shadow pages under read-only mode",
        StoreReadOnly,
        "Expected a closed file, got {place}, whose writer was stopped at a checkpoint. Open it once without "
        "read_only: that completes the checkpoint.",
    ),
    (
        "not a valid Lbug database|Reading past the end of the file",
        StoreError,
        "Expected a Ladybug file, got something else, or a damaged file: {place}. It was not changed. Use another "
        'file; if this was a store, "memgraph-rag doctor" reports what can be read.',
    ),
    (
        "different version|storage version",
        SchemaMismatch,
        "Expected a file of this version of Ladybug, got {place} of another one ({reason}). Use that version, or a new "
        "file.",
    ),
    (
        "No space left|Cannot write to file|File too large|refuses further writes",
        StoreError,
        "Expected room on the disk, got no space to write {place} ({reason}). The last write was not stored. Free "
        "some space, then open the file again.",
    ),
    (
        "Permission denied|Read-only file system|Operation not permitted",
        StoreAccessDenied,
        "Expected a readable and writable file, got {place} ({reason}). Change its access rights, or use another file.",
    ),
    (
        "File name too long",
        StoreError,
        "Expected a path within the limit of the system, got {place} ({reason}). Use a shorter one.",
    ),
    (
        "File exists|Not a directory",
        StoreError,
        "Expected {place} in a folder, got a file in place of that folder ({reason}). Use another path.",
    ),
    (
        r"^\[Errno 2\]",
        StoreError,
        "Expected the folder of {place}, which existed before, got none ({reason}). Put it back, or use another file.",
    ),
    (
        r"Table \w+ does not exist",
        StoreError,
        "Expected a schema in {place}, got none ({reason}). Call migrate() first.",
    ),
    ("is closed", StoreError, "Expected an open store of {place}, got one that is closed. Open it again."),
    (
        "",
        StoreError,
        "Expected Ladybug to read and write {place}, got: {reason}. The file may be damaged: "
        '"memgraph-rag doctor" checks it.',
    ),
)


@contextmanager
def convert_engine_errors(place: str) -> Iterator[None]:
    """Convert exceptions of Ladybug or the system inside the block into errors of this library.

    ``place`` is the path of the Ladybug file. Errors of this library pass unchanged.
    """
    try:
        yield
    except FOREIGN as exc:
        if str(exc).startswith("KeyboardInterrupt"):  # Ctrl-C while the engine called Python code
            raise KeyboardInterrupt from exc
        raise translate(str(exc), place) from exc


def translate(message: str, place: str) -> MemgraphRagError:
    """Return the error of this library for a message of Ladybug or the system, by patterns in ``KNOWN_ERRORS``."""
    kind, sentence = next(
        (kind, sentence) for pattern, kind, sentence in KNOWN_ERRORS if re.search(pattern, message, re.IGNORECASE)
    )
    holder = re.search(r"PID (\d+)", message)
    who = f"process {holder[1]}" if holder else "another process"
    reason = message.splitlines()[0] if message else "no reason given"
    return kind(sentence.format(place=place, who=who, reason=reason), path=place)
