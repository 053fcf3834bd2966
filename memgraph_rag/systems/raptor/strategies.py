"""RAPTOR: read the best nodes of the cluster tree, from all levels at once or level by level from the top.

It knows the graph by its contract. Invariants: a node is read at most once; no model is asked what to read. A document
without a tree (few segments, or the layer ``clusters`` not built) is read by its segments.

Source: RAPTOR (arXiv 2401.18059), section 3, "Querying"; what the paper leaves open is as in its released code.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from memgraph_rag.contracts import GraphReader, ReadingContext
from memgraph_rag.strategies.flat import read_in_order
from memgraph_rag.strategies.scope import documents_to_walk
from memgraph_rag.types import Hit, Node, Step, StopReason

__all__ = ["Raptor", "RaptorTraversal"]

_AT_ONCE = 64  # nodes that one look into the graph fetches


class Raptor:
    """The collapsed tree: the nodes of all levels, segments too, nearest to the question first.

    Args:
        budget_tokens: reading ends before the first node that would exceed it, as in the released code, though a later
            one might fit; the first is read in any case. 2,000 is the paper's; None leaves it to the budget of ``ask``.
        most_nodes: no more are read. The paper's budget is about its 20 best; None is all.
    """

    name = "raptor"

    def __init__(self, *, budget_tokens: int | None = 2000, most_nodes: int | None = 20) -> None:
        self._budget_tokens = budget_tokens
        self._most_nodes = most_nodes

    def read(self, question: str, context: ReadingContext) -> Iterator[tuple[Step, ...]]:
        """One step a node; see ``Strategy.read``."""
        hits = _similarities(question, context)[: self._most_nodes]
        if self._budget_tokens is None:
            yield from read_in_order(_nodes(hits, context.graph), context)
            return
        chosen: list[tuple[Node, float]] = []
        ended, tokens = StopReason.EXHAUSTED, 0
        for node, score in _nodes(hits, context.graph):
            tokens += node.tokens
            if chosen and tokens > self._budget_tokens:
                ended = StopReason.MAX_TOKENS
                break
            chosen.append((node, score))
        yield from read_in_order(chosen, context, ended=ended)


class RaptorTraversal:
    """Tree traversal: the k nearest of the nodes that nothing sums up, then of what these sum up, down to the segments.

    Args:
        k: nodes that are read of each level; 5 is the released code's.
    """

    name = "raptor_traversal"

    def __init__(self, *, k: int = 5) -> None:
        self._k = k

    def read(self, question: str, context: ReadingContext) -> Iterator[tuple[Step, ...]]:
        """One step a node; see ``Strategy.read``."""
        hits = _similarities(question, context)
        points = [hit.node_id for hit in hits if hit.kind == "point"]
        below: dict[str, list[str]] = {point: [] for point in points}
        for edge in context.graph.successors(points) if points else []:
            below[edge.source_id].append(edge.target_id)
        summed_up = {node_id for members in below.values() for node_id in members}
        level = [hit for hit in hits if hit.node_id not in summed_up]
        chosen: dict[str, Hit] = {}
        while level:
            best = level[: self._k]
            chosen |= {hit.node_id: hit for hit in best}
            wanted = {node_id for hit in best for node_id in below.get(hit.node_id, ())}
            level = [hit for hit in hits if hit.node_id in wanted and hit.node_id not in chosen]
        yield from read_in_order(_nodes(list(chosen.values()), context.graph), context)


def _similarities(question: str, context: ReadingContext) -> list[Hit]:
    """The segments and cluster summaries of the documents that are read, nearest to the question first."""
    scope = documents_to_walk(question, context)
    return context.graph.similarities(context.embedder.embed([question])[0], documents=scope, layer="clusters")


def _nodes(hits: Sequence[Hit], graph: GraphReader) -> Iterator[tuple[Node, float]]:
    """The nodes with their cosines, in this order; without those that were forgotten meanwhile."""
    for start in range(0, len(hits), _AT_ONCE):
        part = hits[start : start + _AT_ONCE]
        cosines = {hit.node_id: hit.score for hit in part}
        for node in graph.nodes(list(cosines)):
            yield node, cosines[node.id]
