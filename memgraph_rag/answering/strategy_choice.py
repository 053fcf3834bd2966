"""Choose the strategy for a question when the caller names no strategy.

It knows the words and the vector of the question, and whether overviews exist. Invariant: without overviews the choice
is always the walk.
"""

from __future__ import annotations

from collections.abc import Mapping

from memgraph_rag.contracts import Embedder, Strategy, query_vectors
from memgraph_rag.lexical.breadth import asks_about_the_whole
from memgraph_rag.strategies import DEFAULT, find_strategy
from memgraph_rag.strategies.overviews import Overviews
from memgraph_rag.types import QuestionBreadth


def choose_strategy(question: str, counts: Mapping[str, int], embedder: Embedder) -> Strategy:
    """Return ``Overviews`` of the library for a question about the whole memory ("Which themes …?"), else the walk.

    ``Overviews`` are chosen only if overviews exist. If the documents in scope have no library, ``Overviews`` walks as
    well, and its first step says so, because reports of communities alone were worse than passages
    (docs/decisions/library.md). The words and the embedder decide, not the model's P(Yes): a 0.5B model does not
    distinguish the two kinds of questions (docs/decisions/outline.md).

    Args:
        counts: the number of nodes in the memory, by label.
    """
    if counts.get("Overview", 0) > 0 and is_about_a_whole(question, embedder):
        return Overviews(["library"])
    return find_strategy(DEFAULT)


def is_about_a_whole(question: str, embedder: Embedder) -> bool:
    """Return whether a question asks about the whole memory, by its words or, with ``breadth``, its vector."""
    breadth: QuestionBreadth | None = getattr(embedder, "breadth", None)
    return asks_about_the_whole(question) or (
        breadth is not None and breadth.is_whole(query_vectors(embedder, [question])[0])
    )
