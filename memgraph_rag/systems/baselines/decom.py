"""DECOM: the question taken apart, and each of its parts searched for.

It knows search and session by their contracts. Invariants: nothing but what a search finds is read; the question itself
is searched for too, so that poor parts of it cost places, not the answer.

The papers whose tables name this baseline do not say how it works. Decided here: the model writes at most three
questions that have to be answered first; the finds of the question and of each of these are read turn by turn, as many
in all as ``top_k`` reads; one answer is written from them.

Source: ours; see docs/decisions/baselines.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain, islice, zip_longest

from memgraph_rag.contracts import ReadingContext
from memgraph_rag.lexical.replies import questions_in
from memgraph_rag.strategies.flat import read_in_order
from memgraph_rag.strategies.reflection import ask
from memgraph_rag.types import Evidence, Step

__all__ = ["Decom"]

_MOST_QUESTIONS = 3
_REPLY_TOKENS = 96
_APART = (
    "Which simpler questions have to be answered first, to answer the question? Write at most three, one a line, each "
    "with the names that it is about. Write the questions only."
)


class Decom:
    """Reads the best segments for the question and for the parts that the model takes it into.

    Args:
        k: how many segments are read in all.
    """

    name = "decom"

    def __init__(self, *, k: int = 5) -> None:
        self._k = k

    def read(self, question: str, context: ReadingContext) -> Iterator[tuple[Step, ...]]:
        """One step a segment; see ``Strategy.read``. The first one's reason holds the parts."""
        reply = ask(context.session, _APART, max_tokens=_REPLY_TOKENS)
        parts = [part for part in questions_in(reply) if part != question][:_MOST_QUESTIONS]
        finds = [context.search.find(query, k=self._k, documents=context.documents) for query in (question, *parts)]
        scored = [(item.segment, item.score) for item in islice(_by_turns(finds), self._k)]
        for place, (step,) in enumerate(read_in_order(scored, context)):
            yield (replace(step, reason=" ".join(parts)) if place == 0 else step,)


def _by_turns(finds: Iterable[list[Evidence]]) -> Iterator[Evidence]:
    """The first of each list, then the second of each, without what came before."""
    seen: set[str] = set()
    for item in chain.from_iterable(zip_longest(*finds)):
        if item is not None and item.segment.id not in seen:
            seen.add(item.segment.id)
            yield item
