"""GraphRAG's global search: rate what the reports on communities say, and answer from the best points.

It knows graph and session by their contracts. Invariants: the model is not asked more often than the limits allow; a
point has the spans that support its report's findings.

Map: the model sees the reports in batches, in the released code's order. By default it replies with the numbers of
helpful findings and a rating from 0 to 100 each, because small models do that reliably; findings are then read word for
word. With ``points="written"`` it writes key points itself, as in the paper; a point that its report does not bear out
is left out. If the reply has neither, the embedder's cosine is the rating of findings. Reduce: what has the rating 0 is
dropped, the rest is read, best rating first.

Reports are those of one ``level``, or of levels as low as the tokens allow. With ``dynamic``, they are chosen from the
highest level down: the model rates each report from 0 to 5, and where its reply is no number, P(Yes) decides.

Source: GraphRAG (arXiv 2404.16130), section 3.1.6; dynamic selection: the released code.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from memgraph_rag.contracts import ReadingContext, cosine_scale, query_vectors
from memgraph_rag.display import show
from memgraph_rag.errors import SettingsError, WindowExceeded
from memgraph_rag.layers.grounding import share_borne_out
from memgraph_rag.layers.surfaces import words
from memgraph_rag.lexical.replies import parse_numbers, says_none
from memgraph_rag.strategies.flat import Chosen, read_in_order
from memgraph_rag.strategies.reflection import ask
from memgraph_rag.strategies.token_budget import count_room, may_ask
from memgraph_rag.systems.graphrag.report_tree import ReportTree, read_by_search
from memgraph_rag.types import Overview, Step, as_line

_SEED = 86  # of the order in which reports are rated, as released
_REPLY_TOKENS = 64
_POINTS_TOKENS = 512  # released: 1,000 words
_RATING_TOKENS = 8
_MOST_RATING = 100
_UNRATED = 50  # the rating of a number without a rating
_LEAST_YES = 0.5
_LEAST_RATING = 1  # of a report that helps, from 0 to 5, as released
_LOWEST_RESTART = 2  # the lowest level at which dynamic selection begins again, as released
_BORNE_OUT = 0.5
# The request has no example, because a 0.5B model repeated the numbers of the example.
_WHICH = (
    "These statements were taken from reports:\n{statements}\n\nWhich of them help to answer the question? Reply with "
    "their numbers, each followed by a colon and a rating from 1 to 100 of how much it helps, or with the word None."
)
_POINTS = (
    "These are reports:\n{reports}\n\nWrite the key points of these reports that help to answer the question. Each "
    "stands on a line of its own: the number of its report, a colon, a score from 0 to 100 of how important the point "
    "is for the answer, a colon, and the point in full sentences. Write the word None if no report helps."
)
_POINT = re.compile(r"^\W*(\d{1,6})\s*:\s*(\d{1,6})\s*:\s*(\S.*)$", re.MULTILINE)
_IS_ABOUT = "A report is called “{title}” and says: {text}\n\nDoes it help to answer the question? Reply Yes or No."
_HOW_MUCH = (
    "A report is called “{title}” and says: {text}\n\nHow much does it help to answer the question, be it in part? "
    "Reply with a number from 0 (not at all) to 5 (very much) only."
)
_RATING = re.compile(r"\W*([0-5])(?!\d)")


@dataclass(frozen=True, slots=True)
class _Rated:
    """A point: a finding of a report, or what the model wrote of it."""

    report: Overview
    text: str
    rating: int
    cosine: float = 0.0
    """Cosine of a finding to the question. It orders findings of equal ratings, which small models often give."""


class GraphragGlobal:
    """A strategy that reads the best rated findings of the reports on all communities.

    Args:
        most_tokens: most tokens of the points that are read. Released: 12,000.
        batch_tokens: most tokens of the reports that are rated at once. Released: 12,000.
        most_batches: most batches, each of which is one request to the model; of more reports the best rated take part.
            Released: no limit.
        level: 0 to 3 reads the reports of that level of communities (the paper's C0 to C3); None those of levels as low
            as the batches hold. Released: 2.
        points: "picked" has the model name findings, "written" has it write key points. Paper: "written".
        dynamic: whether reports are chosen from the highest level down by the model's rating, in place of a level.
        most_judged: most reports that are rated one by one, with ``dynamic``. Released: no limit.
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
        level: int | None = None,
        points: Literal["picked", "written"] = "picked",
        dynamic: bool = False,
        most_judged: int = 32,
    ) -> None:
        if points not in ("picked", "written"):
            raise SettingsError(
                f'Expected points "picked" or "written", got {show(points)}. Choose one of them.', points=points
            )
        self._most_tokens = most_tokens
        self._batch_tokens = batch_tokens
        self._most_batches = most_batches
        self._level = level
        self._rate, self._reduce = {"picked": (_pick, _choose_reports), "written": (_write, _choose_points)}[points]
        self._dynamic = dynamic
        self._most_judged = most_judged

    def read(self, question: str, context: ReadingContext) -> Iterator[tuple[Step, ...]]:
        """Yield one step for each report with points that are read; see ``Strategy.read``.

        The report of the best rated point comes first; with written points, a report may come again with further ones.
        If the model cannot be asked, or its reply has no point, the cosine to the question is the rating of findings.
        Without reports, or if no report bears on the question, it reads the results of a search.
        """
        tree = ReportTree(context)
        if not tree:
            yield from read_by_search(question, context, tree.note)
            return
        room = min(self._batch_tokens, context.session.tokens_left // 2)
        reports = self._reports(question, tree, room * self._most_batches, context)
        rated = [item for batch in self._batches(reports, room) for item in self._rate(question, batch, context)]
        most_tokens = count_room(context.session, context.limits, self._most_tokens)
        chosen = self._reduce(rated, most_tokens)[: context.limits.nodes]
        if not chosen:
            yield from read_by_search(question, context, "no report bears on the question; read by search instead")
            return
        yield from read_in_order(chosen, context, reason=tree.note)

    def _reports(self, question: str, tree: ReportTree, most_tokens: int, context: ReadingContext) -> list[Overview]:
        if self._dynamic:
            return self._descend(tree, context)
        return tree.cut(question, most_tokens) if self._level is None else tree.level(self._level)

    def _descend(self, tree: ReportTree, context: ReadingContext) -> list[Overview]:
        """Return the reports that help, without those above them, and reports that the model could not be asked about.

        Where none of a level helps and nothing is below, the next level is rated as a whole. If none helps at all, the
        highest reports are returned.
        """
        chosen: dict[str, Overview] = {}
        rated: set[str] = set()
        waiting, level = tree.tops, 0
        while waiting:
            below: list[Overview] = []
            for report in waiting:
                is_asked = len(rated) < self._most_judged and may_ask(context.limits, context.session)
                if is_asked:
                    rated.add(report.id)
                    if _rating(report, context) < _LEAST_RATING:
                        continue
                    below += tree.list_parts(report)
                chosen[report.id] = report
                for above in tree.line(report.id)[:-1]:
                    chosen.pop(above, None)
            waiting, level = below, level + 1
            if not waiting and not chosen and level <= _LOWEST_RESTART:
                waiting = [report for report in tree.level(level) if report.id not in rated]
        return list(chosen.values()) or tree.tops

    def _batches(self, reports: Sequence[Overview], room: int) -> list[list[Overview]]:
        """Return the reports in the order of the seed, as many together as fit; of too many, the best rated.

        In a batch, those on the most documents come first, then the best rated.
        """
        by_rating = sorted(reports, key=lambda report: (-report.rating, report.key))
        kept: list[Overview] = []
        tokens = 0
        for report in by_rating:
            if kept and tokens + report.tokens > room * self._most_batches:
                break
            kept.append(report)
            tokens += report.tokens
        random.Random(_SEED).shuffle(kept)  # noqa: S311 - the released code's order
        batches: list[list[Overview]] = []
        left = 0
        for report in kept:
            if not batches or report.tokens > left:
                batches.append([])
                left = room
            batches[-1].append(report)
            left -= report.tokens
        for batch in batches:
            batch.sort(key=lambda report: (-len(report.documents), -report.rating))
        return batches[: self._most_batches]


def _pick(question: str, batch: Sequence[Overview], context: ReadingContext) -> list[_Rated]:
    """Return the findings of a batch of reports that the model rates above 0, or else all by their cosines."""
    findings = [(report, as_line(finding.text)) for report in batch for finding in report.findings]
    if not findings:
        return []
    vectors = context.embedder.embed([text for _, text in findings])
    cosines = (vectors @ query_vectors(context.embedder, [question])[0]).tolist()
    scale = cosine_scale(context.embedder)
    named = parse_numbers(_name_findings([text for _, text in findings], context), len(findings))
    if named is None:
        ratings = {number: round(_MOST_RATING * scale.read(cosine)) for number, cosine in enumerate(cosines, 1)}
    else:
        ratings = {
            number: _UNRATED if rating is None else min(rating, _MOST_RATING) for number, rating in named.items()
        }
    return [
        _Rated(*findings[number - 1], rating, cosines[number - 1]) for number, rating in ratings.items() if rating > 0
    ]


def _name_findings(findings: Sequence[str], context: ReadingContext) -> str:
    if not may_ask(context.limits, context.session):
        return ""
    request = _WHICH.format(statements="\n".join(f"{number}. {text}" for number, text in enumerate(findings, 1)))
    try:
        return ask(
            context.session,
            request,
            max_tokens=_REPLY_TOKENS,
            is_usable=lambda reply: parse_numbers(reply, len(findings)) is not None,
            retries=0,
        )
    except WindowExceeded:
        return ""


def _write(question: str, batch: Sequence[Overview], context: ReadingContext) -> list[_Rated]:
    """Return the key points that the model writes of a batch of reports and scores above 0, in its order.

    A point that its report does not bear out is left out. Without a reply in the right form, findings are picked.
    """
    reply = ""
    lines = (f"{number}. {report.title}: {as_line(report.text)}" for number, report in enumerate(batch, 1))
    try:
        if may_ask(context.limits, context.session):
            request = _POINTS.format(reports="\n".join(lines))
            reply = context.session.reply(request, max_tokens=_POINTS_TOKENS)
    except WindowExceeded:
        reply = ""
    points = [(int(match[1]), int(match[2]), match[3].strip()) for match in _POINT.finditer(reply)]
    if not points and not says_none(reply):
        return _pick(question, batch, context)
    known = [(batch[number - 1], score, text) for number, score, text in points if 1 <= number <= len(batch)]
    return [
        _Rated(report, text, min(score, _MOST_RATING))
        for report, score, text in known
        if score > 0 and share_borne_out(text, (), words(f"{report.title} {report.text}")) >= _BORNE_OUT
    ]


def _choose_reports(rated: Sequence[_Rated], room: int) -> list[Chosen]:
    """Return the reports whose findings are read, that of the best rated one first; a report counts as a whole."""
    by_report: dict[str, list[_Rated]] = {}
    for item in sorted(rated, key=lambda item: (-item.rating, -item.cosine)):
        by_report.setdefault(item.report.id, []).append(item)
    chosen: list[Chosen] = []
    for items in by_report.values():
        report = items[0].report
        if chosen and report.tokens > room:
            break
        room -= report.tokens
        chosen.append(_choose_part(items))
    return chosen


def _choose_points(rated: Sequence[_Rated], room: int) -> list[Chosen]:
    """Return the points in the order of their scores, ties in the order of the batches, up to the first too long one.

    Points of one report that follow each other are read together.
    """
    groups: list[list[_Rated]] = []
    for item in sorted(rated, key=lambda item: (-item.rating, -item.cosine)):
        room -= -(-item.report.tokens * len(item.text) // max(len(item.report.text), 1))
        if groups and room < 0:
            break
        last = groups[-1] if groups else []
        is_same = bool(last) and last[0].report.id == item.report.id
        if is_same and sum(len(other.text) + 1 for other in last) + len(item.text) <= len(item.report.text):
            last.append(item)
        else:
            groups.append([item])
    return [_choose_part(items) for items in groups]


def _choose_part(items: Sequence[_Rated]) -> Chosen:
    report, text = items[0].report, " ".join(item.text for item in items)
    text = text if len(text) <= len(report.text) else report.text
    return Chosen(report, items[0].rating / _MOST_RATING, "report", via=report.title, text=text)


def _rating(report: Overview, context: ReadingContext) -> int:
    """Return the model's rating of a report from 0 to 5; by P(Yes), 0 or 1, if its reply is no number.

    The rating is 1 if the window has no room to ask.
    """
    parts = {"title": report.title, "text": as_line(report.text)}
    try:
        reply = context.session.reply(_HOW_MUCH.format(**parts), max_tokens=_RATING_TOKENS)
        if (rating := _RATING.match(reply)) is not None:
            return int(rating[1])
        return int(context.session.judge(_IS_ABOUT.format(**parts)) >= _LEAST_YES)
    except WindowExceeded:
        return _LEAST_RATING
