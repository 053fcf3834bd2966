"""Remarks that the model reads with each segment: whether its statement still holds, and the days that its words name.

The module knows the facts of a namespace. Invariant: a segment's text is unchanged; a remark depends on the stored
facts only.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from memgraph_rag.calls.record_list import RecordList
from memgraph_rag.facts.fact_index import FactIndex, group_by_subject, select_within, standings
from memgraph_rag.facts.own_words import own_words
from memgraph_rag.lexical.relative_days import relative_days
from memgraph_rag.types import Evidence, Extent, Node, RelativeDays, Segment, Standing


def write_remarks(index: FactIndex, nodes: Sequence[Node], extent: Extent) -> list[str]:
    """Return a remark for each node, in order: whether its statement still holds, and which days its words name.

    Empty for a node that is no segment with a speaker, and if there is nothing to say: a statement gets a remark
    only if another one within the extent competes with it.
    """
    segments = {node.id: node for node in nodes if isinstance(node, Segment) and node.speaker}
    standing_by_id = _find_standings(index, set(segments), extent) if segments else {}
    remarks = {
        segment.id: "; ".join(map(str, filter(None, [standing_by_id.get(segment.id), *find_relative_days(segment)])))
        for segment in segments.values()
    }
    return [remarks.get(node.id, "") for node in nodes]


def _find_standings(index: FactIndex, wanted: Collection[str], extent: Extent) -> dict[str, Standing]:
    """Return the standings of these segments that have rivals, by segment id."""
    known = select_within(index.refresh(), extent)
    voices = {fact.key[:2] for fact in known if fact.segment_id in wanted}  # (user, speaker)
    standing_by_id: dict[str, Standing] = {}
    for facts in group_by_subject(fact for fact in known if fact.key[:2] in voices).values():
        if len(facts) < 2 or not any(fact.segment_id in wanted for fact in facts):
            continue
        for (segment_id, _), standing in standings(facts).items():
            if segment_id in wanted and standing.rivals:
                standing_by_id[segment_id] = standing
    return standing_by_id


def find_relative_days(segment: Segment) -> tuple[RelativeDays, ...]:
    """Return the days that a person's own words in a segment name relatively ("last Friday"), in order.

    Empty for a machine's turn, a text without a speaker, and a segment without a time.
    """
    if not segment.speaker:
        return ()
    (words,) = own_words([segment])
    return relative_days(words, segment.time)


def add_days(evidence: Sequence[Evidence]) -> RecordList[Evidence]:
    """Return all of the evidence, in order, each with the days that its words name relatively in ``days``."""
    return RecordList(
        replace(item, days=days) if (days := find_relative_days(item.segment)) else item for item in evidence
    )
