"""The summarised elements around a question: entities near it, their relations, claims, reports and segments.

It knows the graph by its contract. Invariants: with a scope, only elements that are based on documents of the scope
alone take part; the order of everything is that of the released code's local search.

Source: GraphRAG, local search of the released code. Other than there, of more than 256 entities only those are compared
with the question that it names, or that the best segments of a search name: descriptions have no stored vectors.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from memgraph_rag.contracts import ReadingContext, query_vectors
from memgraph_rag.systems.graphrag.element_reply import CLAIM, ENTITY, RELATION
from memgraph_rag.systems.graphrag.element_summaries import ELEMENT_SUMMARIES
from memgraph_rag.systems.graphrag.element_table import count_degrees, ends_of_title
from memgraph_rag.systems.graphrag.report_tree import ReportTree
from memgraph_rag.types import Overview

_MOST_EMBEDDED = 256
_HITS = 20  # segments whose entities are compared with the question
_LOWEST_LEVEL = 2  # of the reports that take part, as released: level 0 is the highest


class ElementContext:
    """The elements of one reading. An instance is false if the memory has no summarised elements."""

    def __init__(self, context: ReadingContext) -> None:
        self._context = context
        by_kind: defaultdict[str, list[Overview]] = defaultdict(list)
        summaries = context.graph.overviews(ELEMENT_SUMMARIES, documents=context.documents)
        for overview in sorted(summaries, key=lambda overview: (overview.title, overview.key)):
            by_kind[ends_of_title(overview.title)[0]].append(overview)
        self._entities, self._relations, self._claims = (by_kind[kind] for kind in (ENTITY, RELATION, CLAIM))
        self._degrees = count_degrees(map(_parse_ends, self._relations))

    def __bool__(self) -> bool:
        return bool(self._entities)

    def rank_entities(self, question: str, *, k: int) -> list[tuple[Overview, float]]:
        """Return the k entities whose names and descriptions are nearest to the question, with their cosines."""
        candidates = self._candidates(question)
        if not candidates:
            return []
        texts = [f"{entity.title}:{entity.text}" for entity in candidates]
        vectors = self._context.embedder.embed(texts)
        cosines = (vectors @ query_vectors(self._context.embedder, [question])[0]).tolist()
        return sorted(zip(candidates, cosines, strict=True), key=lambda pair: (-pair[1], pair[0].title))[:k]

    def list_element_relations(self, entities: Sequence[Overview], *, most: int) -> list[Overview]:
        """Return the relations between these entities, then up to ``most`` to others, each by rank.

        The rank is the summed number of neighbours of both ends. Relations to an entity that is related to several of
        these entities come first, of equal ones those that begin at these entities.
        """
        titles = {entity.title for entity in entities}
        inner = [item for item in self._relations if titles.issuperset(_parse_ends(item))]
        outer = [item for item in self._relations if len(titles.intersection(_parse_ends(item))) == 1]
        links = Counter(end for pair in {frozenset(_parse_ends(item)) for item in outer} for end in pair - titles)
        inner.sort(key=lambda item: -self._rank(item))
        outer.sort(key=lambda item: _parse_ends(item)[0] not in titles)
        outer.sort(key=lambda item: (-max(links[end] for end in _parse_ends(item)), -self._rank(item)))
        return inner + outer[:most]

    def list_claims(self, entities: Sequence[Overview]) -> list[Overview]:
        """Return the claims about these entities, by entity."""
        return [claim for entity in entities for claim in self._claims if _parse_ends(claim) == (entity.title,)]

    def list_reports(self, entities: Sequence[Overview], tree: ReportTree) -> list[Overview]:
        """Return the reports of levels 0 to 2, first those on most of these entities; of equal ones, the best rated."""
        ids = {entity.id for entity in entities}
        lowest = [report.id for report in tree.reports if not tree.list_parts(report)]
        matches: Counter[str] = Counter()
        for edge in self._context.graph.successors(lowest) if lowest else []:
            if edge.target_id in ids:
                matches.update(tree.line(edge.source_id)[: _LOWEST_LEVEL + 1])
        known = [report for report in tree.reports if matches[report.id]]
        return sorted(known, key=lambda report: (-matches[report.id], -report.rating, report.key))

    def list_segment_ids(self, entities: Sequence[Overview]) -> list[str]:
        """Return the segments of these entities, by entity, those with most relations of the entity first."""
        ids: dict[str, None] = {}
        for entity in entities:
            related = (item for item in self._relations if entity.title in _parse_ends(item))
            counts = Counter(segment_id for item in related for segment_id in _segment_ids(item))
            ids |= dict.fromkeys(sorted(_segment_ids(entity), key=lambda key: -counts[key]))
        return list(ids)

    def _candidates(self, question: str) -> list[Overview]:
        if len(self._entities) <= _MOST_EMBEDDED:
            return self._entities
        named = set(self._context.search.find_named_entities(question))
        hits = self._context.search.find(question, k=_HITS, documents=self._context.documents)
        segment_ids = {hit.segment.id for hit in hits}
        near = (item for item in self._entities if named & {*item.entities} or segment_ids & {*_segment_ids(item)})
        return list(near)[:_MOST_EMBEDDED]

    def _rank(self, relation: Overview) -> int:
        return sum(self._degrees[end] for end in _parse_ends(relation))


def _parse_ends(item: Overview) -> tuple[str, ...]:
    return ends_of_title(item.title)[1]


def _segment_ids(item: Overview) -> Iterator[str]:
    for finding in item.findings:
        for span in finding.spans:
            yield span.segment_id
