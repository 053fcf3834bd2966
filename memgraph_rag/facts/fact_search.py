"""The search of a memory: statements that hold now come before statements that they superseded.

The module gets a larger pool from ``search.segments`` and orders it by the namespace's facts and by likeness.
Invariant: without facts, and for a query that does not ask for the present, the order is that of the plain search.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from memgraph_rag.contracts import MODES, Embedder, EntityRecognizer, SearchedGraph, SearchMode
from memgraph_rag.facts.asked_attributes import asks_for_now
from memgraph_rag.facts.fact_index import FactIndex, find_user
from memgraph_rag.facts.holding import POOL, arrange
from memgraph_rag.facts.likeness import newest_alike
from memgraph_rag.search.segments import SegmentSearch
from memgraph_rag.types import Evidence, Extent

__all__ = ["FactSearch"]


class FactSearch(SegmentSearch):
    """A search over one namespace that puts what holds now first; it takes the arguments of ``SegmentSearch``."""

    def __init__(self, graph: SearchedGraph, embedder: Embedder, recognizer: EntityRecognizer, **options: Any) -> None:
        super().__init__(graph, embedder, recognizer, **options)
        self.facts = FactIndex(graph)

    def find(
        self,
        query: str,
        *,
        k: int,
        mode: str | SearchMode = "graph",
        extent: Extent = Extent(),  # noqa: B008 - it is frozen
    ) -> list[Evidence]:
        """Return the k best segments of an extent, so that what holds now comes before what it superseded.

        Segments that hold now may be added although the search did not find them. Each place keeps its score: a score
        belongs to the place, not to the segment. A system's mode keeps its own order. See ``SegmentSearch.find`` and
        ``holding.arrange``.
        """
        if not isinstance(mode, str) or mode not in MODES:
            return super().find(query, k=k, mode=mode, extent=extent)
        facts = self.facts.refresh(self._version)
        by_likeness = mode == "graph" and asks_for_now(query)
        most, most_said = max(k, POOL) if facts else k, max(k, POOL) if by_likeness else k
        pool, matches = self.search_core(query, most, mode, extent, most_said=most_said)
        users = self.facts.users if facts or not by_likeness else self._users_of(pool)
        newest = newest_alike(query, pool, matches, users) if by_likeness else None
        if not pool or not (facts or newest):
            return pool[:k]
        return arrange(query, pool, facts, self.read_evidence, k=k, extent=extent, newest=newest)

    def _users_of(self, results: Sequence[Evidence]) -> dict[str, str]:
        """Return the users of the documents with a spoken result, by document id."""
        spoken = sorted({item.segment.document_id for item in results if item.segment.speaker})
        records = self._graph.documents(spoken) if spoken else []
        return {record.id: user for record in records if (user := find_user(record))}
