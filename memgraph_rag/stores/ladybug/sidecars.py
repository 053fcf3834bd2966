"""Finds and removes files next to a Ladybug file: files of the engine, and files of this library.

The module knows names and no content. Invariant: only files with names of the engine or of this library are removed; a
user's file whose name merely begins like that of a store stays.
"""

from __future__ import annotations

import itertools
import logging
import re
from pathlib import Path

from memgraph_rag.stores.ladybug.errors import convert_engine_errors
from memgraph_rag.stores.ladybug.paths import ENGINE, SCRATCH

ASIDE = ".damaged-log"

logger = logging.getLogger(__name__)


def scratch_path(place: str) -> Path:
    """Return the path of the file that is written to replace the store at ``place``. It exists only for that time."""
    return Path(place + SCRATCH)


def remove_scratch(place: str) -> bool:
    """Remove the unfinished file that was to replace a store, with its engine files; return whether it existed."""
    scratch = str(scratch_path(place))
    with convert_engine_errors(scratch):
        paths = [path for suffix in ENGINE if (path := Path(scratch + suffix)).exists()]
        for path in paths:
            path.unlink(missing_ok=True)
    return bool(paths)


def remove_leftovers(place: str) -> None:
    """Remove the files of an interrupted purge or reembedding of a store. The caller holds the lock for writing."""
    if remove_scratch(place):
        logger.warning("%s: a rewriting of it (purge, reembed) was interrupted; its files are removed", place)


def list_damaged_logs(place: str) -> list[Path]:
    """Return the paths of the damaged logs that were set aside next to a store, sorted by name."""
    file = Path(place)
    ending = re.compile(re.escape(file.name + ASIDE) + r"(-\d+)?")
    with convert_engine_errors(place):
        return sorted(path for path in file.parent.iterdir() if ending.fullmatch(path.name))


def new_damaged_log_path(place: str) -> Path:
    """Return an unused path next to a store, at which a damaged log can be set aside. No file is created."""
    names = itertools.chain([place + ASIDE], (f"{place}{ASIDE}-{number}" for number in itertools.count(2)))
    return next(path for path in map(Path, names) if not path.exists())


def remove_damaged_logs(place: str) -> None:
    """Delete the damaged logs that were set aside next to this database file; do nothing if there are none."""
    with convert_engine_errors(place):
        for path in list_damaged_logs(place):
            path.unlink(missing_ok=True)
