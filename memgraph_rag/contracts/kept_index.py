"""What a store may offer so that the index of a search need not be made again by each process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

__all__ = ["IndexKeeper"]


class IndexKeeper(Protocol):
    """A place for one file that is made from what a namespace holds. A store without such a place keeps none."""

    def kept_index(self) -> Path | None:
        """The file that was made of just what the namespace holds now; None where there is none."""
        ...

    def keep_index(self, write: Callable[[Path], None], *, version: int, nbytes: int) -> None:
        """Have a file made and kept until the namespace is next written to, and no longer.

        Nothing is kept where the namespace is of another version by then, or where the file cannot be written.

        Args:
            write: fills the file at a path, which is there, and which nobody else may read.
            version: of the namespace when it was read.
            nbytes: about how large the file will be.
        """
        ...
