"""What a whole memory says: the overviews of its layers from the top down, then those nearest to the question.

It knows the graph by its contract. Invariants: a node is read at most once; no model is asked what to read; nothing is
read that rests on documents outside those that may be read. Without overviews it is the walk.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from memgraph_rag.contracts import ReadingContext
from memgraph_rag.strategies.flat import read_in_order
from memgraph_rag.strategies.token_budget import START_TOKENS, cost, start_set
from memgraph_rag.strategies.walk import Walk
from memgraph_rag.types import Overview, Step

__all__ = ["Overviews"]

_MOST_EMBEDDED = 256
"""Overviews that are compared with a question, the widest ones: they have no stored vector."""


class Overviews:
    """Reads the tops of the layers of the memory, then the overviews nearest to the question.

    Args:
        layers: of the memory; those without overviews count for nothing.
        budget_tokens: of all that is read.
    """

    name = "overviews"

    def __init__(
        self,
        layers: Sequence[str] = ("library", "communities"),
        *,
        budget_tokens: int = 2 * START_TOKENS,
    ) -> None:
        self._layers = layers
        self._budget_tokens = budget_tokens

    def read(self, question: str, context: ReadingContext) -> Iterator[tuple[Step, ...]]:
        """One step a node; see ``Strategy.read``."""
        overviews = [
            item for layer in self._layers for item in context.graph.overviews(layer, documents=context.documents)
        ]
        if not overviews:
            yield from Walk().read(question, context)
            return
        tops = self._tops(overviews, context)
        ids = {top.id for top in tops}
        room = self._budget_tokens - sum(map(cost, tops))
        others = _nearest(question, [item for item in overviews if item.id not in ids], context)
        chosen: list[tuple[Overview, float]] = [(top, 0.0) for top in tops]
        for overview, cosine in others:
            room -= cost(overview)
            if room < 0:
                break
            chosen.append((overview, cosine))
        yield from read_in_order(chosen, context)

    def _tops(self, overviews: Sequence[Overview], context: ReadingContext) -> list[Overview]:
        """What no other sums up, the widest first, in a third of the budget."""
        edges = context.graph.successors([overview.id for overview in overviews])
        summed_up = {edge.target_id for edge in edges}
        tops = [overview for overview in overviews if overview.id not in summed_up]
        widest = sorted(tops, key=lambda item: (-len(item.documents), item.layer, item.key))
        return start_set(widest, context.session, context.budget, most_tokens=self._budget_tokens // 3)


def _nearest(question: str, overviews: Sequence[Overview], context: ReadingContext) -> list[tuple[Overview, float]]:
    """These overviews with their cosines to the question, nearest first, ties by key."""
    widest = sorted(overviews, key=lambda item: (-len(item.documents), item.layer, item.key))[:_MOST_EMBEDDED]
    if not widest:
        return []
    vectors = context.embedder.embed([question, *(overview.text for overview in widest)])
    unit = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    cosines = (unit[1:] @ unit[0]).tolist()
    return sorted(zip(widest, cosines, strict=True), key=lambda pair: (-pair[1], pair[0].layer, pair[0].key))
