"""The reports on the communities of a memory, as a tree for the strategies of GraphRAG.

It knows the graph by its contract. Invariant: with a scope, only reports that are based on documents of the scope alone
are read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from memgraph_rag.contracts import ReadingContext
from memgraph_rag.strategies.overviews import nearest_overviews
from memgraph_rag.strategies.top_k import TopK
from memgraph_rag.types import Overview, Step

_LAYER = "communities"
_SEARCHED = 10  # segments to read if there are no reports


class ReportTree:
    """The reports and their hierarchy. An instance is false if there are no reports.

    Args:
        context: the reading context; its documents are the scope.

    Attributes:
        reports: all reports of the scope.
        tops: the highest reports. A single report over all others does not count; its children do.
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
        self._above = {lower.id: upper for upper, lower_ones in self._below.items() for lower in lower_ones}
        self.tops = [report for report in self.reports if report.id not in under]
        while len(self.tops) == 1 and self.list_parts(self.tops[0]):
            self.tops = self.list_parts(self.tops[0])
        self._lacking = _count_lacking(self.reports, context)
        self._cosines: dict[str, float] = {}

    def __bool__(self) -> bool:
        return bool(self.reports)

    def list_parts(self, report: Overview) -> list[Overview]:
        """Return the child reports of a report that are in the scope, by descending weight; empty for a lowest one."""
        return self._below.get(report.id, [])

    def level(self, level: int) -> list[Overview]:
        """Return the reports of a level: 0 is that of the highest communities (the paper's C0), 1 the next one (C1).

        A community without communities below belongs to all lower levels.
        """
        reports = self.tops
        for _ in range(level):
            reports = [lower for report in reports for lower in self.list_parts(report) or [report]]
        return reports

    def line(self, report_id: str) -> list[str]:
        """Return the ids of the reports from the highest one above a report down to the report."""
        line, tops = [report_id], {report.id for report in self.tops}
        while line[-1] not in tops and line[-1] in self._above:
            line.append(self._above[line[-1]])
        return line[::-1]

    def cut(self, question: str, most_tokens: int) -> list[Overview]:
        """Return reports on as low levels as ``most_tokens`` allow. No returned report is above another.

        If all top reports fit, the result covers every community: level by level, reports are replaced by their
        children as long as these fit, the nearest to the question first. If not all top reports fit, the nearest are
        returned.
        """
        level = self.tops
        kept = self._take_fitting(question, level, lambda report: report.tokens, most_tokens)
        if len(kept) < len(level):
            return kept
        cut = {report.id: report for report in level}
        room = most_tokens - _tokens(level)
        while level:
            inner = [report for report in level if self.list_parts(report)]
            split = self._take_fitting(question, inner, self._count_gain, room)
            room -= sum(map(self._count_gain, split))
            level = [lower for report in split for lower in self.list_parts(report)]
            for report in split:
                del cut[report.id]
            cut |= {report.id: report for report in level}
        return list(cut.values())

    def _count_gain(self, report: Overview) -> int:
        """Return how many more tokens the children of a report have than the report."""
        return _tokens(self.list_parts(report)) - report.tokens

    def _take_fitting(
        self, question: str, reports: Sequence[Overview], tokens: Callable[[Overview], int], room: int
    ) -> list[Overview]:
        """Return the reports if they fit together, else those that fit, the nearest to the question first."""
        if sum(map(tokens, reports)) <= room:
            return list(reports)
        kept: list[Overview] = []
        for report, _ in self.rank_reports(question, reports):
            if tokens(report) <= room:
                kept.append(report)
                room -= tokens(report)
        return kept

    def rank_reports(self, question: str, reports: Sequence[Overview]) -> list[tuple[Overview, float]]:
        """Return reports with their cosines to the question, nearest first. Each report is embedded once.

        One call embeds at most 256 reports, those on the most documents first. Others are left out of the result. An
        instance serves one question only.
        """
        new = [report for report in reports if report.id not in self._cosines]
        self._cosines |= {report.id: cosine for report, cosine in nearest_overviews(question, new, self._context)}
        known = ((report, self._cosines[report.id]) for report in reports if report.id in self._cosines)
        return sorted(known, key=lambda pair: (-pair[1], pair[0].key))

    @property
    def note(self) -> str:
        """A note on missing reports for the trace; empty if the reports cover all documents."""
        if not self.reports:
            return "no community is known: deepen looks for them (few names have none); read by search instead"
        return f"{self._lacking} documents are in no community: deepen looks for them" if self._lacking else ""


def read_by_search(question: str, context: ReadingContext, reason: str) -> Iterator[tuple[Step, ...]]:
    """Read up to ten best segments of the hybrid search, one step for each. The first step has ``reason``."""
    for number, steps in enumerate(TopK(k=_SEARCHED).read(question, context)):
        yield steps if number else (replace(steps[0], reason=reason), *steps[1:])


def _tokens(reports: Iterable[Overview]) -> int:
    return sum(report.tokens for report in reports)


def _count_lacking(reports: Sequence[Overview], context: ReadingContext) -> int:
    """Return the number of documents in the scope that no report is based on."""
    documents = context.documents
    ids = {record.id for record in context.graph.documents()} if documents is None else set(documents)
    return len(ids.difference(*(report.documents for report in reports)))
