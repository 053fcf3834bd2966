"""The walk: from what search finds, over summaries and relations, by what the model attends to. The default.

One frontier holds every node that can be read. It knows graph, search, session and embedder by their contracts.
Invariants: a node is read at most once; the score of an unread node depends only on what was read before and is the
sum of its sources; with all sources but the entry off, nodes are read in the order in which search found them.

It joins PECAN (points, attention, the stop) and QRMeM (relations, the reason) on the entry that a graph search gives;
what that means is decided in ``docs/decisions.md``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import nsmallest

from memgraph_rag.contracts import Embedder, Extract, GraphReader, ReadingSession, Search
from memgraph_rag.strategies.reflection import Reflection
from memgraph_rag.strategies.room import START_TOKENS, fits, is_spent, start_set
from memgraph_rag.types import Budget, Node, Step, StopReason, Vector, as_line

__all__ = ["Frontier", "Walk", "Weights"]

_ENTRY = 32  # segments that search contributes
_RANK = 9  # an entry's worth is 10 / (9 + rank): 1 for the first, a half for the eleventh
_NEAR = 16  # segments that a reason brings in from the whole memory
_EDGES = 16  # relations that the entities of one step contribute
_SURE_OF_NO = 0.8  # of the threshold of Yes: below this the model's No counts as certain


@dataclass(frozen=True, slots=True)
class Weights:
    """What each source of a score counts; 0 switches it off.

    Attributes:
        entry: of the place in what search found.
        attention: of what read nodes pass down to those that they summarise.
        similarity: of the cosine to the question, and to what the model says is missing.
        relation: of what read segments pass on over the relations of their entities.
    """

    entry: float = 1.0
    attention: float = 1.0
    similarity: float = 0.75
    relation: float = 1.0


class Walk:
    """The walk over both kinds of edges.

    Args:
        weights: of the sources. Attention and relation, which carries attention too, are multiplied by how far the
            calibration trusts this model's attention; without a calibration they count in full.
        yes_threshold: the model's Yes counts above this probability; by default the calibration's, else 0.5.
        yes_needed: reading ends with this many Yes in all.
        start_nodes: how many nodes are read before the model is first asked.
        start_tokens: most tokens of these; half the window where that is less.
        rounds: how many nodes are read after them at most.
        reasons: how often the model may be asked what is missing, where it says No for certain.
    """

    name = "walk"

    def __init__(
        self,
        weights: Weights | None = None,
        *,
        yes_threshold: float | None = None,
        yes_needed: int = 1,
        start_nodes: int = 5,
        start_tokens: int = START_TOKENS,
        rounds: int = 16,
        reasons: int = 1,
    ) -> None:
        self._weights = weights or Weights()
        self._yes_threshold = yes_threshold
        self._yes_needed = yes_needed
        self._start_nodes = start_nodes
        self._start_tokens = start_tokens
        self._rounds = rounds
        self._reasons = reasons

    def read(
        self,
        question: str,
        *,
        graph: GraphReader,
        search: Search,
        session: ReadingSession,
        embedder: Embedder,
        budget: Budget,
        documents: Sequence[str] | None = None,
        extract: Extract | None = None,  # noqa: ARG002 - the contract
    ) -> Iterator[tuple[Step, ...]]:
        """The best of the entry in one pass, then node after node; see ``Strategy.read``."""
        found = search.find(question, k=_ENTRY, documents=documents)
        if not found:
            return
        reflection = Reflection(
            session, yes_threshold=self._yes_threshold, yes_needed=self._yes_needed, most_reasons=self._reasons
        )
        is_calibrated = session.calibration is not None
        frontier = Frontier(graph, _trusted(self._weights, session), documents, falls_with_distance=not is_calibrated)
        frontier.enter([evidence.segment for evidence in found], embedder.embed([question])[0])
        start = self._start(frontier, session, budget)
        if not start:
            return
        scored = {node.id: frontier.sources(node.id) for node in start}
        attention = session.append([as_line(node.text) for node in start]).tolist()
        steps = [
            Step(node, sum(scored[node.id].values()), attended, sources=scored[node.id])
            for node, attended in zip(start, attention, strict=True)
        ]
        steps[-1] = replace(steps[-1], p_yes=session.probability_of_yes())
        read = len(start)
        frontier.read(start, attention)
        for rounds_left in range(self._rounds, -1, -1):
            last = steps[-1]
            assert last.p_yes is not None
            reflection.hear(last.p_yes)
            reason = ""
            if not reflection.is_enough and rounds_left and not is_spent(budget, read, session):
                reason = self._missing(last.p_yes, reflection)
                if reason:
                    frontier.look_for(embedder.embed([f"{question} {reason}"])[0])
            best = frontier.best()
            stop = _stop(reflection, best, rounds_left, session)
            yield (*steps[:-1], replace(last, reason=reason, stop=stop))
            if stop is not None or best is None:
                return
            sources, via = frontier.sources(best.id), frontier.via(best.id)
            (attended,) = session.append([as_line(best.text)]).tolist()
            p_yes = session.probability_of_yes()
            steps = [Step(best, sum(sources.values()), attended, p_yes, None, sources, via)]
            read += 1
            frontier.read([best], [attended])

    def _start(self, frontier: Frontier, session: ReadingSession, budget: Budget) -> list[Node]:
        """The best nodes, best first; those that do not fit beside better ones are left for later."""
        most = self._start_nodes if budget.max_nodes is None else min(self._start_nodes, budget.max_nodes)
        limit = replace(budget, max_nodes=most)
        return start_set(frontier.ranked(most), session, limit, most_tokens=self._start_tokens)

    def _missing(self, p_yes: float, reflection: Reflection) -> str:
        return reflection.missing() if p_yes < _SURE_OF_NO * reflection.yes_threshold else ""


def _trusted(weights: Weights, session: ReadingSession) -> Weights:
    """What rests on attention counts as far as the model's attention ranks."""
    trust = session.calibration.attention_weight if session.calibration else 1.0
    return replace(weights, attention=trust * weights.attention, relation=trust * weights.relation)


