"""How a question is read where nobody said it.

It knows the question's words and whether there are overviews. Invariant: without overviews it is always the walk.
"""

from __future__ import annotations

from memgraph_rag.contracts import GraphStore, Strategy
from memgraph_rag.lexical.breadth import asks_about_the_whole
from memgraph_rag.strategies import DEFAULT, find_strategy
from memgraph_rag.strategies.overviews import Overviews

__all__ = ["strategy_for"]


def strategy_for(question: str, store: GraphStore) -> Strategy:
    """Overviews of the library for a question about a whole ("Which themes …?"), where there are any; else the walk.

    Where the documents that may be read have no library, it walks too, and the first step says so: reports of
    communities alone were worse than passages (docs/decisions/library.md). By rule and not by the model's P(Yes):
    LongRefiner's probe does not tell the two kinds apart at 0.5B (docs/decisions/outline.md).
    """
    if asks_about_the_whole(question) and store.statistics().get("Overview", 0) > 0:
        return Overviews(["library"])
    return find_strategy(DEFAULT)
