"""GraphRAG's DRIFT search: read the nearest reports, write follow-up questions, and search for them, round by round.

It knows graph, search and session by their contracts. Invariants: no node is read twice; the model is asked for
questions at most once a round, and no more often than ``rounds``.

First, the model writes a hypothetical answer in the form of a report, and the reports that are nearest to it are read.
Then rounds follow: the model writes follow-up questions, and for each a local search is read: segments and reports
around its entities in a memory with elements, else the best segments. Reading ends when the model says that it has
enough. Differences from the released code: all nodes are read in one session, so the model writes follow-ups once a
round, with everything read before, and no intermediate answers; the question itself is searched for, too.

Source: DRIFT search of GraphRAG's released code (the paper, arXiv 2404.16130, has global search alone).
"""

from __future__ import annotations

import random
from collections.abc import Generator, Iterator
from dataclasses import replace
from itertools import chain

from memgraph_rag.contracts import ReadingContext
from memgraph_rag.errors import WindowExceeded
from memgraph_rag.lexical.replies import parse_questions
from memgraph_rag.strategies.flat import Chosen, read_in_order
from memgraph_rag.strategies.reflection import ask, find_yes_threshold
from memgraph_rag.strategies.token_budget import cost, may_ask
from memgraph_rag.systems.graphrag.element_context import ElementContext
from memgraph_rag.systems.graphrag.local_search import LocalBudget, choose_nodes
from memgraph_rag.systems.graphrag.report_tree import ReportTree, read_by_search
from memgraph_rag.types import Step, StopReason, as_line

_COMPARED_TOKENS = 16_000  # tokens of the reports that are compared with the hypothetical answer
_SEGMENTS = 2  # to read for each question, in a memory without elements
_REPLY_TOKENS = 96
_HYPOTHETICAL_TOKENS = 160
_TEXT_SHARE, _REPORT_SHARE = 0.9, 0.1  # of a follow-up's tokens, as released
_HYPOTHETICAL = (
    "Write a hypothetical answer to the question. Give it the form of the report below, and use no names that the "
    "question does not have.\n\n{template}"
)
_FOLLOW_UPS = (
    "The information above may not be enough to answer the question. Write up to {most} short questions whose answers "
    "would help to answer it, with full names. Write the questions only."
)


