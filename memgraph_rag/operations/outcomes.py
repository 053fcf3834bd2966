"""Outcomes of documents, yielded as the work on them is done.

It knows no document and no store. Invariant: nothing is done before the first outcome is asked for; an iterator that is
dropped before that gives a warning, because nothing was done at all.
"""

from __future__ import annotations

import warnings
from collections.abc import Generator, Iterator
from typing import Generic, TypeVar

from typing_extensions import Self

from memgraph_rag.errors import MemgraphRagWarning
from memgraph_rag.types import Failure, Receipt

__all__ = ["Outcomes"]

Outcome = TypeVar("Outcome", Receipt, Receipt | Failure)


class Outcomes(Iterator[Outcome], Generic[Outcome]):
    """An iterator over receipts and failures.

    Args:
        method: what was called, for the warning.
        outcomes: does the work as it is iterated.
    """

    def __init__(self, method: str, outcomes: Generator[Outcome, None, None]) -> None:
        self._method = method
        self._outcomes = outcomes
        self._was_asked = False

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Outcome:
        self._was_asked = True
        return next(self._outcomes)

    def close(self) -> None:
        """Leave the rest undone."""
        self._was_asked = True
        self._outcomes.close()

    def __del__(self) -> None:
        if not getattr(self, "_was_asked", True):
            warnings.warn(
                f"Expected {self._method}(…) to be iterated, got no question for its first outcome: nothing was done. "
                f"Write: for outcome in memory.{self._method}(…), or list(memory.{self._method}(…)).",
                MemgraphRagWarning,
                stacklevel=2,
            )
