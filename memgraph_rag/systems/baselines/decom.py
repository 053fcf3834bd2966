"""DECOM: the model splits the question into simpler questions, and each of them is searched.

It knows search and session by their contracts. Invariants: only search results are read; the question itself is
searched too, so poor sub-questions waste places but do not lose the answer.

The papers whose tables name this baseline do not describe it. Our decision: the model writes at most three questions
that must be answered first; the results of the question and of each sub-question are read in turns, as many in all as
``top_k`` reads; one answer is written from them.

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
    """A strategy that reads the best segments for the question and for its sub-questions.

    Args:
        k: most segments to read in all.
    """

    name = "decom"
    follows_paper = True

    def __init__(self, *, k: int = 5) -> None:
        self._k = k

    def read(self, question: str, context: ReadingContext) -> Iterator[tuple[Step, ...]]:
        """Yield one step for each segment: the first result of each question in turn, then each second one, and so on.

        Each segment comes once, and at most ``k`` come in all. The questions are the user's and its sub-questions,
        which are the reason of the first step. See ``Strategy.read``.
        """
        reply = ask(context.session, _APART, max_tokens=_REPLY_TOKENS)
        parts = [part for part in questions_in(reply) if part != question][:_MOST_QUESTIONS]
        finds = [context.search.find(query, k=self._k, documents=context.documents) for query in (question, *parts)]
        scored = [(item.segment, item.score) for item in islice(_by_turns(finds), self._k)]
        for place, (step,) in enumerate(read_in_order(scored, context)):
            yield (replace(step, reason=" ".join(parts)) if place == 0 else step,)


def _by_turns(finds: Iterable[list[Evidence]]) -> Iterator[Evidence]:
    """Yield the first of each list, then the second of each list, and so on, each segment once."""
    seen: set[str] = set()
    for item in chain.from_iterable(zip_longest(*finds)):
        if item is not None and item.segment.id not in seen:
            seen.add(item.segment.id)
            yield item
