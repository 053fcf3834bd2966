"""Flat retrieval: read the best segments of a search, then answer. What the walk is compared with.

It knows search and session by their contracts. Invariant: it never asks the model what to read, only,
where it is told to, whether to read on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from memgraph_rag.contracts import Embedder, Extract, GraphReader, ReadingSession, Search, SearchMode
from memgraph_rag.strategies.flat import read_in_order
from memgraph_rag.strategies.reflection import Reflection
from memgraph_rag.types import Budget, Step

__all__ = ["TopK"]


class TopK:
    """Reads the k best segments of one search mode, best first.

    Args:
        mode: of the search.
        k: how many are read.
        stop_early: whether reading ends as soon as the model says that it has read enough.
    """

    def __init__(self, mode: SearchMode = "hybrid", *, k: int = 5, stop_early: bool = False) -> None:
        self._mode: SearchMode = mode
        self._k = k
        self._stop_early = stop_early

    @property
    def name(self) -> str:
        """``top_k``, or ``top_k_graph``, ``top_k_keywords`` and ``top_k_vector``."""
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
        extract: Extract | None = None,  # noqa: ARG002 - the contract
    ) -> Iterator[tuple[Step, ...]]:
        """One step a segment; see ``Strategy.read``."""
        found = search.find(question, k=self._k, mode=self._mode, documents=documents)
        reflection = Reflection(session) if self._stop_early else None
        scored = [(evidence.segment, evidence.score) for evidence in found]
        yield from read_in_order(scored, session, reflection=reflection)
