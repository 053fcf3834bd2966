"""What is said of a segment beside its text: whether a statement still holds, and the days that its words name.

It knows the facts of a namespace. Invariant: a segment's text stays as it is; a remark follows from what is stored now.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from memgraph_rag.calls.record_list import RecordList
from memgraph_rag.facts.fact_index import FactIndex, by_subject, standings, within
from memgraph_rag.facts.own_words import own_words
from memgraph_rag.lexical.relative_days import relative_days
from memgraph_rag.types import Evidence, Extent, Node, RelativeDays, Segment, Standing

__all__ = ["Remarks", "days_in", "with_days"]


class Remarks:
    """Tells what to read beside segments."""

    def __init__(self, facts: FactIndex) -> None:
        self._facts = facts

    def of(self, nodes: Sequence[Node], extent: Extent) -> list[str]:
        """A remark on each node, empty where there is nothing to say; statements within the extent count."""
        segments = {node.id: node for node in nodes if isinstance(node, Segment) and node.speaker}
        stood = self._standings(set(segments), extent) if segments else {}
        return [
            _remark(stood.get(node.id), days_in(segments[node.id])) if node.id in segments else "" for node in nodes
        ]

    def _standings(self, wanted: Collection[str], extent: Extent) -> dict[str, Standing]:
        """How these segments stand, where another statement is beside theirs."""
        known = within(self._facts.refresh(), extent)
        stood: dict[str, Standing] = {}
        for facts in by_subject(known).values():
            if len(facts) < 2 or not any(fact.segment_id in wanted for fact in facts):
                continue
            for (segment_id, _), standing in standings(facts).items():
                if segment_id in wanted and standing.rivals:
                    stood[segment_id] = standing
        return stood


def days_in(segment: Segment) -> tuple[RelativeDays, ...]:
    """The days that a person's own words name relatively, as they were stored beside its turn."""
    (words,) = own_words([segment])
    return relative_days(words, segment.time)


def with_days(evidence: Sequence[Evidence]) -> RecordList[Evidence]:
    """The evidence with the days that its words name."""
    return RecordList(replace(item, days=days) if (days := days_in(item.segment)) else item for item in evidence)


def _remark(standing: Standing | None, days: Sequence[RelativeDays]) -> str:
    return "; ".join([*([str(standing)] if standing else []), *map(str, days)])
