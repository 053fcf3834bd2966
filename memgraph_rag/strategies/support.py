"""Find the segments that support what was read.

The module knows the graph by its contract only. Invariant: a segment's weight is the sum over all paths from a read
node down to the segment of the node's weight times the edge weights on the path. A report whose findings have spans
passes its weight to the segments of these spans only. Of more than 512 nodes of one level only the heaviest 512 are
followed.

The papers cite no segments; see "Citations" in ``docs/decisions``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from heapq import nsmallest

from memgraph_rag.contracts import GraphReader
from memgraph_rag.types import Overview, Segment, Step

_MOST_SUPPORT = 256  # segments that are returned
_FOLLOWED = 512  # nodes of a level; the root of a library is above the whole memory


def find_support(trace: Sequence[Step], graph: GraphReader) -> list[tuple[Segment, float]]:
    """Return the segments that support what was read with their weights, heaviest first, ties by id; at most 256.

    They are the read segments and the segments below other read nodes. A read node weighs 1 / sqrt(position). Nodes
    that were chosen by a score come first, in the order of reading. The others, such as a start set or a whole
    document, follow by the attention that they got. Forgotten segments are left out. Each level costs one round trip.
    """
    chosen = [step for step in trace if step.score]
    others = sorted((step for step in trace if not step.score), key=lambda step: -step.attention)
    own = {step.node.id: place**-0.5 for place, step in enumerate([*chosen, *others], 1)}
    weights = _pass_down(trace, own, graph)
    heaviest = sorted(weights, key=lambda node_id: (-weights[node_id], node_id))[:_MOST_SUPPORT]
    return [(node, weights[node.id]) for node in graph.nodes(heaviest) if isinstance(node, Segment)]


def _pass_down(trace: Sequence[Step], own: Mapping[str, float], graph: GraphReader) -> dict[str, float]:
    """Return the weight of each segment in the trace or below its nodes."""
    weights = {step.node.id: own[step.node.id] for step in trace if step.node.level == 0}
    frontier = {step.node.id: own[step.node.id] for step in trace if step.node.level > 0}
    for node in (step.node for step in trace if isinstance(step.node, Overview)):
        if shares := _share_spans(node):
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


def _share_spans(report: Overview) -> dict[str, float]:
    """Return the share of each segment in the spans of an overview's findings; shares sum to 1, empty without spans."""
    spans = [(span, len(finding.spans)) for finding in report.findings for span in finding.spans]
    shares: dict[str, float] = {}
    for span, span_count in spans:
        shares[span.segment_id] = shares.get(span.segment_id, 0.0) + 1 / span_count
    total = sum(shares.values())
    return {segment_id: share / total for segment_id, share in shares.items()}
