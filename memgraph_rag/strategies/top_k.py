"""Flat retrieval: read the best segments of a search, then answer. It is the baseline for the walk.

The module knows search and session by their contracts. Invariant: the model never chooses what is read.
"""

from __future__ import annotations

from collections.abc import Iterator

from memgraph_rag.contracts import ReadingContext
from memgraph_rag.strategies.flat import Chosen, read_in_order
from memgraph_rag.types import Step


class TopK:
    """A strategy that reads the k best segments of one search mode, best first.

    Args:
        mode: the name of the search mode.
        k: how many segments are read.
    """

    name = "top_k"

    def __init__(self, mode: str = "hybrid", *, k: int = 5) -> None:
        self._mode: str = mode
        self._k = k

    def read(self, question: str, context: ReadingContext) -> Iterator[tuple[Step, ...]]:
        """Yield one step for each of the k best segments, best first; see ``Strategy.read``.

        Reading ends early if the next segment does not fit the window.
        There is no step if nothing is found or the first segment does not fit.
        """
        evidence_list = context.search.find(question, k=self._k, mode=self._mode, documents=context.documents)
        yield from read_in_order([Chosen(evidence.segment, evidence.score) for evidence in evidence_list], context)
