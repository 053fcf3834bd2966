"""PECAN: walk the summary graph by the model's attention until the model says that it has read enough.

The module knows graph, session and embedder by their contracts only. Invariant: a node is read at most once, and the
score of an unread node depends only on the nodes read before.

Source: PECAN / GARLIC, section 3.2, and section 4.2 for its ablations; ``docs/pecan.md`` lists what differs. The
ablation without graph needs another graph: ``PointsLayer(parents="one")``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from heapq import nsmallest
from typing import ClassVar

from memgraph_rag.contracts import GraphReader, ReadingContext, ReadingSession, query_vectors
from memgraph_rag.display import show
from memgraph_rag.errors import StrategyError
from memgraph_rag.strategies.node_lines import NodeLines
from memgraph_rag.strategies.reflection import find_yes_threshold
from memgraph_rag.strategies.scope import documents_to_walk
from memgraph_rag.strategies.token_budget import fits, start_set
from memgraph_rag.types import Hit, Node, Step, StopReason, as_line

_AVERAGE_NODES = 33
"""The mean number of nodes that PECAN read for a question of its four sets (48, 36, 17, 30).

``evaluate --set pecan.count=N`` sets another number, such as the mean of ``pecan`` on your own questions.
"""


class Pecan:
    """The walk along summaries that the model's attention directs.

    Args:
        calibrated: whether the model's calibration chooses the heads, removes the effect of distance from attention,
            and sets the defaults below. Otherwise attention is the mean over all heads, as in the paper.
        yes_threshold: a Yes counts above this probability (t_p); by default the calibration's threshold, else 0.5. The
            paper has 0.5 for NarrativeQA and HotpotQA, 0.98 for Qasper, 0.55 for MuSiQue.
        yes_needed: reading ends after this many Yes in all (t_n).
        count: read exactly this many nodes, whatever the model says; a limit on nodes replaces the number. The start
            set then has ``count`` divided by the number of levels.
        attention_weight: weight of the attention score; by default the calibration's weight, else 1.
        similarity_weight: weight of the embedding similarity.
        titles: whether the model also reads titles, speakers, days and remarks, as in the default walk. The paper has
            the nodes' texts alone.
        name: the name by which users choose the strategy.
    """

    name = "pecan"
    requires = ("points",)
    follows_paper = True
    ablations: ClassVar = {
        "without_stop": {"count": _AVERAGE_NODES},
        "without_attention": {"attention_weight": 0.0},
        "without_similarity": {"similarity_weight": 0.0},
    }

    def __init__(
        self,
        *,
        calibrated: bool = False,
        yes_threshold: float | None = None,
        yes_needed: int = 1,
        count: int | None = None,
        attention_weight: float | None = None,
        similarity_weight: float = 1.0,
        titles: bool = False,
    ) -> None:
        self._calibrated = calibrated
        self._yes_threshold = yes_threshold
        self._yes_needed = yes_needed
        self._count = count
        self._attention_weight = attention_weight
        self._similarity_weight = similarity_weight
        self._titles = titles

    def read(self, question: str, context: ReadingContext) -> Iterator[tuple[Step, ...]]:
        """Yield the start set, then one step a node; see ``Strategy.read``.

        The start set is the top-level nodes of the allowed documents. Without a limit on documents, these are all
        documents if there are up to eight, else at most eight that a search finds. If the nodes exceed the limits on
        the start set, the nodes most similar to the question are tried first; a node that does not fit is skipped, and
        a smaller one may follow. There is no step if no node fits.

        Raises:
            StrategyError: the session returns no attention.
        """
        require_attention(context.session, self.name)
        if not self._calibrated:
            context.session.ignore_calibration()
        threshold, yes_left = find_yes_threshold(context.session, self._yes_threshold), self._yes_needed
        top, walk = self._enter(question, context)
        count = context.limits.nodes or self._count if self._count else None
        start = _start_set(top, walk.cosines, context, nodes=_count_start_nodes(count, top))
        if not start:
            return
        lines = NodeLines(context).write if self._titles else _plain_lines
        attention = context.session.append(lines(start)).tolist()
        p_yes = context.session.probability_of_yes()
        steps = [Step(node, 0.0, attended) for node, attended in zip(start, attention, strict=True)]
        steps[-1] = replace(steps[-1], p_yes=p_yes)
        walk.read(start, attention)
        while True:
            yes_left -= p_yes > threshold
            best = walk.best()
            is_enough = yes_left <= 0 and count is None
            stop = StopReason.MAX_NODES if walk.count == count else _stop(best, context.session, is_enough=is_enough)
            yield (*steps[:-1], replace(steps[-1], stop=stop))
            if stop is not None or best is None:
                return
            node, score = best
            attention = context.session.append(lines([node], after=steps[-1].node)).tolist()
            p_yes = context.session.probability_of_yes()
            steps = [Step(node, score, attention[0], p_yes, sources=walk.sources(node.id))]
            walk.read([node], attention)

    def _enter(self, question: str, context: ReadingContext) -> tuple[list[Node], _Walk]:
        """Return the nodes that may be in the start set, and the walk before the first node is read."""
        graph, vector = context.graph, query_vectors(context.embedder, [question])[0]
        scope = documents_to_walk(question, context)
        hits = graph.similarities(vector, documents=scope)
        calibration = context.session.calibration
        weight = calibration.attention_weight if calibration else 1.0
        weights = (weight if self._attention_weight is None else self._attention_weight, self._similarity_weight)
        return graph.top_nodes(scope), _Walk(hits, weights, graph, corrects_distance=calibration is None)


class _Walk:
    """The scores of all nodes that can still be read (steps 3 to 5).

    Attention and similarity are each divided by their sum over all nodes, read and unread, as in the paper.

    Args:
        hits: the cosines of the nodes that can be read.
        weights: the weights of attention and similarity.
        corrects_distance: whether the attention of the n-th node is multiplied by n + 1 against its distance to the
            question. A calibration corrects it itself.
    """

    def __init__(
        self, hits: Sequence[Hit], weights: tuple[float, float], graph: GraphReader, *, corrects_distance: bool
    ) -> None:
        self.cosines = {hit.node_id: hit.score for hit in hits}
        self._similarity = {node_id: max(cosine, 0.0) for node_id, cosine in self.cosines.items()}
        self._unread = set(self.cosines)
        self._attention_weight, self._similarity_weight = weights
        self._corrects_distance = corrects_distance
        self._graph = graph
        self._z: dict[str, float] = {}
        self.count = 0

    def read(self, nodes: Sequence[Node], attention: Sequence[float]) -> None:
        """Mark nodes as read, and add their attention to the nodes that they summarise: z += r E (step 3)."""
        carried = {}
        for node, attended in zip(nodes, attention, strict=True):
            self._unread.discard(node.id)
            self.count += 1
            factor = self.count + 1 if self._corrects_distance else 1  # the question has position 1, the first node 2
            carried[node.id] = attended * factor
        for edge in self._graph.successors([node.id for node in nodes]):
            if edge.target_id in self._similarity:
                raised = carried[edge.source_id] * edge.weight
                self._z[edge.target_id] = self._z.get(edge.target_id, 0.0) + raised

    def _rank(self, most: int) -> list[tuple[str, float]]:
        """Return the unread nodes with the highest scores, and their scores, best first; ties go to the smaller id.

        The score is the weighted sum of z and the similarity, each divided by its whole (``_find_divisors``).
        """
        wholes = self._find_divisors()
        scores = ((node_id, sum(self._weigh(node_id, wholes))) for node_id in self._unread)
        return nsmallest(most, scores, key=lambda scored: (-scored[1], scored[0]))

    def best(self) -> tuple[Node, float] | None:
        """Return the unread node with the highest score, and the score; None if all nodes were read.

        Nodes that were forgotten meanwhile are dropped from the candidates.
        """
        most = 1
        while ranked := self._rank(most):
            nodes = {node.id: node for node in self._graph.nodes([node_id for node_id, _ in ranked])}
            forgotten = [node_id for node_id, _ in ranked if node_id not in nodes]
            if not forgotten:
                best, score = ranked[0]
                return nodes[best], score
            for node_id in forgotten:
                self._unread.remove(node_id)
                del self._similarity[node_id]
                self._z.pop(node_id, None)
            most *= 2  # a whole document may be forgotten: doubling needs few reads
        return None

    def sources(self, node_id: str) -> dict[str, float]:
        """Return the weighted attention and similarity of an unread node by name. They sum to the node's score."""
        return dict(zip(("attention", "similarity"), self._weigh(node_id, self._find_divisors()), strict=True))

    def _find_divisors(self) -> tuple[float, float]:
        """Return the divisors of z and of the similarity; 1 instead of 0."""
        return sum(self._z.values()) or 1.0, sum(self._similarity.values()) or 1.0

    def _weigh(self, node_id: str, wholes: tuple[float, float]) -> tuple[float, float]:
        attention = self._attention_weight * self._z.get(node_id, 0.0) / wholes[0]
        return attention, self._similarity_weight * self._similarity[node_id] / wholes[1]


