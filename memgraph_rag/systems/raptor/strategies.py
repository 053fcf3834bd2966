"""RAPTOR's strategies: read the best nodes of the cluster tree, all levels at once, or level by level from the top.

It knows the graph by its contract. Invariants: a node is read at most once; no model decides what to read. In a
document without a tree (few segments, or the layer ``clusters`` is not built) segments are read.

Source: RAPTOR (arXiv 2401.18059), section 3, "Querying". Open points follow the released code.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from memgraph_rag.contracts import GraphReader, ReadingContext, query_vectors
from memgraph_rag.strategies.flat import Chosen, read_in_order
from memgraph_rag.strategies.scope import documents_to_walk
from memgraph_rag.types import Hit, Step, StopReason

_AT_ONCE = 64  # nodes that one query fetches


class Raptor:
    """The collapsed tree: read nodes of all levels, segments included, nearest to the question first.

    Args:
        budget_tokens: reading ends before the first node that would exceed the budget, as in the released code. The
            first node is always read. The paper has 2,000.
        most_nodes: most nodes to read. The paper's budget holds about the 20 best; None for no limit.
    """

    name = "raptor"
    requires = ("clusters",)
    follows_paper = True

    def __init__(self, *, budget_tokens: int = 2000, most_nodes: int | None = 20) -> None:
        self._budget_tokens = budget_tokens
        self._most_nodes = most_nodes

    def read(self, question: str, context: ReadingContext) -> Iterator[tuple[Step, ...]]:
        """Yield one step for each node of any level, nearest to the question first, until the budget is reached.

        If the context names no documents, at most eight are searched (``documents_to_walk``). See ``Strategy.read``.
        """
        hits = _similarities(question, context)[: self._most_nodes]
        chosen: list[Chosen] = []
        ended, tokens = StopReason.EXHAUSTED, 0
        for item in _list_nodes(hits, context.graph):
            tokens += item.node.tokens
            if chosen and tokens > self._budget_tokens:
                ended = StopReason.MAX_TOKENS
                break
            chosen.append(item)
        yield from read_in_order(chosen, context, ended=ended)


class RaptorTraversal:
    """Tree traversal: read the k nearest top nodes, then the k nearest of their members, and so on to the segments.

    Args:
        k: nodes to read on each level; the released code has 5.
    """

    name = "raptor_traversal"
    requires = ("clusters",)
    follows_paper = True

    def __init__(self, *, k: int = 5) -> None:
        self._k = k

    def read(self, question: str, context: ReadingContext) -> Iterator[tuple[Step, ...]]:
        """Yield one step for each chosen node, level by level from the top, nearest to the question first.

        On each level the k nearest nodes directly below the chosen nodes are chosen. Reading ends with the window. If
        the context names no documents, at most eight are searched (``documents_to_walk``). See ``Strategy.read``.
        """
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
        yield from read_in_order(_list_nodes(list(chosen.values()), context.graph), context)


def _similarities(question: str, context: ReadingContext) -> list[Hit]:
    """Return the segments and cluster summaries of the documents in scope, nearest to the question first."""
    scope = documents_to_walk(question, context)
    return context.graph.similarities(query_vectors(context.embedder, [question])[0], documents=scope, layer="clusters")


def _list_nodes(hits: Sequence[Hit], graph: GraphReader) -> Iterator[Chosen]:
    """Yield the nodes of hits with their cosines, in order. Nodes that were forgotten meanwhile are left out."""
    for start in range(0, len(hits), _AT_ONCE):
        part = hits[start : start + _AT_ONCE]
        cosines = {hit.node_id: hit.score for hit in part}
        for node in graph.nodes(list(cosines)):
            yield Chosen(node, cosines[node.id])
