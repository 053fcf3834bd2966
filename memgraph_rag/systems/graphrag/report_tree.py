"""The reports on the communities of a memory, as the strategies of GraphRAG read them.

It knows the graph by its contract. Invariant: with a scope, no report is there that rests on anything else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from memgraph_rag.contracts import ReadingContext
from memgraph_rag.errors import WindowExceeded
from memgraph_rag.strategies.nearest_overviews import nearest_overviews
from memgraph_rag.strategies.node_lines import NodeLines
from memgraph_rag.strategies.top_k import TopK
from memgraph_rag.types import Node, Overview, Step, StopReason

__all__ = ["Chosen", "ReportTree", "read_by_search", "read_chosen"]

_LAYER = "communities"
_SEARCHED = 10  # segments that are read where there are no reports


class ReportTree:
    """The reports, and which lie below which.

    Args:
        context: whose documents are the scope.
    """

    def __init__(self, context: ReadingContext) -> None:
        self._context = context
        self.reports = context.graph.overviews(_LAYER, documents=context.documents)
        by_id = {report.id: report for report in self.reports}
        self._below: dict[str, list[Overview]] = {}
        upper = [report.id for report in self.reports if report.level > 1]
        for edge in context.graph.successors(upper) if upper else []:
            if edge.target_id in by_id:
                self._below.setdefault(edge.source_id, []).append(by_id[edge.target_id])
        under = {report.id for reports in self._below.values() for report in reports}
        self.roots = [report for report in self.reports if report.id not in under]
        self._lacking = _lacking(self.reports, context)
        self._cosines: dict[str, float] = {}

    def __bool__(self) -> bool:
        return bool(self.reports)

    def below(self, report: Overview) -> list[Overview]:
        """The reports on the communities that one consists of; none below the lowest."""
        return self._below.get(report.id, [])

    def cut(self, question: str, most_tokens: int) -> list[Overview]:
        """Reports that together take at most so many tokens, as low as these allow, none above another.

        They speak of every community that has a report, if the highest do fit: level by level, reports give way to
        those below them as long as these fit, the nearest to the question first. Of highest reports that do not all
        fit, the nearest are kept. A report over all others is not one of them: the communities right below it are
        often too many.
        """
        level = self.roots
        while len(level) == 1 and self.below(level[0]):
            level = self.below(level[0])
        kept = self._fitting(question, level, lambda report: report.tokens, most_tokens)
        if len(kept) < len(level):
            return kept
        cut = {report.id: report for report in level}
        room = most_tokens - _tokens(level)
        while level:
            split = self._fitting(question, [report for report in level if self.below(report)], self._gain, room)
            room -= sum(map(self._gain, split))
            level = [lower for report in split for lower in self.below(report)]
            for report in split:
                del cut[report.id]
            cut |= {report.id: report for report in level}
        return list(cut.values())

    def _gain(self, report: Overview) -> int:
        """How many tokens more than a report those right below it take."""
        return _tokens(self.below(report)) - report.tokens

    def _fitting(
        self, question: str, reports: Sequence[Overview], tokens: Callable[[Overview], int], room: int
    ) -> list[Overview]:
        """These reports; where together they do not fit, those that do, the nearest to the question first."""
        if sum(map(tokens, reports)) <= room:
            return list(reports)
        kept: list[Overview] = []
        for report, _ in self.nearest(question, reports):
            if tokens(report) <= room:
                kept.append(report)
                room -= tokens(report)
        return kept

    def nearest(self, question: str, reports: Sequence[Overview]) -> list[tuple[Overview, float]]:
        """Reports with their cosines to the one question of this reading, nearest first; each is embedded once."""
        new = [report for report in reports if report.id not in self._cosines]
        self._cosines |= {report.id: cosine for report, cosine in nearest_overviews(question, new, self._context)}
        known = ((report, self._cosines[report.id]) for report in reports if report.id in self._cosines)
        return sorted(known, key=lambda pair: (-pair[1], pair[0].key))

    @property
    def note(self) -> str:
        """What a reader must know of the reports; empty where they speak of all documents."""
        if not self.reports:
            return "no community is known: deepen looks for them (few names have none); read by search instead"
        return f"{self._lacking} documents are in no community: deepen looks for them" if self._lacking else ""


@dataclass(frozen=True, slots=True)
class Chosen:
    """A node that is to be read.

    Attributes:
        source: of the score.
        text: what is read of it, no longer than its own; None is all.
    """

    node: Node
    score: float
    source: str
    via: str = ""
    text: str | None = None


def read_chosen(
    chosen: Iterable[Chosen], context: ReadingContext, *, reason: str = "", ended: StopReason | None
) -> Iterator[tuple[Step, ...]]:
    """One step a node, as far as the window holds them.

    Args:
        reason: of the first step.
        ended: why the last one is the last; None where reading goes on.
    """
    lines, before = NodeLines(context), None
    waiting = list(chosen)
    for number, item in enumerate(waiting, 1):
        texts = None if item.text is None else [item.text]
        try:
            (attention,) = context.session.append(lines.of([item.node], after=before, texts=texts)).tolist()
        except WindowExceeded:
            return
        before = item.node
        yield (
            Step(
                item.node,
                item.score,
                attention,
                stop=ended if number == len(waiting) else None,
                sources={item.source: item.score},
                via=item.via,
                reason=reason if number == 1 else "",
            ),
        )


def read_by_search(question: str, context: ReadingContext, reason: str) -> Iterator[tuple[Step, ...]]:
    """The best segments of a search; the first step says why."""
    for number, steps in enumerate(TopK(k=_SEARCHED).read(question, context)):
        yield steps if number else (replace(steps[0], reason=reason), *steps[1:])


def _tokens(reports: Iterable[Overview]) -> int:
    return sum(report.tokens for report in reports)


def _lacking(reports: Sequence[Overview], context: ReadingContext) -> int:
    """How many documents of the scope no report rests on."""
    documents = context.documents
    ids = {record.id for record in context.graph.documents()} if documents is None else set(documents)
    return len(ids.difference(*(report.documents for report in reports)))
