"""Remembers which process opened a memory or a store, for calls in a forked child.

The module knows no engine. A forked child has a copy of everything except the threads: an engine would wait for its own
threads forever, two processes would share a socket, and a lock of another thread would stay locked. A call of a memory
is checked once, where it takes its store (``OpenMemory.store``). A store checks only in ``close``, which a child may
call. Invariant: a child never closes or destroys its copy, because this would affect the parent.
"""

from __future__ import annotations

import gc
import os
from typing import Any

from memgraph_rag.errors import StoreError


class OpeningProcess:
    """Remembers the process that created this object."""

    def __init__(self) -> None:
        self._number = os.getpid()

    @property
    def is_current(self) -> bool:
        """Whether the current process created this object; False in a forked child."""
        return os.getpid() == self._number

    def require(self) -> None:
        """Raise an error in any other process.

        Raises:
            StoreError: the current process was forked from the process that created this object.
        """
        if not self.is_current:
            raise StoreError(
                f"Expected process {self._number}, which opened this memory, got process {os.getpid()}, forked from "
                'it. Open a Memory of its own in each process, and start them by multiprocessing.get_context("spawn").',
                process=self._number,
            )


def keep_for_ever(*objects: object) -> None:
    """Never destroy these objects, even at the end of the interpreter: a cycle holds them that is never collected."""
    cycle: list[Any] = [*objects]
    cycle.append(cycle)
    gc.freeze()
