"""Limits the number of concurrent calls, of one caller and of all callers.

It knows no protocol and no tool. Invariant: a call over a limit is refused before it takes a thread, so that one caller
cannot take all threads, and the queue for threads is bounded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar

from memgraph_rag.errors import MemgraphRagError

MOST_AT_ONCE = 16
"""Concurrent calls of one caller. Each call takes one of the 40 threads of a server."""

MOST_IN_ALL = 128
"""Concurrent calls of all callers, including calls that wait for a thread."""

RETRY_AFTER_S = 1


class TooManyCalls(MemgraphRagError):
    """The caller, or all callers together, have too many concurrent calls."""

    retryable: ClassVar[bool] = True


class CallLimits:
    """Counts the concurrent calls of a server, over all protocols.

    Args:
        most_at_once: the limit for one caller, which is a namespace.
        most_in_all: the limit for all callers together.
    """

    def __init__(self, *, most_at_once: int = MOST_AT_ONCE, most_in_all: int = MOST_IN_ALL) -> None:
        self._most_at_once = most_at_once
        self._most_in_all = most_in_all
        self._under_way: Counter[str] = Counter()

    @contextmanager
    def count_call(self, caller: str) -> Iterator[None]:
        """Count the block as a call of this caller. It does not wait for a free place.

        Raises:
            TooManyCalls: the call would exceed a limit.
        """
        if self._under_way[caller] >= self._most_at_once:
            raise _limit_error(f"{self._most_at_once} calls of one caller")
        if self._under_way.total() >= self._most_in_all:
            raise _limit_error(f"{self._most_in_all} calls")
        self._under_way[caller] += 1
        try:
            yield
        finally:
            self._under_way[caller] -= 1
            if not self._under_way[caller]:
                del self._under_way[caller]


def _limit_error(most: str) -> TooManyCalls:
    return TooManyCalls(f"Expected at most {most} at the same time, got one more. Wait until one of them has ended.")
