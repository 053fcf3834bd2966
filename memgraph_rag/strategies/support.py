"""From what was read to the segments that it rests on.

It knows the graph by its contract only. Invariant: a segment's weight is the sum, over all paths from a read node
down to it, of the node's own weight times the edge weights on the path; a report whose findings have spans rests on the
segments of these alone. Of more than 512 nodes that are reached at once only the heaviest are followed.

The papers cite nothing; see "Citations" in ``docs/decisions``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from heapq import nsmallest

from memgraph_rag.contracts import GraphReader
from memgraph_rag.types import Overview, Segment, Step

__all__ = ["segments_under"]

_FOLLOWED = 512  # nodes of a level; under the root of a library lies the whole memory


def segments_under(trace: Sequence[Step], graph: GraphReader, *, most: int = 16) -> list[tuple[Segment, float]]:
    """The segments that support what was read, heaviest first, ties by id; one round trip per level.

    A read node weighs 1 / sqrt(its place). What was chosen by a score has its place in the order of reading; behind it
    comes what was read without being chosen, as a start set or a whole document is, by the attention that it got.
    """
    chosen = [step for step in trace if step.score]
    others = sorted((step for step in trace if not step.score), key=lambda step: -step.attention)
    weights = {step.node.id: place**-0.5 for place, step in enumerate([*chosen, *others], 1)}
    return _heaviest(_carried_down(trace, weights, graph), graph, most)


def _carried_down(trace: Sequence[Step], own: Mapping[str, float], graph: GraphReader) -> dict[str, float]:
    """The weight of each segment at or under the nodes of a trace."""
    weights = {step.node.id: own[step.node.id] for step in trace if step.node.level == 0}
    frontier = {step.node.id: own[step.node.id] for step in trace if step.node.level > 0}
    for node in (step.node for step in trace if isinstance(step.node, Overview)):
        if shares := _of_findings(node):
            weight = frontier.pop(node.id)
            for segment_id, share in shares.items():
                weights[segment_id] = weights.get(segment_id, 0.0) + weight * share
    while frontier:
        below: dict[str, float] = {}
        for edge in graph.successors(sorted(frontier)):
            below[edge.target_id] = below.get(edge.target_id, 0.0) + frontier[edge.source_id] * edge.weight
        followed = nsmallest(_FOLLOWED, below, key=lambda node_id: (-below[node_id], node_id))
        nodes = {node.id: node for node in graph.nodes(sorted(followed))}
        for node_id, node in nodes.items():
            if node.level == 0:
                weights[node_id] = weights.get(node_id, 0.0) + below[node_id]
        frontier = {node_id: below[node_id] for node_id, node in nodes.items() if node.level > 0}
    return weights


def _of_findings(report: Overview) -> dict[str, float]:
    """The segments that bear out what an overview says, with shares that sum to 1; empty without any spans."""
    spans = [(span, len(finding.spans)) for finding in report.findings for span in finding.spans]
    shares: dict[str, float] = {}
    for span, beside in spans:
        shares[span.segment_id] = shares.get(span.segment_id, 0.0) + 1 / beside
    total = sum(shares.values())
    return {segment_id: share / total for segment_id, share in shares.items()}


def _heaviest(weights: Mapping[str, float], graph: GraphReader, most: int) -> list[tuple[Segment, float]]:
    heaviest = sorted(weights, key=lambda node_id: (-weights[node_id], node_id))[:most]
    return [(node, weights[node.id]) for node in graph.nodes(heaviest) if isinstance(node, Segment)]
