"""Read overviews and passages in turns, for questions about a whole memory.

The module knows graph and search by their contracts. Invariants: a node is read at most once; the model does not choose
what is read; no node is read that rests on a document outside of the allowed ones. A memory without overviews is read
by the walk.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, zip_longest

from memgraph_rag.contracts import ReadingContext, query_vectors
from memgraph_rag.strategies.flat import Chosen, read_in_order
from memgraph_rag.strategies.token_budget import START_TOKENS, cost, start_set
from memgraph_rag.strategies.walk import Walk
from memgraph_rag.types import Node, Overview, Step

_PASSAGES = 64  # results of the search
_MOST_EMBEDDED = 256  # overviews, those over the most documents: they have no stored vector


class Overviews:
    """A strategy that reads an overview, a passage of a search, the next overview, and so on, until the budget ends.

    Args:
        layers: names of layers; the first layer with overviews of the allowed documents is read.
        budget_tokens: how many tokens are read in all.
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
        """Yield one step a node, overviews and passages in turn, until the budget ends; see ``Strategy.read``.

        The overviews are the widest ones without a parent, then the others, nearest to the question first. The passages
        are the results of a hybrid search. If one of both ends, the other goes on. Reading ends before the first node
        that exceeds the budget or does not fit the window; the budget does not stop the first node. Without overviews
        the walk reads in their place, and the first step says so.
        """
        overviews_by_layer = (context.graph.overviews(layer, documents=context.documents) for layer in self._layers)
        overviews = next(filter(None, overviews_by_layer), None)
        if overviews is None:
            note = f"the walk: no overview of the {' or of the '.join(self._layers)}"
            for number, steps in enumerate(Walk().read(question, context)):
                yield steps if number else (replace(steps[0], via=steps[0].via or note), *steps[1:])
            return
        chosen: list[Chosen] = []
        room = self._budget_tokens
        turns = zip_longest(self._rank(question, overviews, context), _find_passages(question, context))
        for node, score in filter(None, chain.from_iterable(turns)):
            room -= cost(node)
            if room < 0 and chosen:
                break
            chosen.append(Chosen(node, score, "entry" if score else ""))
        yield from read_in_order(chosen, context)

    def _rank(
        self, question: str, overviews: Sequence[Overview], context: ReadingContext
    ) -> Iterator[tuple[Overview, float]]:
        """Yield the top overviews with score 0, then the other overviews with their cosines, nearest first."""
        tops = self._find_tops(overviews, context)
        yield from ((top, 0.0) for top in tops)
        ids = {top.id for top in tops}
        yield from nearest_overviews(question, [item for item in overviews if item.id not in ids], context)

    def _find_tops(self, overviews: Sequence[Overview], context: ReadingContext) -> list[Overview]:
        """Return the overviews without a parent that fit a third of the budget, those over the most documents first."""
        edges = context.graph.successors([overview.id for overview in overviews])
        summed_up = {edge.target_id for edge in edges}
        tops = [overview for overview in overviews if overview.id not in summed_up]
        return start_set(_sort_widest(tops), context.session, context.limits, most_tokens=self._budget_tokens // 3)


def nearest_overviews(
    question: str, overviews: Sequence[Overview], context: ReadingContext
) -> list[tuple[Overview, float]]:
    """Return overviews with their cosines to the question, nearest first, ties by layer and key.

    Of more than 256 overviews only the 256 over the most documents are returned.
    """
    widest = _sort_widest(overviews)[:_MOST_EMBEDDED]
    if not widest:
        return []
    vectors = context.embedder.embed([overview.text for overview in widest])
    cosines = (vectors @ query_vectors(context.embedder, [question])[0]).tolist()
    return sorted(zip(widest, cosines, strict=True), key=lambda pair: (-pair[1], pair[0].layer, pair[0].key))


def _sort_widest(overviews: Sequence[Overview]) -> list[Overview]:
    """Return the overviews, those over the most documents first, ties by layer and key."""
    return sorted(overviews, key=lambda item: (-len(item.documents), item.layer, item.key))


def _find_passages(question: str, context: ReadingContext) -> Iterator[tuple[Node, float]]:
    """Yield the segments of a search with their scores, best first."""
    for evidence in context.search.find(question, k=_PASSAGES, mode="hybrid", documents=context.documents):
        yield evidence.segment, evidence.score