class GraphragDrift:
    """A strategy that reads reports, then segments for the model's follow-up questions.

    Args:
        reports: number of reports to read first. Released: 20.
        rounds: most rounds of follow-up questions.
        follow_ups: most questions of one round. Released: 20.
        local_tokens: most tokens to read for each question, in a memory with elements. Released: 12,000.
        yes_threshold: the model's Yes counts above this probability, and ends the reading. The default is the
            calibration's, or 0.5. Released: 1, which never ends it.
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
        local_tokens: int = 1024,
        yes_threshold: float | None = None,
    ) -> None:
        self._reports = reports
        self._rounds = rounds
        self._follow_ups = follow_ups
        self._budget = LocalBudget(local_tokens, _TEXT_SHARE, _REPORT_SHARE)
        self._yes_threshold = yes_threshold

    def read(self, question: str, context: ReadingContext) -> Iterator[tuple[Step, ...]]:
        """Yield one step for each node: first reports, then what is found for the question and each follow-up question.

        Without reports it reads the results of a search. See ``Strategy.read``.
        """
        tree = ReportTree(context)
        if not tree:
            yield from read_by_search(question, context, tree.note)
            return
        threshold = find_yes_threshold(context.session, self._yes_threshold)
        search = _FollowUps(tree, context, self._budget)
        asked, pending = {as_line(question).casefold()}, list[str]()
        chance = random.Random(0)  # noqa: S311 - not for secrets
        primer = self._prime(question, tree, context, chance)
        search.seen |= {item.node.id for item in primer}
        steps = read_in_order(primer, context, reason=tree.note, ended=None)
        wanted = [question]
        for left in reversed(range(self._rounds + 1)):
            steps = chain(steps, *(search.read(follow_up) for follow_up in wanted))
            last = yield from _hold_last(steps)
            if last is None:
                return
            p_yes = context.session.probability_of_yes()
            is_enough = p_yes > threshold
            if not is_enough and left and may_ask(context.limits, context.session):
                pending += [item for item in self._questions(context) if item.casefold() not in asked]
            asked |= {item.casefold() for item in pending}
            if len(pending) > self._follow_ups:
                chance.shuffle(pending)
            may_go_on = not is_enough and left
            wanted, pending = (pending[: self._follow_ups], pending[self._follow_ups :]) if may_go_on else ([], [])
            stop = None if wanted else StopReason.ANSWERABLE if is_enough else StopReason.EXHAUSTED
            yield (replace(last, p_yes=p_yes, stop=stop, reason=" ".join(wanted) or last.reason),)
            if stop is not None:
                return
            steps = iter(())

    def _prime(self, question: str, tree: ReportTree, context: ReadingContext, chance: random.Random) -> list[Chosen]:
        """Return the reports nearest to a hypothetical answer, or to the question, that fit a quarter of the window."""
        wanted = self._write_hypothetical(tree, context, chance) or question
        nearest = tree.rank_reports(wanted, tree.cut(wanted, _COMPARED_TOKENS))[: self._reports]
        room = context.session.tokens_left // 4
        chosen: list[Chosen] = []
        for report, cosine in nearest:
            if cost(report) <= room:
                chosen.append(Chosen(report, max(cosine, 0.0), "similarity", via=report.title))
                room -= cost(report)
        return chosen

    def _write_hypothetical(self, tree: ReportTree, context: ReadingContext, chance: random.Random) -> str:
        """Return the model's hypothetical answer in the form of some report; empty if it cannot be asked."""
        if not may_ask(context.limits, context.session):
            return ""
        template = chance.choice(sorted(tree.reports, key=lambda report: report.key))
        request = _HYPOTHETICAL.format(template=f"{template.title}: {as_line(template.text)}")
        try:
            return as_line(context.session.reply(request, max_tokens=_HYPOTHETICAL_TOKENS))
        except WindowExceeded:
            return ""

    def _questions(self, context: ReadingContext) -> list[str]:
        try:
            reply = ask(
                context.session,
                _FOLLOW_UPS.format(most=self._follow_ups),
                max_tokens=_REPLY_TOKENS,
                is_usable=lambda text: bool(parse_questions(text)),
                retries=0,
            )
        except WindowExceeded:
            return []
        return parse_questions(reply)[: self._follow_ups]


class _FollowUps:
    """Searches for the questions of one reading.

    Attributes:
        seen: ids of the nodes that were read.
    """

    def __init__(self, tree: ReportTree, context: ReadingContext, budget: LocalBudget) -> None:
        self._tree = tree
        self._context = context
        self._elements = ElementContext(context)
        self._budget = budget
        self.seen: set[str] = set()

    def read(self, question: str) -> Iterator[tuple[Step, ...]]:
        """Read the unread nodes of a local search for a question, or without elements its best unread segments."""
        context = self._context
        if self._elements:
            budget = replace(self._budget, tokens=min(self._budget.tokens, context.session.tokens_left))
            found = choose_nodes(question, self._tree, self._elements, context, budget)
            new = [replace(item, via=question) for item in found if item.node.id not in self.seen]
        else:
            hits = context.search.find(question, k=_SEGMENTS + len(self.seen), documents=context.documents)
            unread = [hit for hit in hits if hit.segment.id not in self.seen][:_SEGMENTS]
            new = [Chosen(hit.segment, hit.score, via=question) for hit in unread]
        self.seen |= {item.node.id for item in new}
        yield from read_in_order(new, context, ended=None)


def _hold_last(steps: Iterator[tuple[Step, ...]]) -> Generator[tuple[Step, ...], None, Step | None]:
    """Yield all steps but the last, one at a time, and return the last step, or None if there are no steps."""
    last: Step | None = None
    for (step,) in steps:
        if last is not None:
            yield (last,)
        last = step
    return last
