"""The summary graph as a tree: of all that summarise a node, the one whose edge weighs most.

It knows the graph by its contract. Invariants: a node has one parent at most; what a parent's edges weigh still sums to
1; nothing is written.

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
    """What stands below these nodes, each with one parent. It is read once, whole.

    Args:
        top: from which all is reached.
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
        self._below = {source_id: _with_sum_one(edges) for source_id, edges in below.items()}

    def successors(self, node_ids: Sequence[str]) -> list[Summarizes]:
        """The edges down from these nodes; see ``GraphReader.successors``."""
        return [edge for node_id in node_ids for edge in self._below.get(node_id, ())]


def _with_sum_one(edges: Sequence[Summarizes]) -> list[Summarizes]:
    total = sum(edge.weight for edge in edges) or 1.0
    ordered = sorted(edges, key=lambda edge: (-edge.weight, edge.target_id))
    return [replace(edge, weight=edge.weight / total) for edge in ordered]
