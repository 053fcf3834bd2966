"""The default strategy: walk from a search's results over summaries and relations, directed by the model's attention.

``candidates`` keeps the nodes that can be read next. The module knows graph, search, session and embedder by their
contracts. Invariants: a node is read at most once; the score of an unread node is the sum of its parts and depends only
on the nodes read before; with all parts but the entry switched off, nodes are read in the order of the search.

Without attention from the session the attention part is 0, and a relation passes on only its cosine.

The walk joins PECAN (points, attention, the stop) and QRMeM (relations) with the results of a graph search
(``docs/decisions``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from memgraph_rag.contracts import LanguageModel, ReadingContext, ReadingSession, query_vectors
from memgraph_rag.strategies.candidates import Candidates, Weights
from memgraph_rag.strategies.node_lines import NodeLines
from memgraph_rag.strategies.reflection import find_yes_threshold
from memgraph_rag.strategies.token_budget import START_TOKENS, cost, fits, start_set
from memgraph_rag.types import Limits, Node, Step, StopReason

_ENTRY = 32  # results of a search


class Walk:
    """The walk over summary edges and relations.

    Args:
        weights: weights of the parts of a score. Attention and relation are multiplied by the calibration's trust in
            this model's attention; without a calibration they count in full.
        start_nodes: how many nodes the start has.
        most_segments: how many segments are read in all.
        more_tokens: how many tokens are read after the start, points included; the node that reaches the number is the
            last.
        plans: whether a question that compares, or that asks about a thing without its name, is taken apart
            (``answering.question_plans``).
        planner: a language model that writes the plans; by default rules over a parse find them.
    """

    name = "walk"

    def __init__(
        self,
        weights: Weights | None = None,
        *,
        start_nodes: int = 5,
        most_segments: int = 5,
        more_tokens: int = START_TOKENS // 2,
        plans: bool = True,
        planner: LanguageModel | None = None,
    ) -> None:
        self._weights = weights or Weights()
        self._start_nodes = start_nodes
        self._most_segments = most_segments
        self._more_tokens = more_tokens
        self.plans = plans
        self.planner = planner

    def read(self, question: str, context: ReadingContext) -> Iterator[tuple[Step, ...]]:
        """Yield the start in one pass, then one step a node; see ``Strategy.read``.

        The start is the best candidates after a graph search: segments and points. Reading ends if the model says Yes,
        no candidate is left, the best candidate does not fit the window, or a limit of the walk is reached. A Yes does
        not count while a name of the question is in none of the read texts. There is no step if none of the best
        candidates fits.
        """
        threshold = find_yes_threshold(context.session)
        evidence_list = context.search.find(question, k=_ENTRY, documents=context.documents)
        candidates = Candidates(
            context.graph,
            _trust_weights(self._weights, context.session),
            [evidence.segment for evidence in evidence_list],
            query_vectors(context.embedder, [question])[0],
            documents=context.documents,
            falls_with_distance=context.session.attends and context.session.calibration is None,
        )
        lines = NodeLines(context)
        start = self._choose_start(candidates, context.session, context.limits)
        if not start:
            return
        read = lines.write(start)
        steps = _read_nodes(start, read, candidates, context.session)
        segments_left = self._most_segments - sum(not node.level for node in start)
        tokens_left = self._more_tokens
        while True:
            p_yes = steps[-1].p_yes
            assert p_yes is not None
            is_enough = p_yes > threshold and all(context.search.check_names(question, read).values())
            best = candidates.best()
            stop = StopReason.ANSWERABLE if is_enough else _find_stop(best, context.session, segments_left, tokens_left)
            yield (*steps[:-1], replace(steps[-1], stop=stop))
            if stop is not None or best is None:
                return
            line = lines.write([best], after=steps[-1].node)
            read += line
            steps = _read_nodes([best], line, candidates, context.session)
            segments_left -= not best.level
            tokens_left -= cost(best)

    def _choose_start(self, candidates: Candidates, session: ReadingSession, limits: Limits) -> list[Node]:
        """Return the best nodes, best first; nodes that do not fit together with better ones remain candidates."""
        most = self._start_nodes if limits.nodes is None else min(self._start_nodes, limits.nodes)
        limit = replace(limits, nodes=most)
        return start_set(candidates.list_best(most), session, limit, most_tokens=START_TOKENS)


def _read_nodes(
    nodes: Sequence[Node], lines: Sequence[str], candidates: Candidates, session: ReadingSession
) -> list[Step]:
    """Read nodes in one pass and return their steps; P(Yes) is on the last step."""
    sources_and_vias = [(candidates.sources(node.id), candidates.find_carrying_relation(node.id)) for node in nodes]
    attention = session.append(lines).tolist()
    candidates.read(nodes, attention if session.attends else [1.0] * len(nodes))
    steps = [
        Step(node, sum(sources.values()), attended, sources=sources, via=via)
        for node, attended, (sources, via) in zip(nodes, attention, sources_and_vias, strict=True)
    ]
    return [*steps[:-1], replace(steps[-1], p_yes=session.probability_of_yes())]


def _trust_weights(weights: Weights, session: ReadingSession) -> Weights:
    """Return the weights times the calibration's trust in attention; without attention only its weight is 0."""
    if not session.attends:
        return replace(weights, attention=0.0)
    trust = session.calibration.attention_weight if session.calibration else 1.0
    return replace(weights, attention=trust * weights.attention, relation=trust * weights.relation)


def _find_stop(best: Node | None, session: ReadingSession, segments_left: int, tokens_left: int) -> StopReason | None:
    """Return why the best candidate is not read; None if it is read."""
    if best is None:
        return StopReason.EXHAUSTED
    if not fits(best, session.tokens_left):
        return StopReason.WINDOW
    if segments_left <= 0:
        return StopReason.MAX_NODES
    return StopReason.MAX_TOKENS if tokens_left <= 0 else None