def require_attention(session: ReadingSession, strategy: str) -> None:
    """Check that a session returns attention, without which some strategies cannot work.

    Raises:
        StrategyError: the session's model runs on another server and no local reader measures attention.
    """
    if not session.attends:
        raise StrategyError(
            f"Expected a model with readable attention for strategy {show(strategy)}, got a model on a server "
            'without a local reader. Add one: Memory(model=…, reader="auto"), or ask with strategy="walk".',
            strategy=strategy,
        )


def _plain_lines(nodes: Sequence[Node], *, after: Node | None = None) -> list[str]:  # noqa: ARG001
    """Return the text of each node on one line. The node that was read before does not matter."""
    return [as_line(node.text) for node in nodes]


def _stop(best: tuple[Node, float] | None, session: ReadingSession, *, is_enough: bool) -> StopReason | None:
    if is_enough:
        return StopReason.ANSWERABLE
    if best is None:
        return StopReason.EXHAUSTED
    return None if fits(best[0], session.tokens_left) else StopReason.WINDOW


def _count_start_nodes(count: int | None, top: Sequence[Node]) -> int | None:
    """Return the size of the start set for a fixed count: one level's share (PECAN, section 4.2)."""
    if count is None:
        return None
    levels = 1 + max((node.level for node in top), default=0)
    return max(1, count // levels)


def _start_set(
    top: Sequence[Node], similarity: dict[str, float], context: ReadingContext, *, nodes: int | None
) -> list[Node]:
    """Return the top-level nodes in their order; if they exceed a limit, only those most similar to the question."""
    best_first = sorted(top, key=lambda node: (-similarity.get(node.id, 0.0), node.id))[:nodes]
    room = context.session.tokens_left
    kept_ids = {node.id for node in start_set(best_first, context.session, context.limits, most_tokens=room)}
    return [node for node in top if node.id in kept_ids]
