"""What a whole memory says: overviews from the tops of a layer to those nearest to the question, and passages in turns.

It knows graph and search by their contracts. Invariants: a node is read at most once; no model is asked what to read;
nothing is read that rests on documents outside those that may be read. Without overviews it is the walk.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, zip_longest

from memgraph_rag.contracts import ReadingContext
from memgraph_rag.strategies.flat import read_in_order
from memgraph_rag.strategies.nearest_overviews import nearest_overviews
from memgraph_rag.strategies.token_budget import START_TOKENS, cost, start_set
from memgraph_rag.strategies.walk import Walk
from memgraph_rag.types import Node, Overview, Step

__all__ = ["Overviews"]

_PASSAGES = 64  # that a search finds


class Overviews:
    """Reads an overview, a passage that search finds, the next overview, and so on; where one kind ends, the other.

    Args:
        layers: of the memory; the first that has overviews of what may be read is the one that is read.
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
        """One step a node; see ``Strategy.read``. Where it walks, the first step says so."""
        of_layers = (context.graph.overviews(layer, documents=context.documents) for layer in self._layers)
        overviews = next(filter(None, of_layers), None)
        if overviews is None:
            note = f"the walk: no overview of the {' or of the '.join(self._layers)}"
            for number, steps in enumerate(Walk().read(question, context)):
                yield steps if number else (replace(steps[0], via=steps[0].via or note), *steps[1:])
            return
        chosen: list[tuple[Node, float]] = []
        room = self._budget_tokens
        turns = zip_longest(self._ranked(question, overviews, context), _passages(question, context))
        for node, score in filter(None, chain.from_iterable(turns)):
            room -= cost(node)
            if room < 0 and chosen:
                break
            chosen.append((node, score))
        yield from read_in_order(chosen, context)

    def _ranked(
        self, question: str, overviews: Sequence[Overview], context: ReadingContext
    ) -> Iterator[tuple[Overview, float]]:
        """The tops, scored 0, then the others by their cosines, nearest first."""
        tops = self._tops(overviews, context)
        yield from ((top, 0.0) for top in tops)
        ids = {top.id for top in tops}
        yield from nearest_overviews(question, [item for item in overviews if item.id not in ids], context)

    def _tops(self, overviews: Sequence[Overview], context: ReadingContext) -> list[Overview]:
        """What no other sums up, the widest first, in a third of the budget."""
        edges = context.graph.successors([overview.id for overview in overviews])
        summed_up = {edge.target_id for edge in edges}
        tops = [overview for overview in overviews if overview.id not in summed_up]
        widest = sorted(tops, key=lambda item: (-len(item.documents), item.layer, item.key))
        return start_set(widest, context.session, context.limits, most_tokens=self._budget_tokens // 3)


def _passages(question: str, context: ReadingContext) -> Iterator[tuple[Node, float]]:
    """What a search finds, best first."""
    for evidence in context.search.find(question, k=_PASSAGES, mode="hybrid", documents=context.documents):
        yield evidence.segment, evidence.score
