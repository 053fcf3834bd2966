"""Remembers which process opened a store, and refuses its use in a forked child.

The module knows no engine. A forked child has a copy of everything except the threads: an engine would wait for its own
threads forever, two processes would share a socket, and a lock of another thread would stay locked. Invariant: a child
is refused before it uses its copy, and it never closes or destroys it, because this would affect the parent.
"""

from __future__ import annotations

import ctypes
import os
import threading
from types import TracebackType

from memgraph_rag.errors import StoreError


class OpeningProcess:
    """Remembers the process that opened a store, and refuses other processes.

    Args:
        what: a description of the store, for the error message.
    """

    def __init__(self, what: str) -> None:
        self._what = what
        self._number = os.getpid()

    @property
    def is_current(self) -> bool:
        """Whether the current process created this object; False in a forked child."""
        return os.getpid() == self._number

    def require(self) -> None:
        """Raise an error in any other process.

        Raises:
            StoreError: the current process was forked from this process.
        """
        if not self.is_current:
            raise StoreError(
                f"Expected process {self._number}, which opened {self._what}, got process {os.getpid()}, forked from "
                'it. Open a Memory of its own in each process, and start them by multiprocessing.get_context("spawn").',
                process=self._number,
            )


class ProcessLock:
    """A reentrant lock that raises StoreError in a forked child, where the thread that holds it does not exist."""

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
    """Never destroy these objects, even at the end of the interpreter: each gets a reference that is never released."""
    for kept in objects:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(kept))
