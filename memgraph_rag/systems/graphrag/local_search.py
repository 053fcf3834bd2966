"""GraphRAG's local search: read reports, relations and segments about the entities of a question.

It knows graph, search and session by their contracts. Invariants: no node is read twice; each of the three kinds stays
within its share of tokens; no model decides what to read.

The entities are those that the question names, then those that the best segments of a search name. As in the released
code, the strategy reads reports on their lowest communities (15 % of the tokens), segments that state their relations
nearest to the question (35 %), and segments nearest to the question that name one of them (50 %). The released code
finds entities by their descriptions, which our graph does not have.

Source: GraphRAG, local search of the released code (the paper, arXiv 2404.16130, has global search alone).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from memgraph_rag.contracts import ReadingContext
from memgraph_rag.strategies.token_budget import cost
from memgraph_rag.systems.graphrag.report_tree import Chosen, ReportTree, read_by_search, read_chosen
from memgraph_rag.types import Neighbour, Node, Step, StopReason

__all__ = ["GraphragLocal"]

_HITS = 20  # segments whose entities are taken
_CANDIDATES = 64  # of each kind
_REPORTS, _RELATIONS = 0.15, 0.35  # shares of the tokens; segments get the rest


class GraphragLocal:
    """A strategy that reads reports, relations and segments about the entities of a question.

    Args:
        most_tokens: most tokens to read in all.
        entities: most entities that take part.
    """

    name = "graphrag_local"
    requires = ("communities",)
    follows_paper = True

    def __init__(self, *, most_tokens: int = 2048, entities: int = 20) -> None:
        self._most_tokens = most_tokens
        self._entities = entities

    def read(self, question: str, context: ReadingContext) -> Iterator[tuple[Step, ...]]:
        """Yield one step for each report and each segment about the entities of the question.

        Reports come first, then segments that state relations, then segments that name the entities. Without reports or
        entities it reads the results of a search. See ``Strategy.read``.
        """
        tree = ReportTree(context)
        entity_ids = entities_near(question, context, most=self._entities)
        if not tree or not entity_ids:
            note = "no entity of this memory has to do with the question; read by search instead"
            yield from read_by_search(question, context, note if tree else tree.note)
            return
        room = self._room(context)
        chosen: dict[str, Chosen] = {}
        (vector,) = context.embedder.embed([question])
        _take(chosen, _reports(tree, entity_ids), int(_REPORTS * room))
        neighbours = context.graph.expand(entity_ids, vector=vector, k=_CANDIDATES, documents=context.documents)
        _take(chosen, _stating(neighbours, context), int(_RELATIONS * room))
        hits = context.graph.segments_naming(entity_ids, vector=vector, k=_CANDIDATES, documents=context.documents)
        nodes = {node.id: node for node in context.graph.nodes([hit.node_id for hit in hits])}
        naming = (Chosen(nodes[hit.node_id], hit.score, "entry") for hit in hits if hit.node_id in nodes)
        _take(chosen, naming, room - sum(cost(item.node) for item in chosen.values()))
        kept = list(chosen.values())[: context.limits.nodes]
        yield from read_chosen(kept, context, reason=tree.note, ended=StopReason.EXHAUSTED)

    def _room(self, context: ReadingContext) -> int:
        room = min(self._most_tokens, context.session.tokens_left)
        most = context.limits.tokens
        return room if most is None else min(room, most - context.session.usage.prompt_tokens)


def entities_near(question: str, context: ReadingContext, *, most: int) -> list[str]:
    """Return the ids of the entities that a question names, then of those in the best segments, best first.

    Each id comes once, and at most ``most`` come in all.
    """
    named = context.search.named_in(question)
    hits = context.search.find(question, k=_HITS, documents=context.documents)
    mentioned = context.graph.entities_of([hit.segment.id for hit in hits])
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


def _stating(neighbours: Sequence[Neighbour], context: ReadingContext) -> Iterator[Chosen]:
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
