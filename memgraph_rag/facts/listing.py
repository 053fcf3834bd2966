"""List the statements of people about themselves, each with its place and whether it still holds.

The module knows the facts of a namespace and the graph; it uses no model. Invariant: the quotation of a statement is in
its document now.
"""

from __future__ import annotations

from memgraph_rag.contracts import GraphReader
from memgraph_rag.facts.fact_index import Fact, FactIndex, group_by_subject, select_within, standings
from memgraph_rag.facts.wishes import WISHES
from memgraph_rag.types import Extent, Segment
from memgraph_rag.types.facts import Standing, Statement


def list_statements(index: FactIndex, graph: GraphReader, extent: Extent) -> list[Statement]:
    """Return the statements within an extent by user, speaker and attribute, oldest first; then the wishes.

    A statement that gives up a value appears twice, as in ``group_by_subject``. Values that their speaker denies later
    and deeds that nobody denies are left out.
    """
    known = select_within(index.refresh(), extent)
    listed: list[tuple[Fact, Standing | None]] = []
    for _, facts in sorted(group_by_subject(known).items()):
        by_place = standings(facts)
        ordered = sorted(facts, key=lambda fact: fact.order)
        listed += [(fact, by_place.get((fact.segment_id, fact.index))) for fact in ordered]
    wishes = (fact for fact in known if fact.kind in WISHES)
    listed += [(fact, None) for fact in sorted(wishes, key=lambda fact: (fact.key, -fact.at, fact.index))]
    segment_ids = list(dict.fromkeys(fact.segment_id for fact, _ in listed))
    segments = {node.id: node for node in graph.nodes(segment_ids) if isinstance(node, Segment)}
    keys = {record.id: record.key for record in graph.documents(sorted({fact.document_id for fact, _ in listed}))}
    return [
        _make_statement(fact, standing, segments[fact.segment_id], keys[fact.document_id])
        for fact, standing in listed
        if fact.segment_id in segments and fact.document_id in keys
    ]


def _make_statement(fact: Fact, standing: Standing | None, segment: Segment, document_key: str) -> Statement:
    place = segment.text.find(fact.quote)
    start, length = (segment.start + place, len(fact.quote)) if place >= 0 else (segment.start, len(segment.text))
    user, _, attribute = fact.key
    return Statement(
        fact.kind, user, fact.speaker, attribute, fact.value, fact.quote, fact.said,
        fact.document_id, document_key, start, start + length, standing,
    )  # fmt: skip
