"""The summary graph as a tree: each node keeps only its heaviest incoming edge.

The module knows the graph by its contract. Invariants: a node has at most one parent; the weights of a parent's edges
still sum to 1; nothing is written to the store.

Source: PECAN, section 4.2 (ablation without graph).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

from memgraph_rag.contracts import GraphReader
from memgraph_rag.types import Node, Summarizes

__all__ = ["SummaryTree"]


class SummaryTree:
    """The tree below the given top nodes. The constructor reads it from the graph as a whole.

    Args:
        top: the nodes from which all others are reached.
    """

    def __init__(self, graph: GraphReader, top: Iterable[Node]) -> None:
        heaviest: dict[str, Summarizes] = {}
        level = sorted({node.id for node in top})
        seen = set(level)
        while level:
            edges = graph.successors(level)
            for edge in edges:
                rival = heaviest.get(edge.target_id)
                if rival is None or (-edge.weight, edge.source_id) < (-rival.weight, rival.source_id):
                    heaviest[edge.target_id] = edge
            level = sorted({edge.target_id for edge in edges} - seen)
            seen.update(level)
        below: defaultdict[str, list[Summarizes]] = defaultdict(list)
        for edge in heaviest.values():
            below[edge.source_id].append(edge)
        self._below = {source_id: _normalize(edges) for source_id, edges in below.items()}

    def successors(self, node_ids: Sequence[str]) -> list[Summarizes]:
        """Return the tree's edges down from these nodes, by ``node_ids``, then the heaviest first.

        A node without edges, or outside of the tree, adds none. See ``GraphReader.successors``.
        """
        return [edge for node_id in node_ids for edge in self._below.get(node_id, ())]


def _normalize(edges: Sequence[Summarizes]) -> list[Summarizes]:
    total = sum(edge.weight for edge in edges) or 1.0
    ordered = sorted(edges, key=lambda edge: (-edge.weight, edge.target_id))
    return [replace(edge, weight=edge.weight / total) for edge in ordered]
