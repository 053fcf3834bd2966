"""GraphRAG's global search: rate the findings of the reports on all communities, and answer from the best findings.

It knows graph and session by their contracts. Invariants: the model is not asked more often than the limits allow; only
findings of reports are read, word for word, with the spans that support them.

Map: the model sees the findings in batches, in an order drawn by a seed. It replies with the numbers of helpful
findings and a rating from 0 to 100 each. Reduce: findings without a rating are dropped, and the others are read, best
rating first. Differences from the paper: the model does not rewrite the points but picks findings by number, because
small models do that reliably, and each finding brings its spans. If the reply has no numbers, the embedder's cosine is
the rating. The token budget determines the levels that are read, where the paper chooses one level. With ``dynamic``,
reports are chosen from the root down (the released code's dynamic selection).

Source: GraphRAG (arXiv 2404.16130), section 3.1.6.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from memgraph_rag.contracts import ReadingContext
from memgraph_rag.errors import WindowExceeded
from memgraph_rag.lexical.replies import numbers_in
from memgraph_rag.strategies.reflection import ask
from memgraph_rag.strategies.token_budget import may_ask
from memgraph_rag.systems.graphrag.report_tree import Chosen, ReportTree, read_by_search, read_chosen
from memgraph_rag.types import Finding, Overview, Step, StopReason, as_line

__all__ = ["GraphragGlobal"]

_REPLY_TOKENS = 64
_MOST_RATING = 100
_UNRATED = 50  # the rating of a number without a rating
_LEAST_YES = 0.5
# The request has no example, because a 0.5B model repeated the numbers of the example.
_WHICH = (
    "These statements were taken from reports:\n{statements}\n\nWhich of them help to answer the question? Reply with "
    "their numbers, each followed by a colon and a rating from 1 to 100 of how much it helps, or with the word None."
)
_IS_ABOUT = "A report is called “{title}” and says: {text}\n\nDoes it help to answer the question? Reply Yes or No."


@dataclass(frozen=True, slots=True)
class _Rated:
    report: Overview
    finding: Finding
    rating: int
    cosine: float
    """Cosine to the question. It orders findings of equal ratings, which small models often give."""


class GraphragGlobal:
    """A strategy that reads the best rated findings of the reports on all communities.

    Args:
        most_tokens: most tokens of the findings that are read.
        batch_tokens: most tokens of the reports that are rated at once.
        most_batches: most batches, each of which is one request to the model.
        dynamic: whether reports are chosen from the root down by P(Yes), in place of whole levels.
        most_judged: most reports that are judged by P(Yes), with ``dynamic``.
        seed: seed of the order in which reports are rated.
    """

    name = "graphrag_global"
    requires = ("communities",)
    follows_paper = True

    def __init__(
        self,
        *,
        most_tokens: int = 2048,
        batch_tokens: int = 1500,
        most_batches: int = 8,
        dynamic: bool = False,
        most_judged: int = 32,
        seed: int = 86,
    ) -> None:
        self._most_tokens = most_tokens
        self._batch_tokens = batch_tokens
        self._most_batches = most_batches
        self._dynamic = dynamic
        self._most_judged = most_judged
        self._seed = seed

    def read(self, question: str, context: ReadingContext) -> Iterator[tuple[Step, ...]]:
        """Yield one step for each report with findings that are read; see ``Strategy.read``.

        The report of the best rated finding comes first. If the model cannot be asked, or replies without numbers, the
        cosine to the question is the rating. Without reports, or if no report bears on the question, it reads the
        results of a search.
        """
        tree = ReportTree(context)
        if not tree:
            yield from read_by_search(question, context, tree.note)
            return
        room = min(self._batch_tokens, context.session.tokens_left // 2)
        reports = self._descended(tree, context) if self._dynamic else tree.cut(question, room * self._most_batches)
        rated = [item for batch in self._batches(reports, room) for item in _rated(question, batch, context)]
        chosen = self._reduced(rated, context)
        if not chosen:
            yield from read_by_search(question, context, "no report bears on the question; read by search instead")
            return
        yield from read_chosen(chosen, context, reason=tree.note, ended=StopReason.EXHAUSTED)

    def _descended(self, tree: ReportTree, context: ReadingContext) -> list[Overview]:
        """Return the lowest reports that the model calls helpful, and reports that it could not be asked about."""
        chosen: list[Overview] = []
        frontier, judged = list(tree.roots), 0
        while frontier:
            report = frontier.pop(0)
            is_asked = judged < self._most_judged and may_ask(context.limits, context.session)
            if is_asked and _p_yes(report, context) < _LEAST_YES:
                judged += 1
                continue
            judged += is_asked
            below = tree.below(report) if is_asked else []
            frontier += below
            if not below:
                chosen.append(report)
        return chosen or tree.roots

    def _batches(self, reports: Sequence[Overview], room: int) -> list[list[Overview]]:
        """The reports in the order of the seed, as many together as fit; where there are too many, the best rated."""
        by_rating = sorted(reports, key=lambda report: (-report.rating, report.key))
        kept: list[Overview] = []
        tokens = 0
        for report in by_rating:
            if kept and tokens + report.tokens > room * self._most_batches:
                break
            kept.append(report)
            tokens += report.tokens
        order = np.random.default_rng(self._seed).permutation(len(kept)).tolist()
        batches: list[list[Overview]] = []
        left = 0
        for report in (kept[place] for place in order):
            if not batches or report.tokens > left:
                batches.append([])
                left = room
            batches[-1].append(report)
            left -= report.tokens
        return batches[: self._most_batches]

    def _reduced(self, rated: Sequence[_Rated], context: ReadingContext) -> list[Chosen]:
        """The reports of which findings are read, that of the best rated one first, within the tokens there are."""
        room = min(self._most_tokens, context.session.tokens_left)
        if context.limits.tokens is not None:
            room = min(room, context.limits.tokens - context.session.usage.prompt_tokens)
        by_report: dict[str, list[_Rated]] = {}
        for item in sorted(rated, key=lambda item: (-item.rating, -item.cosine)):
            by_report.setdefault(item.report.id, []).append(item)
        chosen: list[Chosen] = []
        for items in by_report.values():
            report = items[0].report
            if chosen and report.tokens > room:
                break
            room -= report.tokens
            text = " ".join(item.finding.text for item in items)
            text = text if len(text) <= len(report.text) else report.text
            chosen.append(Chosen(report, items[0].rating / _MOST_RATING, "report", via=report.title, text=text))
        return chosen[: context.limits.nodes]


def _rated(question: str, batch: Sequence[Overview], context: ReadingContext) -> list[_Rated]:
    """Rate the findings of a batch of reports, and return those with a rating above 0."""
    findings = [(report, finding) for report in batch for finding in report.findings]
    if not findings:
        return []
    vectors = context.embedder.embed([question, *(as_line(finding.text) for _, finding in findings)])
    cosines = (vectors[1:] @ vectors[0]).tolist()
    named = numbers_in(_reply(findings, context), len(findings))
    if named is None:
        ratings = {number: round(_MOST_RATING * cosine) for number, cosine in enumerate(cosines, 1)}
    else:
        ratings = {
            number: _UNRATED if rating is None else min(rating, _MOST_RATING) for number, rating in named.items()
        }
    return [
        _Rated(*findings[number - 1], rating, cosines[number - 1]) for number, rating in ratings.items() if rating > 0
    ]


def _reply(findings: Sequence[tuple[Overview, Finding]], context: ReadingContext) -> str:
    if not may_ask(context.limits, context.session):
        return ""
    lines = (f"{number}. {as_line(finding.text)}" for number, (_, finding) in enumerate(findings, 1))
    request = _WHICH.format(statements="\n".join(lines))
    try:
        return ask(
            context.session,
            request,
            max_tokens=_REPLY_TOKENS,
            is_usable=lambda reply: numbers_in(reply, len(findings)) is not None,
            retries=0,
        )
    except WindowExceeded:
        return ""


def _p_yes(report: Overview, context: ReadingContext) -> float:
    """Return the probability that a report helps, by the model, or 1 if the window has no room to ask."""
    try:
        return context.session.judge(_IS_ABOUT.format(title=report.title, text=as_line(report.text)))
    except WindowExceeded:
        return 1.0
