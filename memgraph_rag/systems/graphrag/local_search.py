"""GraphRAG's local search: read reports, relations and segments about the entities of a question.

It knows graph, search and session by their contracts. Invariants: no node is read twice; each kind stays within its
share of tokens; no model decides what to read.

In a memory with summarised elements, the entities are those whose descriptions are nearest to the question, and what is
read of them is what the released code reads: reports, descriptions of entities and relations, claims, and segments.
Otherwise the entities are those that the question names, then those that the best segments of a search name; read are
reports on their lowest communities, segments that state their relations, and segments that name one of them.

Source: GraphRAG, local search of the released code (the paper, arXiv 2404.16130, has global search alone).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from memgraph_rag.contracts import ReadingContext, query_vectors
from memgraph_rag.strategies.flat import Chosen, read_in_order
from memgraph_rag.strategies.token_budget import cost, count_room, take_fitting
from memgraph_rag.systems.graphrag.element_context import ElementContext
from memgraph_rag.systems.graphrag.report_tree import ReportTree, read_by_search
from memgraph_rag.types import Neighbour, Node, Overview, Step

_HITS = 20  # segments whose entities are taken
_CANDIDATES = 64  # of each kind
_RELATIONS = 10  # to other entities, for each entity that takes part


@dataclass(frozen=True, slots=True)
class LocalBudget:
    """The limits of the nodes that a local search reads.

    Attributes:
        tokens: in all.
        text_share, report_share: shares of segments and reports. Elements, or segments that state relations, get the
            rest.
        entities: most entities that take part.
    """

    tokens: int
    text_share: float = 0.5
    report_share: float = 0.15
    entities: int = 20


class GraphragLocal:
    """A strategy that reads reports, relations and segments about the entities of a question.

    Args:
        most_tokens: most tokens to read in all. Released: 12,000.
        entities: most entities that take part. Released: 20, which are 10 with its oversampling.
    """

    name = "graphrag_local"
    requires = ("communities",)
    follows_paper = True

    def __init__(self, *, most_tokens: int = 2048, entities: int = 20) -> None:
        self._budget = LocalBudget(most_tokens, entities=entities)

    def read(self, question: str, context: ReadingContext) -> Iterator[tuple[Step, ...]]:
        """Yield one step for each report, element and segment about the entities of the question.

        Reports come first, then elements, or segments that state relations, then segments that name the entities.
        Without reports or entities it reads the results of a search. See ``Strategy.read``.
        """
        tree = ReportTree(context)
        budget = replace(self._budget, tokens=count_room(context.session, context.limits, self._budget.tokens))
        chosen = choose_nodes(question, tree, ElementContext(context), context, budget) if tree else []
        if not chosen:
            note = "no entity of this memory has to do with the question; read by search instead"
            yield from read_by_search(question, context, note if tree else tree.note)
            return
        kept = chosen[: context.limits.nodes]
        yield from read_in_order(kept, context, reason=tree.note)


def choose_nodes(
    question: str, tree: ReportTree, elements: ElementContext, context: ReadingContext, budget: LocalBudget
) -> list[Chosen]:
    """Return the nodes that a local search reads for a question, in order; empty if no entity fits the question."""
    if elements:
        return _choose_elements(question, tree, elements, context, budget)
    entity_ids = find_entities(question, context, most=budget.entities)
    if not entity_ids:
        return []
    chosen: dict[str, Chosen] = {}
    (vector,) = query_vectors(context.embedder, [question])
    _take(chosen, _reports(tree, entity_ids), int(budget.report_share * budget.tokens))
    neighbours = context.graph.expand(entity_ids, vector=vector, k=_CANDIDATES, documents=context.documents)
    stating_share = 1 - budget.text_share - budget.report_share
    _take(chosen, _list_stating(neighbours, context), int(stating_share * budget.tokens))
    hits = context.graph.segments_naming(entity_ids, vector=vector, k=_CANDIDATES, documents=context.documents)
    nodes = {node.id: node for node in context.graph.nodes([hit.node_id for hit in hits])}
    naming = (Chosen(nodes[hit.node_id], hit.score) for hit in hits if hit.node_id in nodes)
    _take(chosen, naming, budget.tokens - sum(cost(item.node) for item in chosen.values()))
    return list(chosen.values())


def _choose_elements(
    question: str, tree: ReportTree, elements: ElementContext, context: ReadingContext, budget: LocalBudget
) -> list[Chosen]:
    """Return the nodes of each kind up to the first one that exceeds the kind's share, as released."""
    scored = elements.rank_entities(question, k=budget.entities)
    scores = {entity.id: max(cosine, 0.0) for entity, cosine in scored}
    entities = [entity for entity, _ in scored]
    reports = _take_fitting(elements.list_reports(entities, tree), int(budget.report_share * budget.tokens))
    room = int((1 - budget.report_share - budget.text_share) * budget.tokens)
    described = _take_fitting([entity for entity in entities if entity.text != entity.title], room)
    room -= sum(map(cost, described))
    related: list[Overview] = []
    for number in range(1, len(entities) + 1):
        relations = elements.list_element_relations(entities[:number], most=_RELATIONS * number)
        more = [*relations, *elements.list_claims(entities[:number])]
        if sum(map(cost, more)) > room:
            break
        related = more
    nodes = context.graph.nodes(elements.list_segment_ids(entities))
    texts = take_fitting(nodes, int(budget.text_share * budget.tokens))
    return [
        *(Chosen(report, source="report", via=report.title) for report in reports),
        *(Chosen(entity, scores[entity.id], "similarity", via=entity.title) for entity in described),
        *(Chosen(item, source="relation", via=item.title) for item in related),
        *map(Chosen, texts),
    ]


