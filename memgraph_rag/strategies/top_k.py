"""Flat retrieval: read the best segments of a search, then answer. It is the baseline for the walk.

The module knows search and session by their contracts. Invariant: the model never chooses what is read; with
``stop_early`` it decides only whether to read on.
"""

from __future__ import annotations

from collections.abc import Iterator

from memgraph_rag.contracts import ReadingContext
from memgraph_rag.strategies.flat import read_in_order
from memgraph_rag.strategies.reflection import Reflection
from memgraph_rag.types import Step

__all__ = ["TopK"]


class TopK:
    """A strategy that reads the k best segments of one search mode, best first.

    Args:
        mode: the name of the search mode.
        k: how many segments are read.
        stop_early: whether reading ends as soon as the model says that it has read enough.
    """

    name = "top_k"

    def __init__(self, mode: str = "hybrid", *, k: int = 5, stop_early: bool = False) -> None:
        self._mode: str = mode
        self._k = k
        self._stop_early = stop_early

    def read(self, question: str, context: ReadingContext) -> Iterator[tuple[Step, ...]]:
        """Yield one step for each of the k best segments, best first; see ``Strategy.read``.

        Reading ends early if the next segment does not fit the window or, with ``stop_early``, if the model has enough.
        There is no step if nothing is found or the first segment does not fit.
        """
        evidence_list = context.search.find(question, k=self._k, mode=self._mode, documents=context.documents)
        reflection = Reflection(context.session) if self._stop_early else None
        scored = [(evidence.segment, evidence.score) for evidence in evidence_list]
        yield from read_in_order(scored, context, reflection=reflection)
