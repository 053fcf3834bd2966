"""The names of the files that belong to a Ladybug file: itself, its lock, and the files of the engine.

The module knows paths and no engine. Invariant: for a path that passes ``check_place``, all these files can be created,
and no other name leads to the same file.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from memgraph_rag.display import show
from memgraph_rag.errors import SettingsError, StoreError

LOCK_SUFFIX = ".in_use"
"""The suffix of the lock file. The engine uses ".lock" itself."""

LOGS = (".wal.checkpoint", ".wal")
"""The log that a checkpoint is reading, and the log after it."""

PENDING = (*LOGS, ".shadow")
"""Files with committed data that the next opening reads; ``.shadow`` holds pages that a checkpoint writes."""

CHECKPOINT_LOCKS = (".checkpoint.intent.lock", ".checkpoint.apply.lock")

WRITTEN = (".wal", ".shadow", *CHECKPOINT_LOCKS)
"""The files that the engine opens for writing, and creates if they do not exist."""

ENGINE = ("", *PENDING, *CHECKPOINT_LOCKS, ".tmp", ".pinned.tmp")
"""The suffixes of all files of the engine."""

SCRATCH = ".rewriting"
"""The suffix of the file that ``purge`` and ``reembed`` write, before it replaces the original."""

LONGEST_SUFFIX = f"{SCRATCH}{max(ENGINE, key=len)}"
"""The longest suffix of any file. The engine ends the process if it cannot create one of its files."""

USUAL_NAME_BYTES, USUAL_PATH_BYTES = 255, 4096


def real_place(path: str) -> str:
    """Return the absolute path without links and ``~``, which identifies a store. The file may not exist.

    Raises:
        SettingsError: the path is invalid.
    """
    if "\0" in path:
        raise SettingsError(
            f"Expected the path of a file, got {show(path)}, with a NUL in it. Use another path.", path=path
        )
    try:
        place = os.path.realpath(Path(path).expanduser())
        os.fsencode(place)
    except (RuntimeError, UnicodeEncodeError) as exc:  # an unknown user, or half a surrogate pair
        raise SettingsError(
            f"Expected the path of a file, got {show(path)} ({show(exc)}). Use another path.", path=path
        ) from exc
    return place


def check_place(place: str, *, read_only: bool) -> None:
    """Check that a path can be that of a store: not too long for the engine's files, and without hard links.

    Raises:
        SettingsError: the name has the suffix of a rewritten file, which the next opening removes.
        StoreError: the name is too long, or the file to be written has hard links.
    """
    if place.endswith(SCRATCH):
        raise SettingsError(
            f"Expected the path of a store, got {show(place)}, whose suffix only purge uses. Use a name that does not "
            f"end in {SCRATCH}.",
            path=place,
        )
    folder, name = os.path.split(os.fsencode(place))
    longest = _limit(folder, "PC_NAME_MAX", USUAL_NAME_BYTES) - len(LONGEST_SUFFIX)
    whole = _limit(folder, "PC_PATH_MAX", USUAL_PATH_BYTES) - len(LONGEST_SUFFIX) - 1
    if len(name) > longest or len(folder) + 1 + len(name) > whole:
        raise StoreError(
            f"Expected a file name of at most {longest} bytes, and a path of {whole}, as suffixes are added to it, "
            f"got {len(name)} and {len(folder) + 1 + len(name)}: too long. Use a shorter one.",
            path=place,
        )
    with suppress(OSError):
        names = Path(place).stat().st_nlink
        if names > 1 and not read_only and Path(place).is_file():
            raise StoreError(
                f"Expected a file with one name, got {show(place)}, which has {names} (hard links): the log belongs "
                "to one name, so writes by another name are lost. Copy the file, and open the copy.",
                path=place,
            )


def has_log(place: str) -> bool:
    """Return whether a store's log or shadow file has content, which may be writes that the file itself lacks."""
    return any(log.exists() and log.stat().st_size for log in (Path(place + suffix) for suffix in PENDING))


def remove_empty_shadow(place: str) -> None:
    """Remove an empty shadow file of a killed process. The caller holds the lock of the file.

    The engine cannot open a file for reading while a shadow file exists, even an empty one. During a checkpoint, and if
    the file cannot be removed, nothing happens.
    """
    with suppress(OSError):
        shadow = Path(f"{place}.shadow")
        if not shadow.stat().st_size and not Path(f"{place}.wal.checkpoint").exists():
            shadow.unlink()


def _limit(folder: bytes, name: str, usual: int) -> int:
    """Return a limit of the file system; ``usual`` if it is unknown, as for a folder that does not exist yet."""
    with suppress(OSError, ValueError, AttributeError):
        limit = os.pathconf(folder, name)
        return limit if limit > 0 else usual
    return usual