def _take_fitting(overviews: Sequence[Overview], tokens: int) -> Sequence[Overview]:
    return overviews[: len(take_fitting(overviews, tokens))]


def find_entities(question: str, context: ReadingContext, *, most: int) -> list[str]:
    """Return the ids of the entities that a question names, then of those in the best segments, best first.

    Each id comes once, and at most ``most`` come in all.
    """
    named = context.search.find_named_entities(question)
    hits = context.search.find(question, k=_HITS, documents=context.documents)
    mentioned = context.graph.list_mentioned_entities([hit.segment.id for hit in hits])
    scores: Counter[str] = Counter()
    for place, hit in enumerate(hits, 1):
        for entity_id in mentioned.get(hit.segment.id, ()):
            scores[entity_id] += 1 / place  # pyright: ignore[reportArgumentType] - a Counter holds floats too
    by_score = sorted(scores, key=lambda entity_id: (-scores[entity_id], entity_id))
    return list(dict.fromkeys([*named, *by_score]))[:most]


def _reports(tree: ReportTree, entity_ids: Sequence[str]) -> Iterator[Chosen]:
    """Yield the reports on the lowest communities of these entities, by the ranks of the entities, then by rating."""
    weights = {entity_id: 1 / rank for rank, entity_id in enumerate(entity_ids, 1)}
    scored = [
        (sum(weights.get(member, 0.0) for member in report.entities), report)
        for report in tree.reports
        if report.level == 1
    ]
    for score, report in sorted(scored, key=lambda item: (-item[0], -item[1].rating, item[1].key)):
        if score:
            yield Chosen(report, score, "report", via=report.title)


def _list_stating(neighbours: Sequence[Neighbour], context: ReadingContext) -> Iterator[Chosen]:
    """Yield the segments that state these relations."""
    nodes: dict[str, Node] = {
        node.id: node for node in context.graph.nodes([item.relation.segment_id for item in neighbours])
    }
    for item in neighbours:
        if (node := nodes.get(item.relation.segment_id)) is not None:
            yield Chosen(node, item.score, "relation", via=item.relation.description)


def _take(chosen: dict[str, Chosen], candidates: Iterable[Chosen], room: int) -> None:
    """Add the candidates that are new and still fit to ``chosen``."""
    for item in candidates:
        if item.node.id not in chosen and cost(item.node) <= room:
            chosen[item.node.id] = item
            room -= cost(item.node)
