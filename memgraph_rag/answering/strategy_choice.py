"""How a question is read where nobody said it.

It knows the question's words, its vector, and whether there are overviews. Invariant: without overviews it is always
the walk.
"""

from __future__ import annotations

from collections.abc import Mapping

from memgraph_rag.contracts import Embedder, Strategy
from memgraph_rag.lexical.breadth import asks_about_the_whole
from memgraph_rag.strategies import DEFAULT, find_strategy
from memgraph_rag.strategies.overviews import Overviews
from memgraph_rag.types import QuestionBreadth

__all__ = ["is_about_a_whole", "strategy_for"]


def strategy_for(question: str, counts: Mapping[str, int], embedder: Embedder) -> Strategy:
    """Overviews of the library for a question about a whole ("Which themes …?"), where there are any; else the walk.

    Where the documents that may be read have no library, it walks too, and the first step says so: reports of
    communities alone were worse than passages (docs/decisions/library.md). By words and by the embedder, not by the
    model's P(Yes): LongRefiner's probe does not tell the two kinds apart at 0.5B (docs/decisions/outline.md).

    Args:
        counts: what the memory holds, by label.
    """
    if counts.get("Overview", 0) > 0 and is_about_a_whole(question, embedder):
        return Overviews(["library"])
    return find_strategy(DEFAULT)


def is_about_a_whole(question: str, embedder: Embedder) -> bool:
    """Whether a question asks about a whole, by its words, or by its vector where the embedder can tell by that."""
    breadth: QuestionBreadth | None = getattr(embedder, "breadth", None)
    return asks_about_the_whole(question) or (breadth is not None and breadth.is_whole(embedder.embed([question])[0]))
