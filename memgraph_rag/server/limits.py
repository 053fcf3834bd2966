"""How many calls may be under way: of one caller, and of all.

It knows no protocol and no tool. Invariant: a call over a limit is refused before it takes a thread, so that one caller
cannot take all threads, and the queue for them has an end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar

from memgraph_rag.errors import MemgraphRagError

__all__ = ["RETRY_AFTER_S", "CallLimits", "TooManyCalls"]

MOST_AT_ONCE = 16
"""Calls of one caller. Each takes a thread, of which a server has 40."""

MOST_IN_ALL = 128
"""Calls of all callers, those that wait for a thread among them."""

RETRY_AFTER_S = 1


class TooManyCalls(MemgraphRagError):
    """A caller, or all together, have as many calls under way as a server takes."""

    retryable: ClassVar[bool] = True


class CallLimits:
    """Counts the calls of a server, over whatever protocol they come.

    Args:
        most_at_once: calls of one caller, which is a namespace, that may be under way.
        most_in_all: calls of all callers that may be.
    """

    def __init__(self, *, most_at_once: int = MOST_AT_ONCE, most_in_all: int = MOST_IN_ALL) -> None:
        self._most_at_once = most_at_once
        self._most_in_all = most_in_all
        self._under_way: Counter[str] = Counter()

    @contextmanager
    def under_way(self, caller: str) -> Iterator[None]:
        """A call of this caller is under way.

        Raises:
            TooManyCalls: it would be one too many.
        """
        if self._under_way[caller] >= self._most_at_once:
            raise _one_too_many(f"{self._most_at_once} calls of one caller")
        if self._under_way.total() >= self._most_in_all:
            raise _one_too_many(f"{self._most_in_all} calls")
        self._under_way[caller] += 1
        try:
            yield
        finally:
            self._under_way[caller] -= 1
            if not self._under_way[caller]:
                del self._under_way[caller]


def _one_too_many(most: str) -> TooManyCalls:
    return TooManyCalls(f"Expected at most {most} under way, got one more. Wait until one of them has ended.")
