"""The reports on the communities of a memory, as the strategies of GraphRAG read them.

It knows the graph by its contract. Invariant: with a scope, no report is there that rests on anything else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from memgraph_rag.contracts import ReadingContext
from memgraph_rag.errors import WindowExceeded
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

    def __bool__(self) -> bool:
        return bool(self.reports)

    def below(self, report: Overview) -> list[Overview]:
        """The reports on the communities that one consists of; none below the lowest."""
        return self._below.get(report.id, [])

    def cut(self, most_tokens: int) -> list[Overview]:
        """The lowest reports that together take so many tokens and speak of all communities; the roots in any case."""
        level = self.roots
        while True:
            below = [self.below(report) or [report] for report in level]
            lower = list(chain.from_iterable(below))
            if len(lower) == len(level) or sum(report.tokens for report in lower) > most_tokens:
                return level
            level = lower

    @property
    def note(self) -> str:
        """What a reader must know of the reports; empty where they speak of all documents."""
        if not self.reports:
            return "no community is known: deepen builds the layer communities; read by search instead"
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


def _lacking(reports: Sequence[Overview], context: ReadingContext) -> int:
    """How many documents of the scope no report rests on."""
    documents = context.documents
    ids = {record.id for record in context.graph.documents()} if documents is None else set(documents)
    return len(ids.difference(*(report.documents for report in reports)))
