"""GraphRAG's DRIFT search: read the nearest reports, write follow-up questions, and search for them, round by round.

It knows graph, search and session by their contracts. Invariants: no node is read twice; the model is asked for
questions at most once a round, and no more often than ``rounds``.

First, the reports that are nearest to the question are read. Then rounds follow: the model writes follow-up questions,
and the best segments for each are read. Reading ends when the model says that it has enough. Differences from the
released code: all nodes are read in one session, so the model writes a follow-up with everything read before; no
hypothetical report is written for the search; there are at most nine searches (the released code may ask the model 67
times).

Source: DRIFT search of GraphRAG's released code (the paper, arXiv 2404.16130, has global search alone).
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace
from itertools import chain

from memgraph_rag.contracts import ReadingContext
from memgraph_rag.errors import WindowExceeded
from memgraph_rag.lexical.replies import questions_in
from memgraph_rag.strategies.reflection import Reflection, ask
from memgraph_rag.strategies.token_budget import cost, may_ask
from memgraph_rag.systems.graphrag.report_tree import Chosen, ReportTree, read_by_search, read_chosen
from memgraph_rag.types import Step, StopReason, as_line

__all__ = ["GraphragDrift"]

_COMPARED_TOKENS = 16_000  # tokens of the reports that are compared with the question
_REPLY_TOKENS = 96
_FOLLOW_UPS = (
    "The information above may not be enough to answer the question. Write up to {most} short questions whose answers "
    "would help to answer it, with full names. Write the questions only."
)


class GraphragDrift:
    """A strategy that reads reports, then segments for the model's follow-up questions.

    Args:
        reports: number of reports to read first.
        rounds: most rounds of follow-up questions.
        follow_ups: most questions of one round.
        segments: segments to read for each question.
        yes_threshold: the model's Yes counts above this probability. The default is the calibration's, or 0.5.
    """

    name = "graphrag_drift"
    requires = ("communities",)
    follows_paper = True

    def __init__(
        self,
        *,
        reports: int = 5,
        rounds: int = 3,
        follow_ups: int = 3,
        segments: int = 2,
        yes_threshold: float | None = None,
    ) -> None:
        self._reports = reports
        self._rounds = rounds
        self._follow_ups = follow_ups
        self._segments = segments
        self._yes_threshold = yes_threshold

    def read(self, question: str, context: ReadingContext) -> Iterator[tuple[Step, ...]]:
        """Yield one step for each node: first reports, then segments for the question and for each follow-up question.

        Without reports it reads the results of a search. See ``Strategy.read``.
        """
        tree = ReportTree(context)
        if not tree:
            yield from read_by_search(question, context, tree.note)
            return
        judge = Reflection(context.session, yes_threshold=self._yes_threshold)
        seen: set[str] = set()
        asked = {as_line(question).casefold()}
        steps = read_chosen(self._primer(question, tree, context), context, reason=tree.note, ended=None)
        wanted = [question]
        for left in reversed(range(self._rounds + 1)):
            steps = chain(steps, *(self._answering(follow_up, seen, context) for follow_up in wanted))
            last = yield from _all_but_last(steps)
            if last is None:
                return
            p_yes = context.session.probability_of_yes()
            judge.hear(p_yes)
            may_go_on = not judge.is_enough and left and may_ask(context.limits, context.session)
            wanted = [item for item in self._questions(context) if item.casefold() not in asked] if may_go_on else []
            asked |= {item.casefold() for item in wanted}
            stop = None if wanted else StopReason.ANSWERABLE if judge.is_enough else StopReason.EXHAUSTED
            yield (replace(last, p_yes=p_yes, stop=stop, reason=" ".join(wanted) or last.reason),)
            if stop is not None:
                return
            steps = iter(())

    def _primer(self, question: str, tree: ReportTree, context: ReadingContext) -> list[Chosen]:
        """Return the nearest reports that fit a quarter of the window."""
        nearest = tree.nearest(question, tree.cut(question, _COMPARED_TOKENS))[: self._reports]
        room = context.session.tokens_left // 4
        chosen: list[Chosen] = []
        for report, cosine in nearest:
            if cost(report) <= room:
                chosen.append(Chosen(report, max(cosine, 0.0), "similarity", via=report.title))
                room -= cost(report)
        return chosen

    def _answering(self, follow_up: str, seen: set[str], context: ReadingContext) -> Iterator[tuple[Step, ...]]:
        """Read the best unread segments for a question."""
        hits = context.search.find(follow_up, k=self._segments + len(seen), documents=context.documents)
        new = [hit for hit in hits if hit.segment.id not in seen][: self._segments]
        seen |= {hit.segment.id for hit in new}
        chosen = [Chosen(hit.segment, hit.score, "entry", via=follow_up) for hit in new]
        yield from read_chosen(chosen, context, ended=None)

    def _questions(self, context: ReadingContext) -> Sequence[str]:
        try:
            reply = ask(
                context.session,
                _FOLLOW_UPS.format(most=self._follow_ups),
                max_tokens=_REPLY_TOKENS,
                is_usable=lambda text: bool(questions_in(text)),
                retries=0,
            )
        except WindowExceeded:
            return []
        return questions_in(reply)[: self._follow_ups]


def _all_but_last(steps: Iterator[tuple[Step, ...]]) -> Generator[tuple[Step, ...], None, Step | None]:
    """Yield all steps but the last, one at a time, and return the last step, or None if there are no steps."""
    last: Step | None = None
    for (step,) in steps:
        if last is not None:
            yield (last,)
        last = step
    return last
