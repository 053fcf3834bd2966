"""Flat retrieval: read the best segments of a search, then answer. What the walk is compared with.

It knows search and session by their contracts. Invariant: it never asks the model what to read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from memgraph_rag.contracts import Embedder, GraphReader, ReadingSession, Search, SearchMode
from memgraph_rag.strategies.flat import read_in_order
from memgraph_rag.types import Budget, Step

__all__ = ["TopK"]


class TopK:
    """Reads the k best segments of one search mode, best first."""

    def __init__(self, mode: SearchMode = "hybrid", *, k: int = 5) -> None:
        self._mode: SearchMode = mode
        self._k = k

    @property
    def name(self) -> str:
        """``top_k``, or ``top_k_keywords`` and ``top_k_vector``."""
        return "top_k" if self._mode == "hybrid" else f"top_k_{self._mode}"

    def read(
        self,
        question: str,
        *,
        graph: GraphReader,  # noqa: ARG002 - the contract
        search: Search,
        session: ReadingSession,
        embedder: Embedder,  # noqa: ARG002 - the contract
        budget: Budget,  # noqa: ARG002 - one segment a pass
        documents: Sequence[str] | None = None,
    ) -> Iterator[tuple[Step, ...]]:
        """One step a segment; see ``Strategy.read``."""
        found = search.find(question, k=self._k, mode=self._mode, documents=documents)
        yield from read_in_order([(evidence.segment, evidence.score) for evidence in found], session)
