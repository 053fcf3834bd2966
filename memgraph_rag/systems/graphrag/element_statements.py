"""The statements for reports on communities of extracted elements: descriptions of entities and relations, and claims.

It knows no model and no database. Invariants: the statements under a community come from its own elements and from
those of the communities below it; the chosen statements fit the room, except that the first relation is always chosen.

Source: GraphRAG (arXiv 2404.16130), section 3.1.5: relations by the summed degrees of their ends, each after its
entities and their claims; where they do not fit, reports of sub-communities replace their elements, the longest first.
Other than the released code, which keeps the first relation of each entity only, all relations take part.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

from memgraph_rag.systems.graphrag.community_sources import Source, Sources
from memgraph_rag.systems.graphrag.community_statements import report_sources
from memgraph_rag.systems.graphrag.community_tree import CommunityTree
from memgraph_rag.systems.graphrag.element_reply import CLAIM, ENTITY, RELATION
from memgraph_rag.systems.graphrag.element_table import ElementTable, ends_of_title
from memgraph_rag.systems.graphrag.entity_graph import EntityGraph
from memgraph_rag.types import Entity, Overview, Relation

_NUMBER_TOKENS = 6  # of a statement's number and newline
_MOST_SPANS = 8  # of one statement


@dataclass(frozen=True, slots=True)
class SummarizedElements:
    """The elements of a memory with their summaries.

    Attributes:
        overviews: the summaries, by id.
        graph: the entities and the strengths of their relations. The id of an entity is that of its summary.
        relations: the relations in the order of the documents. The id of a relation is that of its summary.
        claims: the claims about each entity, by the entity's id.
        outdated: number of the entities and relations without a summary, which are left out, or with one of other
            documents.
    """

    overviews: Mapping[str, Overview]
    graph: EntityGraph
    relations: Sequence[Relation]
    claims: Mapping[str, Sequence[Overview]]
    outdated: int

    @classmethod
    def make(cls, table: ElementTable, summaries: Iterable[Overview]) -> SummarizedElements:
        """Join elements and their summaries by title; claims also by their text."""
        overviews = {overview.id: overview for overview in summaries}
        by_title = {item.title: item for item in overviews.values() if ends_of_title(item.title)[0] != CLAIM}
        entities = {title: by_title[title].id for title in table.entities if title in by_title}
        related: dict[tuple[str, str], float] = {}
        relations: list[Relation] = []
        for title, element in table.relations.items():
            if title in by_title and entities.keys() >= set(element.ends):
                source, target = (entities[end] for end in element.ends)
                related[source, target] = element.strength
                relations.append(Relation(by_title[title].id, source, target, by_title[title].text, ""))
        claims: defaultdict[str, list[Overview]] = defaultdict(list)
        of_claims = {(item.title, item.text): item for item in overviews.values()}
        for claim in table.claims:
            summary = of_claims.get((claim.title, " ".join(claim.descriptions)))
            if summary is not None and claim.ends[0] in entities:
                claims[entities[claim.ends[0]]].append(summary)
        graph = EntityGraph.from_elements((Entity(key, title, title, ()) for title, key in entities.items()), related)
        documents = {title: {*item.documents} for title, item in by_title.items()}
        elements = (*table.entities.values(), *table.relations.values())
        outdated = sum(documents.get(element.title) != element.documents for element in elements)
        return cls(overviews, graph, relations, dict(claims), outdated)


@dataclass(slots=True)
class ElementStatements:
    """The statements of the communities of one tree.

    Args:
        sources: the sources in the segments that state the elements.
        room: most tokens of the statements for one report.
    """

    elements: SummarizedElements
    graph: EntityGraph
    tree: CommunityTree
    sources: Sources
    room: int
    _ranks: dict[str, tuple[int, int]] = field(init=False)

    def __post_init__(self) -> None:
        degrees, places = self.graph.degrees.tolist(), self.graph.place_of
        self._ranks = {
            item.id: (-degrees[places[item.source_id]] - degrees[places[item.target_id]], number)
            for number, item in enumerate(self.elements.relations)
        }

    def list_sources(self, place: int, reports: Mapping[int, Overview]) -> list[Source]:
        """Return the statements for the report on a community: reports below it, entities, claims, relations.

        An entity without a description makes none.
        Reading ends before the first relation that does not fit ``room`` with its entities and their claims.

        Args:
            place: the place of the community in the tree.
            reports: the reports on the communities below it, by place.
        """
        children = self.tree.communities[place].children
        sizes = {child: _tokens(chain.from_iterable(self._bundles(self._relations(child)))) for child in children}
        total = _tokens(chain.from_iterable(self._bundles(self._relations(place))))
        replaced: list[int] = []
        for child in sorted(sizes, key=lambda child: -sizes[child]):
            if total <= self.room:
                break
            replaced.append(child)
            total += reports[child].tokens - sizes[child]
        room = self.room - sum(reports[child].tokens for child in replaced)
        bundles = self._take_fitting(self._relations(place, without=replaced), room)
        fitting = [item for bundle in bundles for item in bundle if item.text != item.title]
        kinds = {
            kind: [item for item in fitting if ends_of_title(item.title)[0] == kind]
            for kind in (ENTITY, CLAIM, RELATION)
        }
        lines = [source for child in replaced for source in report_sources(reports[child])]
        return [*lines, *(self._source(item) for items in kinds.values() for item in items)]

    def _relations(self, place: int, *, without: Sequence[int] = ()) -> list[Relation]:
        """Return the relations of a community and of those below it, those between the highest degrees first."""
        held = list(self.tree.relations.get(place, ()))
        for child in self.tree.communities[place].children:
            if child not in without:
                held += self._relations(child)
        return sorted(held, key=lambda relation: self._ranks[relation.id])

    def _bundles(self, relations: Iterable[Relation]) -> Iterator[list[Overview]]:
        """Yield each relation's summary after those of its entities and their claims that were not yielded before."""
        seen: set[str] = set()
        for relation in relations:
            bundle: list[Overview] = []
            for end in (relation.source_id, relation.target_id):
                if end not in seen:
                    seen.add(end)
                    bundle += [self.elements.overviews[end], *self.elements.claims.get(end, ())]
            yield [*bundle, self.elements.overviews[relation.id]]

    def _take_fitting(self, relations: Iterable[Relation], room: int) -> Iterator[list[Overview]]:
        for number, bundle in enumerate(self._bundles(relations)):
            room -= _tokens(bundle)
            if room < 0 and number:
                return
            yield bundle

    def _source(self, item: Overview) -> Source:
        spans = tuple(span for finding in item.findings for span in finding.spans)
        return Source(f"{item.title}: {item.text}", spans[:_MOST_SPANS], 0.0)


def _tokens(summaries: Iterable[Overview]) -> int:
    return sum(item.tokens + _NUMBER_TOKENS for item in summaries)
