"""PECAN: walk the summary graph by the model's attention until the model says that it has read enough.

It knows the graph, the session and the embedder by their contracts only. Invariant: a node is read at most once,
and the score of an unread node depends only on what was read before.

Source: PECAN / GARLIC, section 3.2, and section 4.2 for its ablations; what the paper leaves open is decided in
``docs/decisions/walk.md``. The defaults are the paper's; what must differ is the size of the model and of its batches.
Where the memory has a library, it starts at the root of that, which is ours (``docs/decisions/library.md``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from heapq import nsmallest
from typing import ClassVar, Literal

from memgraph_rag.contracts import GraphReader, ReadingContext, ReadingSession
from memgraph_rag.strategies.attention import require_attention
from memgraph_rag.strategies.library_frontier import LibraryFrontier
from memgraph_rag.strategies.node_lines import NodeLines
from memgraph_rag.strategies.reflection import NEVER, Reflection
from memgraph_rag.strategies.scope import documents_to_walk
from memgraph_rag.strategies.summary_tree import SummaryTree
from memgraph_rag.strategies.token_budget import fits, start_set
from memgraph_rag.types import Hit, Limits, Node, Overview, Step, StopReason

__all__ = ["Pecan"]


_AVERAGE_NODES = 33
"""Nodes that PECAN read a question, mean over its four sets (48, 36, 17, 30). ``evaluate --set pecan.count=N`` gives
another number, such as the mean of ``pecan`` on the questions at hand."""


class Pecan:
    """The attention-driven walk.

    Args:
        calibrated: whether the model's calibration chooses heads, takes the distance out of attention, and sets what is
            not given here; else attention is the mean over all heads, as in the paper.
        yes_threshold: the model's Yes counts above this probability (t_p); by default the calibration's, else 0.5.
        yes_needed: reading ends with this many Yes in all (t_n).
        count: so many nodes are read in all, whatever the model says (the budget's number, where that has one); the
            start set then has as many as the graph's levels divide that.
        position: attention to the question falls with distance; "linear" multiplies the n-th node's by n + 1. By
            default "none" with a calibration, which takes the distance out itself, else "linear".
        attention_weight: weight of the walk's own score; by default the calibration's, else 1.
        similarity_weight: weight of the embedding similarity beside the walk's own score.
        start_tokens: most tokens of the start set; by default half the window.
        shape: "tree" leaves each node the one parent whose edge weighs most.
        name: that users choose it by.
    """

    name = "pecan"
    ablations: ClassVar = {
        "without_graph": {"shape": "tree"},
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
        position: Literal["linear", "none"] | None = None,
        attention_weight: float | None = None,
        similarity_weight: float = 1.0,
        start_tokens: int | None = None,
        shape: Literal["graph", "tree"] = "graph",
    ) -> None:
        self._calibrated = calibrated
        self._yes_threshold = yes_threshold
        self._yes_needed = NEVER if count else yes_needed
        self._count = count
        self._position = position
        self._attention_weight = attention_weight
        self._similarity_weight = similarity_weight
        self._start_tokens = start_tokens
        self._shape = shape

    def read(self, question: str, context: ReadingContext) -> Iterator[tuple[Step, ...]]:
        """Read all top-level nodes, or the root of a library, then node after node; see ``Strategy.read``.

        Raises:
            StrategyError: the session tells no attention.
        """
        require_attention(context.session, self.name)
        if not self._calibrated:
            context.session.ignore_calibration()
        reflection = Reflection(context.session, yes_threshold=self._yes_threshold, yes_needed=self._yes_needed)
        top, walk = self._enter(question, context)
        count = self._fixed_count(context.limits)
        start = _start_set(top, walk.cosines, context, self._start_tokens, nodes=_share(count, top))
        if not start:
            return
        lines = NodeLines(context)
        attention = context.session.append(lines.of(start)).tolist()
        p_yes = context.session.probability_of_yes()
        steps = [Step(node, 0.0, attended, via=walk.via(node)) for node, attended in zip(start, attention, strict=True)]
        steps[-1] = replace(steps[-1], p_yes=p_yes)
        reflection.hear(p_yes)
        walk.read(start, attention)
        while True:
            best = walk.best()
            stop = StopReason.MAX_NODES if walk.count == count else _stop(reflection, best, context.session)
            yield (*steps[:-1], replace(steps[-1], stop=stop))
            if stop is not None or best is None:
                return
            node, score = best
            attention = context.session.append(lines.of([node], after=steps[-1].node)).tolist()
            p_yes = context.session.probability_of_yes()
            steps = [Step(node, score, attention[0], p_yes, sources=walk.sources(node.id))]
            walk.read([node], attention)
            reflection.hear(p_yes)

    def _enter(self, question: str, context: ReadingContext) -> tuple[list[Node], _Walk]:
        """The nodes that reading may start with, and the walk before any is read.

        From the tops of a library the documents that lie in it are reached, so that none of their nodes is read without
        being chosen; those that a search finds can be chosen from the beginning.
        """
        graph, vector = context.graph, context.embedder.embed([question])[0]
        scope = documents_to_walk(question, context)
        hits = graph.similarities(vector, documents=scope)
        signals = self._signals(context.session)
        library = LibraryFrontier(context, vector) if self._shape == "graph" else None
        if library:
            top = [*library.tops, *graph.top_nodes(library.lacking(scope))]
            return top, _Walk(hits, signals, self._similarity_weight, graph, graph, library)
        top = graph.top_nodes(scope)
        below = SummaryTree(graph, top) if self._shape == "tree" else graph
        return top, _Walk(hits, signals, self._similarity_weight, graph, below)

    def _signals(self, session: ReadingSession) -> _Signals:
        """What was given, else what the session's calibration says, else the paper's."""
        known = session.calibration
        weight = known.attention_weight if known else 1.0
        return _Signals(
            weight if self._attention_weight is None else self._attention_weight,
            self._position == "linear" or (self._position is None and known is None),
        )

    def _fixed_count(self, limits: Limits) -> int | None:
        return limits.nodes or self._count if self._count else None


@dataclass(frozen=True, slots=True)
class _Signals:
    """How a session's attention is to be taken."""

    attention_weight: float
    is_linear: bool


class _Walk:
    """The scores of all nodes that can still be read (steps 3 to 5).

    Each source is taken relative to its sum over these nodes, as in the paper. Over a library, where what an overview
    passes down goes to few nodes and the cosines to many, relative to its largest: else z alone would decide.

    Args:
        hits: the cosines of the nodes that can be read from the beginning.
        library: whose overviews can be read, too, and what lies below them.
    """

    def __init__(
        self,
        hits: Sequence[Hit],
        signals: _Signals,
        similarity_weight: float,
        graph: GraphReader,
        below: GraphReader | SummaryTree,
        library: LibraryFrontier | None = None,
    ) -> None:
        self.cosines: dict[str, float] = {}
        self._similarity: dict[str, float] = {}
        self._signals = signals
        self._similarity_weight = similarity_weight
        self._graph = graph
        self._below = below
        self._library = library
        self._largest = 0.0  # attention that a read node carries
        self._z: dict[str, float] = {}
        self.count = 0
        self._let_in([*hits, *library.hits()] if library else hits)

    def _let_in(self, hits: Sequence[Hit]) -> None:
        """What was not known becomes a candidate."""
        new = {hit.node_id: hit.score for hit in hits if hit.node_id not in self.cosines}
        self.cosines |= new
        self._similarity |= {node_id: max(cosine, 0.0) for node_id, cosine in new.items()}

    def via(self, node: Node) -> str:
        """How a node of the start was found: by the library, or empty."""
        return self._library.note if self._library and isinstance(node, Overview) else ""

    def read(self, nodes: Sequence[Node], attention: Sequence[float]) -> None:
        """Nodes are read: they are no candidates any more, and raise what they summarise: z += r E (step 3)."""
        carried = {}
        for node, attended in zip(nodes, attention, strict=True):
            self._similarity.pop(node.id, None)
            self._z.pop(node.id, None)
            self.count += 1
            factor = self.count + 1 if self._signals.is_linear else 1  # the question is 1, the first node 2
            carried[node.id] = attended * factor
        self._largest = max([self._largest, *carried.values()])
        if self._library and self._library.descend(nodes):
            self._let_in(self._library.hits())
        for edge in self._below.successors([node.id for node in nodes]):
            if edge.target_id in self._similarity:
                raised = carried[edge.source_id] * edge.weight
                self._z[edge.target_id] = self._z.get(edge.target_id, 0.0) + raised

    def _ranked(self, most: int) -> list[tuple[str, float]]:
        """The unread nodes of the highest scores, and the scores; ties go to the smaller id.

        z and the similarity are each scaled to sum 1 over the unread nodes, then added with their weights.
        """
        wholes = self._wholes()
        scores = ((node_id, sum(self._weighted(node_id, wholes))) for node_id in self._similarity)
        return nsmallest(most, scores, key=lambda scored: (-scored[1], scored[0]))

    def best(self) -> tuple[Node, float] | None:
        """Return the unread node of the highest score, and the score; None where all nodes are read.

        A node that was forgotten meanwhile is no candidate any more.
        """
        most = 1
        while ranked := self._ranked(most):
            nodes = {node.id: node for node in self._graph.nodes([node_id for node_id, _ in ranked])}
            gone = [node_id for node_id, _ in ranked if node_id not in nodes]
            if not gone:
                best, score = ranked[0]
                return nodes[best], score
            for node_id in gone:
                del self._similarity[node_id]
                self._z.pop(node_id, None)
            most *= 2  # a whole document went: few reads, however long it was
        return None

    def sources(self, node_id: str) -> dict[str, float]:
        """What attention and similarity give an unread node, weighted; they sum to its score."""
        return dict(zip(("attention", "similarity"), self._weighted(node_id, self._wholes()), strict=True))

    def _wholes(self) -> tuple[float, float]:
        """What z and the similarity are relative to."""
        if self._library:
            wholes = self._largest, max(self._similarity.values(), default=0.0)
        else:
            wholes = sum(self._z.values()), sum(self._similarity.values())
        return wholes[0] or 1.0, wholes[1] or 1.0

    def _weighted(self, node_id: str, wholes: tuple[float, float]) -> tuple[float, float]:
        attention = self._signals.attention_weight * self._z.get(node_id, 0.0) / wholes[0]
        return attention, self._similarity_weight * self._similarity[node_id] / wholes[1]


def _stop(reflection: Reflection, best: tuple[Node, float] | None, session: ReadingSession) -> StopReason | None:
    if reflection.is_enough:
        return StopReason.ANSWERABLE
    if best is None:
        return StopReason.EXHAUSTED
    return None if fits(best[0], session.tokens_left) else StopReason.WINDOW


def _share(count: int | None, top: Sequence[Node]) -> int | None:
    """How many nodes of a fixed count the start set has: one level's share (PECAN, section 4.2)."""
    if count is None:
        return None
    levels = 1 + max((node.level for node in top), default=0)
    return max(1, count // levels)


def _start_set(
    top: Sequence[Node],
    similarity: dict[str, float],
    context: ReadingContext,
    most_tokens: int | None,
    *,
    nodes: int | None,
) -> list[Node]:
    """The top-level nodes, in their order; where they exceed a limit, those most similar to the question."""
    best_first = sorted(top, key=lambda node: (-similarity.get(node.id, 0.0), node.id))[:nodes]
    room = context.session.tokens_left if most_tokens is None else most_tokens
    kept = {node.id for node in start_set(best_first, context.session, context.limits, most_tokens=room)}
    return [node for node in top if node.id in kept]
