"""The search of a memory: statements that hold now come before statements that they superseded.

The module gets a larger pool from ``search.segments``, and orders it by the namespace's facts and by what was told.
Invariant: without facts, and for a query that does not ask for the present, the order is that of the plain search.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from memgraph_rag.contracts import MODES, Embedder, EntityRecognizer, SearchedGraph, SearchMode, TurnJudge, cosine_scale
from memgraph_rag.facts.asked_attributes import asks_for_now, asks_for_several
from memgraph_rag.facts.fact_index import Fact, FactIndex, find_user
from memgraph_rag.facts.holding import POOL, arrange, find_stating_segments
from memgraph_rag.facts.told import Told, find_told
from memgraph_rag.search.graph import SegmentMatch
from memgraph_rag.search.segments import SegmentSearch
from memgraph_rag.types import Evidence, Extent

JUDGED_POOL = 100
"""Results among which a judge's turns are chosen: half of them may be an assistant's."""


class FactSearch(SegmentSearch):
    """A search over one namespace that puts what holds now first; it takes the arguments of ``SegmentSearch``.

    Args:
        several: nouns of which a person has several at a time.
    """

    def __init__(
        self,
        graph: SearchedGraph,
        embedder: Embedder,
        recognizer: EntityRecognizer,
        *,
        several: Sequence[str] = (),
        **options: Any,
    ) -> None:
        super().__init__(graph, embedder, recognizer, **options)
        self.facts = FactIndex(graph, several=several)
        self._several = several

    def find(
        self,
        query: str,
        *,
        k: int,
        mode: str | SearchMode = "graph",
        extent: Extent = Extent(),  # noqa: B008 - it is frozen
        judge: TurnJudge | None = None,
    ) -> list[Evidence]:
        """Return the k best segments of an extent, so that what holds now comes before what it superseded.

        Segments that hold now may be added although the search did not find them. Each place keeps its score: a score
        belongs to the place, not to the segment. A system's mode keeps its own order. See ``SegmentSearch.find`` and
        ``holding.arrange``.

        Args:
            judge: reads the turns near a query that asks for the present; without one their cosines decide.
        """
        if not isinstance(mode, str) or mode not in MODES:
            return super().find(query, k=k, mode=mode, extent=extent)
        facts = self.facts.refresh(self._version)
        asks_now = mode == "graph" and asks_for_now(query)
        most_said = POOL if judge is None else JUDGED_POOL
        pool, matches = self.search_core(
            query, max(k, POOL) if facts else k, mode, extent, most_said=max(k, most_said) if asks_now else k
        )
        told = self._find_told_in_pool(query, pool, matches, facts, extent, judge) if asks_now else None
        newest = told.newest if told else None
        if not pool or not (facts or newest):
            return pool[:k]
        return arrange(
            query, pool, facts, self.read_evidence, k=k, extent=extent, newest=newest, is_judged=judge is not None
        )

    def find_told(self, question: str, extent: Extent, find_judge: Callable[[], TurnJudge]) -> tuple[Told | None, bool]:
        """Return the turns of a person that may answer a question, and whether all results are turns of chats.

        A turn in which the rules read the asked value has the probability 1, whatever the judge says. The turns are
        None if the question does not ask for the present, or if no turn of a person is near it.

        Args:
            find_judge: returns the judge. It is called only for a question that asks for the present.
        """
        if not asks_for_now(question):
            return None, False
        judge = find_judge()
        pool, matches = self.search_core(question, 1, "graph", extent, most_said=JUDGED_POOL)
        told = self._find_told_in_pool(question, pool, matches, self.facts.refresh(self._version), extent, judge)
        return told, all(item.segment.speaker for item in pool)

    def _find_told_in_pool(
        self,
        question: str,
        pool: Sequence[Evidence],
        matches: Mapping[str, SegmentMatch],
        facts: Sequence[Fact],
        extent: Extent,
        judge: TurnJudge | None,
    ) -> Told | None:
        """Return what a person told of a question in a pool of results, by a judge or by likeness."""
        users = self.facts.users if facts else self._list_users(pool)
        told = find_told(question, pool, matches, users, judge, contrast=cosine_scale(self._embedder).contrast)
        if told is None or not told.is_judged:
            return told
        certain = find_stating_segments(question, facts, extent)
        return replace(told.mark_certain(certain), asks_for_several=asks_for_several(question, self._several))

    def _list_users(self, results: Sequence[Evidence]) -> dict[str, str]:
        """Return the users of the documents with a spoken result, by document id."""
        spoken = sorted({item.segment.document_id for item in results if item.segment.speaker})
        records = self._graph.documents(spoken) if spoken else []
        return {record.id: user for record in records if (user := find_user(record))}
