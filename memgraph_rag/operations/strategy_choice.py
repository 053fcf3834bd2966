"""How a question is read where nobody said it.

It knows the question's words and what layers there are. Invariant: without overviews it is always the walk.
"""

from __future__ import annotations

from memgraph_rag.contracts import GraphStore, Strategy
from memgraph_rag.lexical.breadth import asks_about_the_whole
from memgraph_rag.strategies import DEFAULT, find_strategy

__all__ = ["strategy_for"]


def strategy_for(question: str, store: GraphStore) -> Strategy:
    """``overviews`` for a question about a whole ("Which themes …?"), where there are any; else the walk.

    By rule and not by the model's P(Yes): LongRefiner's probe does not tell the two kinds apart at 0.5B
    (docs/decisions/outline.md).
    """
    is_broad = asks_about_the_whole(question) and store.statistics().get("Overview", 0) > 0
    return find_strategy("overviews" if is_broad else DEFAULT)
