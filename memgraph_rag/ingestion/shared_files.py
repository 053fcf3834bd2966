"""``SharedFile``: a file that another process may read in place of this process, if it sees the same file.

It knows loading, and neither store nor cluster. Invariant: another process returns a text only for a file with the same
path, size and time of change.
"""

from __future__ import annotations

import stat
from dataclasses import dataclass
from pathlib import Path

from typing_extensions import Self

from memgraph_rag.ingestion.sources import Loaded, Request, load_request
from memgraph_rag.text.paths import spellings


@dataclass(frozen=True, slots=True)
class SharedFile:
    """A file as this process sees it.

    Attributes:
        path: the absolute path.
        size: in bytes.
        changed_ns: the time of the last change, in nanoseconds since 1970.
    """

    path: str
    size: int
    changed_ns: int

    @classmethod
    def find(cls, path: Path) -> Self | None:
        """Return the file at a path; None if no regular file is there."""
        absolute = spellings(path)[0]
        try:
            status = Path(absolute).stat()
        except (OSError, ValueError):  # ValueError: a NUL in the path
            return None
        return cls(absolute, status.st_size, status.st_mtime_ns) if stat.S_ISREG(status.st_mode) else None

    def read(self) -> tuple[str, str] | None:
        """Return the file's text and title; None if this process sees another file at the path, or cannot read it."""
        path = Path(self.path)
        if self.find(path) != self:
            return None
        loaded = load_request(Request(path))
        return (loaded.document.text, loaded.document.title) if isinstance(loaded, Loaded) else None