def _stop(reflection: Reflection, best: Node | None, rounds_left: int, session: ReadingSession) -> StopReason | None:
    if reflection.is_enough:
        return StopReason.ANSWERABLE
    if best is None:
        return StopReason.EXHAUSTED
    if not fits(best, session.tokens_left):
        return StopReason.WINDOW
    return None if rounds_left else StopReason.MAX_ROUNDS


class Frontier:
    """All nodes that can be read, each with the sources of its score, kept from step to step.

    Attention and cosine are taken relative to the largest, so that each source lies between 0 and about 1. The place
    in what search found holds the similarity to the question already, so there the cosine counts from the first reason
    on.

    Args:
        weights: of the sources.
        documents: ids of those that may be read; None is all.
        falls_with_distance: whether attention does: it is multiplied by the node's place then, as in PECAN.
    """

    def __init__(
        self,
        graph: GraphReader,
        weights: Weights,
        documents: Sequence[str] | None,
        *,
        falls_with_distance: bool = False,
    ) -> None:
        self._graph = graph
        self._weights = weights
        self._documents = documents
        self._falls_with_distance = falls_with_distance
        self._entry: dict[str, float] = {}
        self._listed: frozenset[str] = frozenset()
        self._similarity: dict[str, float] = {}
        self._passed_down: dict[str, float] = {}
        self._passed_over: dict[str, float] = {}
        self._via: dict[str, str] = {}
        self._largest = 0.0  # attention that a read node got
        self._nearest = 0.0  # cosine
        self._wanted: Vector | None = None
        self._scope: dict[str, None] = {}
        self._unread: dict[str, None] = {}
        self._read: set[str] = set()

    # ── what there is to read ────────────────────────────────────────────────────────────────────────────

    def enter(self, found: Sequence[Node], wanted: Vector) -> None:
        """Begin with what search found, best first, and with the points of its documents."""
        self._entry = {node.id: (_RANK + 1) / (_RANK + rank) for rank, node in enumerate(found, 1)}
        self._listed = frozenset(self._entry)
        self._unread = dict.fromkeys(self._entry)
        self._wanted = wanted
        self._widen([node.document_id for node in found])

    def look_for(self, wanted: Vector) -> None:
        """Compare everything with another vector from now on, and let in what is nearest to it in the whole memory."""
        self._wanted, self._listed = wanted, frozenset()
        if not self._weights.similarity:
            return
        near = self._graph.nearest(wanted, k=_NEAR, documents=self._documents)
        nodes = self._graph.nodes([hit.node_id for hit in near])
        documents = [*self._scope, *(node.document_id for node in nodes)]
        self._scope, self._nearest = {}, 0.0
        self._widen(documents)

    def _widen(self, documents: Sequence[str]) -> None:
        """Take in the nodes of further documents by their similarity."""
        new = [one for one in dict.fromkeys(documents) if one not in self._scope]
        if not new or not self._weights.similarity or self._wanted is None:
            return
        self._scope |= dict.fromkeys(new)
        for hit in self._graph.similarities(self._wanted, documents=sorted(new)):
            self._similarity[hit.node_id] = max(hit.score, 0.0)
            self._nearest = max(self._nearest, hit.score)
            if hit.node_id not in self._read:
                self._unread.setdefault(hit.node_id)

    # ── what was read ────────────────────────────────────────────────────────────────────────────────────

    def read(self, nodes: Sequence[Node], attention: Sequence[float]) -> None:
        """Nodes are read: they pass their attention down to what they summarise, and over their entities' relations."""
        given: dict[str, float] = {}
        for node, attended in zip(nodes, attention, strict=True):
            self._read.add(node.id)
            self._unread.pop(node.id, None)
            place = len(self._read) + 1 if self._falls_with_distance else 1  # the question is 1
            given[node.id] = max(attended, 0.0) * place
        self._largest = max([self._largest, *given.values()])
        self._pass_down({node.id: given[node.id] for node in nodes if node.level})
        self._pass_over({node.id: given[node.id] for node in nodes if not node.level})

    def _pass_down(self, given: Mapping[str, float]) -> None:
        """PECAN's z += r E, over the edges of the nodes just read."""
        if not given or not self._weights.attention:
            return
        for edge in self._graph.successors(list(given)):
            if edge.target_id not in self._read:
                self._unread.setdefault(edge.target_id)
                before = self._passed_down.get(edge.target_id, 0.0)
                self._passed_down[edge.target_id] = before + given[edge.source_id] * edge.weight

    def _pass_over(self, given: Mapping[str, float]) -> None:
        """To each segment that states a relation of an entity in what was read: attention x the relation's cosine.

        Of several ways to a segment the best one counts.
        """
        if not given or not self._weights.relation:
            return
        naming: dict[str, float] = {}
        for segment_id, entities in self._graph.entities_of(list(given)).items():
            for entity in entities:
                naming[entity] = max(naming.get(entity, 0.0), given[segment_id])
        if not naming:
            return
        found = self._graph.expand(sorted(naming), vector=self._wanted, k=_EDGES, documents=self._documents)
        passed: dict[str, float] = {}
        for neighbour in found:
            relation = neighbour.relation
            if relation.segment_id in self._read:
                continue
            # An end that was reached through SIMILAR_TO is named by none of these segments: it gets the least.
            ends = [naming[end] for end in (relation.source_id, relation.target_id) if end in naming]
            worth = max(ends, default=min(naming.values())) * max(neighbour.score, 0.0)
            if worth > max(passed.get(relation.segment_id, 0.0), self._passed_over.get(relation.segment_id, 0.0)):
                passed[relation.segment_id] = worth
                self._via[relation.segment_id] = relation.description
        self._passed_over |= passed
        self._unread |= dict.fromkeys(one for one in passed if one not in self._unread)

    # ── what is best ─────────────────────────────────────────────────────────────────────────────────────

    def sources(self, node_id: str) -> dict[str, float]:
        """What each source gives a node, weighted; without those that give nothing. They sum to its score."""
        weights, attended = self._weights, self._largest or 1.0
        similarity = 0.0 if node_id in self._listed else self._similarity.get(node_id, 0.0)
        parts = {
            "entry": weights.entry * self._entry.get(node_id, 0.0),
            "attention": weights.attention * self._passed_down.get(node_id, 0.0) / attended,
            "similarity": weights.similarity * similarity / (self._nearest or 1.0),
            "relation": weights.relation * self._passed_over.get(node_id, 0.0) / attended,
        }
        return {name: part for name, part in parts.items() if part}

    def via(self, node_id: str) -> str:
        """The relation over which a node got the most; empty where it got nothing over any."""
        return self._via.get(node_id, "")

    def ranked(self, most: int) -> list[Node]:
        """The unread nodes of the highest scores, best first, ties by id."""
        scores = ((node_id, sum(self.sources(node_id).values())) for node_id in self._unread)
        best = nsmallest(most, scores, key=lambda scored: (-scored[1], scored[0]))
        return self._graph.nodes([node_id for node_id, _ in best])

    def best(self) -> Node | None:
        """The unread node of the highest score; None where all are read."""
        return next(iter(self.ranked(1)), None)
