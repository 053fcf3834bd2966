"""The files beside a Ladybug file: the engine's, and those of this library.

It knows names and no content. The invariant: nothing is removed here but what the engine or this library named; a
file of the user's whose name only begins like a store's is left alone.
"""

from __future__ import annotations

import itertools
import logging
import re
from pathlib import Path

from memgraph_rag.stores.ladybug.errors import in_our_words
from memgraph_rag.stores.ladybug.paths import ENGINE, SCRATCH

__all__ = [
    "logs_aside",
    "name_log_aside",
    "remove_leftovers",
    "remove_logs_aside",
    "remove_scratch",
    "scratch_of",
]

ASIDE = ".damaged-log"

logger = logging.getLogger(__name__)


def scratch_of(place: str) -> Path:
    """The file that is written to take the place of this one."""
    return Path(place + SCRATCH)


def remove_scratch(place: str) -> bool:
    """Remove the file that was to replace this one, and what the engine keeps beside it; False where there was none."""
    scratch = str(scratch_of(place))
    with in_our_words(scratch):
        paths = [path for suffix in ENGINE if (path := Path(scratch + suffix)).exists()]
        for path in paths:
            path.unlink(missing_ok=True)
    return bool(paths)


def remove_leftovers(place: str) -> None:
    """Remove what a process left that was stopped while it rewrote this file. The caller holds the file for writing."""
    if remove_scratch(place):
        logger.warning("%s: a rewriting of it (purge, reembed) was stopped; what it left is removed", place)


def logs_aside(place: str) -> list[Path]:
    """Damaged logs of this file that were kept aside."""
    file = Path(place)
    ending = re.compile(re.escape(file.name + ASIDE) + r"(-\d+)?")
    with in_our_words(place):
        return sorted(path for path in file.parent.iterdir() if ending.fullmatch(path.name))


def name_log_aside(place: str) -> Path:
    """A name to keep a damaged log under."""
    names = itertools.chain([place + ASIDE], (f"{place}{ASIDE}-{number}" for number in itertools.count(2)))
    return next(path for path in map(Path, names) if not path.exists())


def remove_logs_aside(place: str) -> None:
    """Remove damaged logs of this file that were kept aside."""
    with in_our_words(place):
        for path in logs_aside(place):
            path.unlink(missing_ok=True)
