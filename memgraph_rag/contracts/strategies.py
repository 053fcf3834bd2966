"""What a strategy must offer: a way to read the graph for a question."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from memgraph_rag.contracts.graph import GraphReader
from memgraph_rag.contracts.models import Embedder, ReadingSession
from memgraph_rag.contracts.search import Search
from memgraph_rag.types import Budget, Relation, Segment, Step

__all__ = ["Extract", "Strategy"]


Extract = Callable[[str, Sequence[Segment]], list[Relation]]
"""Looks in segments for entities and relations that bear on a question, stores them, gives the relations found."""


class Strategy(Protocol):
    """A way to read the graph for a question."""

    @property
    def name(self) -> str:
        """The name that users choose it by."""
        ...

    def read(
        self,
        question: str,
        *,
        graph: GraphReader,
        search: Search,
        session: ReadingSession,
        embedder: Embedder,
        budget: Budget,
        documents: Sequence[str] | None = None,
        extract: Extract | None = None,
    ) -> Iterator[tuple[Step, ...]]:
        """Read nodes into the session, telling after each forward pass the steps that it took.

        Whoever drives it checks the budget between two passes and may stop asking at any time; the session then
        holds what was told, and nothing else. The strategy itself keeps one pass within ``budget``.
        ``documents`` are ids; None means all. ``extract`` is None where what is read must not be written to.
        """
        ...
