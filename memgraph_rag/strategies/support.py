"""From what was read to the segments that it rests on.

It knows the graph by its contract only. Invariant: a segment's weight is the sum, over all paths from a read node
down to it, of the node's share of the attention times the edge weights on the path; all weights sum to at most 1.

Source: decision 9 on PECAN (``docs/decisions.md``); the papers cite nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from memgraph_rag.contracts import GraphReader
from memgraph_rag.types import Segment, Step

__all__ = ["segments_under"]


def segments_under(trace: Sequence[Step], graph: GraphReader, *, most: int = 16) -> list[tuple[Segment, float]]:
    """The segments that support what was read, heaviest first, ties by id; one round trip per level."""
    attention = sum(step.attention for step in trace)
    share = {step.node.id: step.attention / attention if attention else 1 / len(trace) for step in trace}
    weights = {step.node.id: share[step.node.id] for step in trace if step.node.level == 0}
    frontier = {step.node.id: share[step.node.id] for step in trace if step.node.level > 0}
    while frontier:
        below: dict[str, float] = {}
        for edge in graph.successors(sorted(frontier)):
            below[edge.target_id] = below.get(edge.target_id, 0.0) + frontier[edge.source_id] * edge.weight
        nodes = {node.id: node for node in graph.nodes(sorted(below))}
        for node_id, node in nodes.items():
            if node.level == 0:
                weights[node_id] = weights.get(node_id, 0.0) + below[node_id]
        frontier = {node_id: below[node_id] for node_id, node in nodes.items() if node.level > 0}
    heaviest = sorted(weights, key=lambda node_id: (-weights[node_id], node_id))[:most]
    return [(node, weights[node.id]) for node in graph.nodes(heaviest) if isinstance(node, Segment)]
