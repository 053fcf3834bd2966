"""Which process opened a store, and what happens to the store in a forked child.

It knows no engine. A child has a copy of everything but the threads: an engine that waits for its own hangs, a socket
serves two masters, a lock that another thread held stays locked. The invariant: a copy is refused before anything of it
is used, and nothing of it is closed or destroyed, which the parent would feel.
"""

from __future__ import annotations

import ctypes
import os
import threading
from types import TracebackType

from memgraph_rag.errors import StoreError

__all__ = ["OpeningProcess", "ProcessLock", "keep_for_ever"]


class OpeningProcess:
    """The process in which this is made.

    Args:
        what: was opened in it, for the message.
    """

    def __init__(self, what: str) -> None:
        self._what = what
        self._number = os.getpid()

    @property
    def is_current(self) -> bool:
        """Whether this is that process, and no child of it."""
        return os.getpid() == self._number

    def require(self) -> None:
        """Go on in that process only.

        Raises:
            StoreError: this is a child that was forked from it.
        """
        if not self.is_current:
            raise StoreError(
                f"Expected process {self._number}, which opened {self._what}, got process {os.getpid()}, forked from "
                'it. Open a Memory of its own in each process, and start them by multiprocessing.get_context("spawn").',
                process=self._number,
            )


class ProcessLock:
    """A reentrant lock for one process; a forked child is refused, rather than waits for a thread that it lacks."""

    def __init__(self, process: OpeningProcess) -> None:
        self._process = process
        self._lock = threading.RLock()

    def __enter__(self) -> None:
        self._process.require()
        self._lock.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lock.release()


def keep_for_ever(*objects: object) -> None:
    """Never destroy these, not even when the interpreter ends: a reference is counted that nobody gives back."""
    for kept in objects:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(kept))
