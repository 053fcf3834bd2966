"""The nodes that a walk can read next, with the parts of their scores, kept from step to step.

The module knows the graph by its contract. It knows no session and no model. Invariants: nodes that were read, and
nodes found to be forgotten, are not candidates; a score is the sum of its parts and depends only on the nodes read
before; a step reads each kind of data from the graph once, in a bounded amount (nodes more often, if the best nodes
were forgotten).

Sources: PECAN, section 3.2 (attention passed down); QRMeM, algorithm 1 (relations of the current entities).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import nsmallest

from memgraph_rag.contracts import GraphReader
from memgraph_rag.types import Node, Vector

_RANK = 9
_MOST_DOCUMENTS = 8  # documents whose nodes are candidates from the beginning
_EDGES = 16  # relations that one step looks at


@dataclass(frozen=True, slots=True)
class Weights:
    """The weight of each part of a score; 0 switches the part off.

    Attributes:
        entry: weight of the node's rank in the search.
        attention: weight of the attention that read nodes pass down to the nodes that they summarise.
        similarity: weight of the cosine to the question.
        relation: weight of the attention that read segments pass on over the relations of their entities.
    """

    entry: float = 1.0
    attention: float = 1.0
    similarity: float = 0.75
    relation: float = 1.0


class Candidates:
    """The unread nodes of one walk: at first the nodes of a search, and the nodes of its first eight documents.

    Attention and cosine are divided by the largest value, so each part is between 0 and about 1. The rank in the search
    already reflects similarity, so the cosine counts only for nodes that the search did not find: in full for points,
    which no search ranks; for segments at most as much as the rank after the last one, because the search ranked them
    after its results.

    Args:
        weights: the weights of the parts. Without a weight of similarity, only nodes of the search are candidates at
            first.
        nodes: the nodes of the search, best first.
        wanted: (d,) the embedding of the question.
        documents: ids of the documents that may be read; None allows all.
        falls_with_distance: whether attention falls with the distance to the question; it is then multiplied by the
            node's position, as in PECAN.
    """

    def __init__(
        self,
        graph: GraphReader,
        weights: Weights,
        nodes: Sequence[Node],
        wanted: Vector,
        *,
        documents: Sequence[str] | None,
        falls_with_distance: bool = False,
    ) -> None:
        self._graph = graph
        self._weights = weights
        self._wanted = wanted
        self._documents = documents
        self._falls_with_distance = falls_with_distance
        self._entry = {node.id: _rate_rank(rank) for rank, node in enumerate(nodes, 1)}
        self._worth_after_last = _rate_rank(len(nodes) + 1)
        first_documents = list(dict.fromkeys(node.document_id for node in nodes))[:_MOST_DOCUMENTS]
        is_compared = bool(first_documents and weights.similarity)
        hits = graph.similarities(wanted, documents=first_documents) if is_compared else []
        self._similarity = {hit.node_id: max(hit.score, 0.0) for hit in hits}
        self._points = {hit.node_id for hit in hits if hit.kind != "segment"}
        self._nearest = max(self._similarity.values(), default=0.0)
        self._unread = dict.fromkeys([*self._entry, *self._similarity])
        self._read: set[str] = set()
        self._passed_down: dict[str, float] = {}
        self._passed_over: dict[str, float] = {}
        self._via: dict[str, str] = {}
        self._largest = 0.0  # attention that a read node received

    # ── reading nodes ────────────────────────────────────────────────────────────────────────────────────

    def read(self, nodes: Sequence[Node], attention: Sequence[float]) -> None:
        """Mark nodes as read, and pass their attention on to the nodes below them and over their entities' relations.

        The nodes that the attention reaches become candidates.

        Args:
            attention: (len(nodes),) the attention from the question to each node; a negative value counts as 0.
        """
        attention_by_id: dict[str, float] = {}
        for node, attended in zip(nodes, attention, strict=True):
            self._read.add(node.id)
            self._unread.pop(node.id, None)
            place = len(self._read) + 1 if self._falls_with_distance else 1  # the question is 1
            attention_by_id[node.id] = max(attended, 0.0) * place
        self._largest = max([self._largest, *attention_by_id.values()])
        self._pass_down({node.id: attention_by_id[node.id] for node in nodes if node.level})
        self._pass_attention({node.id: attention_by_id[node.id] for node in nodes if not node.level})

    def _pass_down(self, attention_by_id: Mapping[str, float]) -> None:
        """Add attention times edge weight to each node below the read nodes (PECAN's z += r E)."""
        if not attention_by_id or not self._weights.attention:
            return
        for edge in self._graph.successors(list(attention_by_id)):
            if edge.target_id not in self._read:
                self._unread.setdefault(edge.target_id)
                before = self._passed_down.get(edge.target_id, 0.0)
                self._passed_down[edge.target_id] = before + attention_by_id[edge.source_id] * edge.weight

    def _pass_attention(self, attention_by_id: Mapping[str, float]) -> None:
        """Pass attention times the relation's cosine to each segment that states a relation of a read segment's entity.

        A segment that several relations reach keeps the largest value.
        """
        if not attention_by_id or not self._weights.relation:
            return
        attention_by_entity: dict[str, float] = {}
        for segment_id, entities in self._graph.list_mentioned_entities(list(attention_by_id)).items():
            for entity in entities:
                attention_by_entity[entity] = max(attention_by_entity.get(entity, 0.0), attention_by_id[segment_id])
        if not attention_by_entity:
            return
        neighbours = self._graph.expand(
            sorted(attention_by_entity), vector=self._wanted, k=_EDGES, documents=self._documents
        )
        best_by_segment: dict[str, float] = {}
        for neighbour in neighbours:
            relation = neighbour.relation
            if relation.segment_id in self._read:
                continue
            # These segments do not name an end that was reached over SIMILAR_TO: it gets the smallest attention.
            ends = [
                attention_by_entity[end]
                for end in (relation.source_id, relation.target_id)
                if end in attention_by_entity
            ]
            worth = max(ends, default=min(attention_by_entity.values())) * max(neighbour.score, 0.0)
            if worth > max(
                best_by_segment.get(relation.segment_id, 0.0), self._passed_over.get(relation.segment_id, 0.0)
            ):
                best_by_segment[relation.segment_id] = worth
                self._via[relation.segment_id] = relation.description
        self._passed_over |= best_by_segment
        self._unread |= dict.fromkeys(segment_id for segment_id in best_by_segment if segment_id not in self._unread)

    # ── choosing nodes ─────────────────────────────────────────────────────────────────────────────────────

    def sources(self, node_id: str) -> dict[str, float]:
        """Return the weighted parts of a node's score by name, without parts of 0. They sum to the score."""
        weights, attended = self._weights, self._largest or 1.0
        parts = {
            "entry": weights.entry * self._entry.get(node_id, 0.0),
            "attention": weights.attention * self._passed_down.get(node_id, 0.0) / attended,
            "similarity": weights.similarity * self._nearness(node_id),
            "relation": weights.relation * self._passed_over.get(node_id, 0.0) / attended,
        }
        return {name: part for name, part in parts.items() if part}

    def _nearness(self, node_id: str) -> float:
        """Return a node's relative cosine; 0 for nodes that the search found."""
        if node_id in self._entry:
            return 0.0
        nearness = self._similarity.get(node_id, 0.0) / (self._nearest or 1.0)
        return nearness if node_id in self._points else self._worth_after_last * nearness

    def find_carrying_relation(self, node_id: str) -> str:
        """Return the description of the relation that passed the most attention to a node; empty without a relation."""
        return self._via.get(node_id, "")

    def list_best(self, most: int) -> list[Node]:
        """Return the unread nodes among the ``most`` highest scores, best first, ties by id.

        Nodes that were forgotten meanwhile are left out and are no candidates any more. The list may therefore be
        shorter, even empty, although unread nodes are left.
        """
        scores = ((node_id, sum(self.sources(node_id).values())) for node_id in self._unread)
        best = [node_id for node_id, _ in nsmallest(most, scores, key=lambda scored: (-scored[1], scored[0]))]
        nodes = self._graph.nodes(best)
        for node_id in set(best).difference(node.id for node in nodes):
            del self._unread[node_id]
        return nodes

    def best(self) -> Node | None:
        """Return the unread node with the highest score, ties by id; None if all candidates were read or forgotten."""
        most = 1
        while self._unread:
            nodes = self.list_best(most)
            if nodes:
                return nodes[0]
            most *= 2  # a whole document may be forgotten: doubling needs few reads
        return None


def _rate_rank(rank: int) -> float:
    """Return the value of a rank in a search: 1 for the first rank, 0.5 for the eleventh."""
    return (_RANK + 1) / (_RANK + rank)
