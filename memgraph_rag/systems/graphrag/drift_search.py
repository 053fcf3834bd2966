"""GraphRAG's DRIFT search: read the nearest reports, ask what follows from them, look for that, round by round.

It knows graph, search and session by their contracts. Invariants: no node is read twice; the model is asked for
questions at most once a round, and no more often than ``rounds``.

Primer: the reports that are nearest to the question, by the embedder. Then rounds: the model writes questions that what
was read raises, and the best segments for each are read; reading ends when the model says that it has enough. Other
than the released code: all is read in one session, so that a follow-up is written with all that was read before; no
report is made up to search with; there are at most nine searches, where that may ask the model 67 times.

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

_COMPARED_TOKENS = 16_000  # of the reports that are compared with the question
_REPLY_TOKENS = 96
_FOLLOW_UPS = (
    "The information above may not be enough to answer the question. Write up to {most} short questions whose answers "
    "would help to answer it, with full names. Write the questions only."
)


class GraphragDrift:
    """Reads reports, then what the model asks about them.

    Args:
        reports: how many are read first.
        rounds: of follow-up questions.
        follow_ups: questions of one round.
        segments: read for each question.
        yes_threshold: the model's Yes counts above this probability; by default the calibration's, else 0.5.
    """

    name = "graphrag_drift"

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
        """One step a node; see ``Strategy.read``."""
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
        """The nearest reports that a quarter of the window holds."""
        nearest = tree.nearest(question, tree.cut(question, _COMPARED_TOKENS))[: self._reports]
        room = context.session.tokens_left // 4
        chosen: list[Chosen] = []
        for report, cosine in nearest:
            if cost(report) <= room:
                chosen.append(Chosen(report, max(cosine, 0.0), "similarity", via=report.title))
                room -= cost(report)
        return chosen

    def _answering(self, follow_up: str, seen: set[str], context: ReadingContext) -> Iterator[tuple[Step, ...]]:
        """The best segments for a question that were not read yet."""
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
    """Yields steps, one a pass, but for the last one, which is given back; None where there is none."""
    last: Step | None = None
    for (step,) in steps:
        if last is not None:
            yield (last,)
        last = step
    return last
