"""The errors of Ladybug and of the file system, in our words.

It knows no statement and no schema. The invariant: whatever the engine or the system raises about a file comes out as
one of our errors, with the foreign exception as its cause; Ctrl-C stays Ctrl-C.
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

__all__ = ["in_our_words", "translate"]

# The engine's own errors are RuntimeErrors. On pages that are damaged it also fails in the C++ library, whose
# exceptions pybind11 translates (std::bad_alloc, std::length_error, std::out_of_range), or returns text that is none.
FOREIGN = (RuntimeError, OSError, MemoryError, ValueError, IndexError, OverflowError)

KNOWN_ERRORS: tuple[tuple[str, type[MemgraphRagError], str], ...] = (
    (
        "Mmap for size",
        StoreError,
        "Expected 8 TiB of addresses, which the engine reserves for {place} and does not fill, got a limit on the "
        "address space. Raise it (ulimit -v unlimited), and limit memory otherwise.",
    ),
    (
        "Could not set lock",
        StoreLocked,
        "Expected {place} to be free, got a lock: {who} has it open. Close it there, or use a Neo4j server for several "
        "processes.",
    ),
    (
        "WAL file is corrupted|Checksum verification failed|corrupted WAL tail",
        StoreError,
        "Expected a log that ends with a whole write, got {place}.wal ({reason}). Restore both files from a copy; "
        '"memgraph-rag doctor" tells whether the store is whole.',
    ),
    (
        "Cannot open database in read-only mode|replay shadow pages under read-only mode",
        StoreReadOnly,
        "Expected a file that was closed, got {place}, whose writer was stopped at a checkpoint. Open it once without "
        "read_only: that completes it.",
    ),
    (
        "not a valid Lbug database|Reading past the end of the file",
        StoreError,
        "Expected a Ladybug file, got something else, or a damaged one: {place}. It was left as it was. Name another "
        'file; of a store that was here, "memgraph-rag doctor" tells what can be read.',
    ),
    (
        "different version|storage version",
        SchemaMismatch,
        "{place} was written by another version of Ladybug ({reason}). Use that version, or a new file.",
    ),
    (
        "No space left|Cannot write to file|File too large|refuses further writes",
        StoreError,
        "Expected room on the disk, got no space to write {place} ({reason}). The last write was not kept. Make "
        "room, then "
        "open the file again.",
    ),
    (
        "Permission denied|Read-only file system|Operation not permitted",
        StoreAccessDenied,
        "Expected a file that may be read and written, got {place} ({reason}). Change its rights, or use another.",
    ),
    (
        "File name too long",
        StoreError,
        "Expected a path as short as the system wants it, got {place} ({reason}). Use a shorter one.",
    ),
    (
        "File exists|Not a directory",
        StoreError,
        "Expected {place} in a folder, got a file above it ({reason}). Name another place.",
    ),
    (
        r"^\[Errno 2\]",
        StoreError,
        "Expected the folder of {place} where it was, got none ({reason}). Put it back, or use another file.",
    ),
    (
        r"Table \w+ does not exist",
        StoreError,
        "{place} has no schema yet ({reason}). Call migrate() first.",
    ),
    (
        "is closed",
        StoreError,
        "this store of {place} is closed. Open it again.",
    ),
    (
        "",
        StoreError,
        "Expected Ladybug to read and write {place}, got: {reason}. The file may be damaged: "
        '"memgraph-rag doctor" tells.',
    ),
)


@contextmanager
def in_our_words(place: str) -> Iterator[None]:
    """Turn what the engine or the system raises into an error of ours about this file."""
    try:
        yield
    except FOREIGN as exc:
        if str(exc).startswith("KeyboardInterrupt"):  # Ctrl-C, in Python code that the engine called
            raise KeyboardInterrupt from exc
        raise translate(str(exc), place) from exc


def translate(message: str, place: str) -> MemgraphRagError:
    """A foreign message as one of our errors; the first pattern that is found in it says which."""
    kind, sentence = next(
        (kind, sentence) for pattern, kind, sentence in KNOWN_ERRORS if re.search(pattern, message, re.IGNORECASE)
    )
    holder = re.search(r"PID (\d+)", message)
    who = f"process {holder[1]}" if holder else "another process"
    reason = message.splitlines()[0] if message else "no reason given"
    return kind(sentence.format(place=place, who=who, reason=reason), path=place)
