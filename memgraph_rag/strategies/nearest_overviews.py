"""Rank overviews by their similarity to a question.

The module knows overviews and an embedder. Invariant: at most 256 overviews are embedded, those over the most
documents: overviews have no stored vector.
"""

from __future__ import annotations

from collections.abc import Sequence

from memgraph_rag.contracts import ReadingContext, query_vectors
from memgraph_rag.types import Overview

_MOST_EMBEDDED = 256


def nearest_overviews(
    question: str, overviews: Sequence[Overview], context: ReadingContext
) -> list[tuple[Overview, float]]:
    """Return overviews with their cosines to the question, nearest first, ties by layer and key.

    Of more than 256 overviews only the 256 over the most documents are returned.
    """
    widest = sorted(overviews, key=lambda item: (-len(item.documents), item.layer, item.key))[:_MOST_EMBEDDED]
    if not widest:
        return []
    vectors = context.embedder.embed([overview.text for overview in widest])
    cosines = (vectors @ query_vectors(context.embedder, [question])[0]).tolist()
    return sorted(zip(widest, cosines, strict=True), key=lambda pair: (-pair[1], pair[0].layer, pair[0].key))
