"""The names of the files that belong to a Ladybug file: it, its lock, and what the engine makes beside it.

It knows paths and no engine. The invariant: from a place that passes ``check_place`` all these names can be made, and
no other name leads to it.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from memgraph_rag.display import show
from memgraph_rag.errors import SettingsError, StoreError

__all__ = [
    "ENGINE",
    "LOCK_SUFFIX",
    "LOGS",
    "PENDING",
    "SCRATCH",
    "WRITTEN",
    "check_place",
    "has_log",
    "real_place",
    "remove_empty_shadow",
]

LOCK_SUFFIX = ".in_use"
"""Not ".lock", a name that the engine keeps for itself."""

LOGS = (".wal.checkpoint", ".wal")
"""The log that a checkpoint is taking in, and the one after it."""

PENDING = (*LOGS, ".shadow")
"""What holds committed data until the next opening; ``.shadow``: pages that a checkpoint is about to write."""

CHECKPOINT_LOCKS = (".checkpoint.intent.lock", ".checkpoint.apply.lock")

WRITTEN = (".wal", ".shadow", *CHECKPOINT_LOCKS)
"""Of the files that the engine opens when it writes, and makes where they are not there."""

ENGINE = ("", *PENDING, *CHECKPOINT_LOCKS, ".tmp", ".pinned.tmp")
"""What the engine adds to the name of a database, for each of its files."""

SCRATCH = ".rewriting"
"""What ``purge`` and ``reembed`` add, for the file that is to take the place of this one."""

LONGEST_SUFFIX = f"{SCRATCH}{max(ENGINE, key=len)}"
"""Where the engine cannot make a file of its own, it ends the process."""

USUAL_NAME_BYTES, USUAL_PATH_BYTES = 255, 4096


def real_place(path: str) -> str:
    """The path without links, by which a store is known.

    Raises:
        SettingsError: it is no path.
    """
    if "\0" in path:
        raise SettingsError(
            f"Expected the path of a file, got {show(path)}, with a NUL in it. Name another.", path=path
        )
    try:
        place = os.path.realpath(Path(path).expanduser())
        os.fsencode(place)
    except (RuntimeError, UnicodeEncodeError) as exc:  # no such user; half a surrogate pair
        raise SettingsError(
            f"Expected the path of a file, got {show(path)} ({show(exc)}). Name another.", path=path
        ) from exc
    return place


def check_place(place: str, *, read_only: bool) -> None:
    """Refuse a name of which the engine could not make its own, and a file that other names lead to.

    Raises:
        SettingsError: it is a name that only ``purge`` gives, and removes at the next opening.
        StoreError: the name is too long, or the file that is to be written has hard links.
    """
    if place.endswith(SCRATCH):
        raise SettingsError(
            f"Expected the path of a store, got {show(place)}, a name that only purge gives. Use one that does not end "
            f"in {SCRATCH}.",
            path=place,
        )
    folder, name = os.path.split(os.fsencode(place))
    longest = _limit(folder, "PC_NAME_MAX", USUAL_NAME_BYTES) - len(LONGEST_SUFFIX)
    whole = _limit(folder, "PC_PATH_MAX", USUAL_PATH_BYTES) - len(LONGEST_SUFFIX) - 1
    if len(name) > longest or len(folder) + 1 + len(name) > whole:
        raise StoreError(
            f"Expected a file name of at most {longest} bytes, and a path of {whole}, since longer names are made of "
            f"it, got {len(name)} and {len(folder) + 1 + len(name)}: too long. Use a shorter one.",
            path=place,
        )
    with suppress(OSError):
        names = Path(place).stat().st_nlink
        if names > 1 and not read_only and Path(place).is_file():
            raise StoreError(
                f"Expected a file with one name, got {show(place)}, which has {names} (hard links): the log lies "
                "beside one of them, so what is written by another is lost. Copy the file, and open the copy.",
                path=place,
            )


def has_log(place: str) -> bool:
    """Whether writes wait beside a file to be taken in."""
    return any(log.exists() and log.stat().st_size for log in (Path(place + suffix) for suffix in PENDING))


def remove_empty_shadow(place: str) -> None:
    """Remove what a killed process had made for a checkpoint that it did not begin; the caller holds the file.

    The engine opens no file for reading beside which shadow pages lie, be there none in them.
    """
    with suppress(OSError):
        shadow = Path(f"{place}.shadow")
        if not shadow.stat().st_size and not Path(f"{place}.wal.checkpoint").exists():
            shadow.unlink()


def _limit(folder: bytes, name: str, usual: int) -> int:
    """What the file system allows; the usual where it does not tell, as for a folder that is not there yet."""
    with suppress(OSError, ValueError, AttributeError):
        limit = os.pathconf(folder, name)
        return limit if limit > 0 else usual
    return usual
