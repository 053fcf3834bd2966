"""A system in a distribution of its own: one strategy and one mode of search.

    python -m pip install ./examples/own_system
    memgraph-rag ask --strategy best_only "Who found the fox?"

The installation takes a few seconds. See docs/extending.md.
"""

from __future__ import annotations

from collections.abc import Iterator

from memgraph_rag import Evidence, Step
from memgraph_rag.contracts import ReadingContext, SearchContext, System


class BestOnly:
    """Reads the best segment of a keyword search, and nothing else."""

    name = "best_only"

    def read(self, question: str, context: ReadingContext) -> Iterator[tuple[Step, ...]]:
        """One step, of the one segment."""
        session = context.session
        for evidence in context.search.find(question, k=1, mode="keywords", documents=context.documents):
            (attention,) = session.append([evidence.segment.text])
            yield (Step(evidence.segment, evidence.score, float(attention), session.probability_of_yes()),)


class First:
    """Finds the best segment of a graph search, and no further one."""

    name = "first"

    def find(self, query: str, context: SearchContext, /, *, k: int) -> list[Evidence]:
        """The one segment."""
        return context.rank_segments(query, k=k)[:1]


SYSTEM = System("best_only", strategies={"best_only": BestOnly}, modes={"first": First})
