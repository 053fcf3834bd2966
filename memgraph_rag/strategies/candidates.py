"""All nodes that a walk can read next, each with the sources of its score, kept from step to step.

It knows the graph by its contract, and neither session nor model. Invariants: a node that was read is no candidate any
more, nor is one that was found to be forgotten; a score is the sum of its sources and depends only on what was read
before; per step each kind of read of the graph is made once (nodes: again, where the best ones are gone), and its work
is bounded.

Sources: PECAN, section 3.2 (what is passed down); QRMeM, algorithm 1 (relations of the current entities).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import nsmallest

from memgraph_rag.contracts import GraphReader
from memgraph_rag.strategies.library_frontier import LibraryFrontier
from memgraph_rag.types import Hit, Node, Vector

__all__ = ["Candidates", "Weights"]

_RANK = 9
_MOST_DOCUMENTS = 8  # whose points are candidates from the beginning
_EDGES = 16  # relations that the entities of one step contribute


@dataclass(frozen=True, slots=True)
class Weights:
    """What each source of a score counts; 0 switches it off.

    Attributes:
        entry: of the place in what each search found.
        attention: of what read nodes pass down to those that they summarise.
        similarity: of the cosine to what was searched for last.
        relation: of what read segments pass on over the relations of their entities.
    """

    entry: float = 1.0
    attention: float = 1.0
    similarity: float = 0.75
    relation: float = 1.0


class Candidates:
    """The unread nodes of one walk.

    Attention and cosine are taken relative to the largest, so that each source lies between 0 and about 1 (2 for what
    two searches found). The place in a search holds the similarity already, so the cosine counts for what none found:
    in full for points, which no search ranks; for segments, which it ranked behind all that it found, at most what the
    place behind the last is worth.

    Args:
        weights: of the sources.
        documents: ids of those that may be read; None is all.
        library: where there is one, its tops are candidates, and what lies below each overview that is read.
        falls_with_distance: whether attention does: it is multiplied by the node's place then, as in PECAN.
    """

    def __init__(
        self,
        graph: GraphReader,
        weights: Weights,
        documents: Sequence[str] | None,
        *,
        library: LibraryFrontier | None = None,
        falls_with_distance: bool = False,
    ) -> None:
        self._graph = graph
        self._weights = weights
        self._documents = documents
        self._library = library
        self._falls_with_distance = falls_with_distance
        self._entry: dict[str, float] = {}
        self._similarity: dict[str, float] = {}
        self._points: set[str] = set()
        self._behind = 1.0  # what the place behind the last of a search is worth
        self._passed_down: dict[str, float] = {}
        self._passed_over: dict[str, float] = {}
        self._via = dict.fromkeys((top.id for top in library.tops), library.note) if library else {}
        self._largest = 0.0  # attention that a read node got
        self._nearest = 0.0  # cosine
        self._wanted: Vector | None = None
        self._hits: Sequence[Hit] = ()  # of the scope
        self._scope: list[str] = []
        self._unread: dict[str, None] = {}
        self._read: set[str] = set()

    # ── what there is to read ────────────────────────────────────────────────────────────────────────────

    def enter(self, nodes: Sequence[Node], wanted: Vector) -> None:
        """Let in what a search found, best first, and the points of the first of its documents by this vector's cosine.

        Again for another search: a node's worths by its place in each add up, so that what both found comes first, and
        all cosines are those to the new vector.
        """
        for rank, node in enumerate(nodes, 1):
            self._entry[node.id] = self._entry.get(node.id, 0.0) + _worth(rank)
        self._behind = _worth(len(nodes) + 1)
        # Of this search only: what the one before found and was forgotten since is gone.
        self._unread |= dict.fromkeys(node.id for node in nodes if node.id not in self._read)
        documents = dict.fromkeys(node.document_id for node in nodes)
        self._scope = list(dict.fromkeys([*documents, *self._scope]))[:_MOST_DOCUMENTS]
        self._wanted = wanted
        if self._weights.similarity:
            self._hits = self._graph.similarities(wanted, documents=self._scope) if self._scope else []
            if self._library:
                self._library.look_for(wanted)
            self._compare()

    def _compare(self) -> None:
        """Take the cosines to what is wanted in place of those that were known; what has none is far."""
        hits = [*self._hits, *(self._library.hits() if self._library else ())]
        self._similarity = {hit.node_id: max(hit.score, 0.0) for hit in hits}
        self._points = {hit.node_id for hit in hits if hit.kind != "segment"}
        self._nearest = max(self._similarity.values(), default=0.0)
        self._unread |= dict.fromkeys(self._similarity.keys() - self._read - self._unread.keys())

    # ── what was read ────────────────────────────────────────────────────────────────────────────────────

    def read(self, nodes: Sequence[Node], attention: Sequence[float]) -> None:
        """Nodes are read: they pass their attention down to what they summarise, and over their entities' relations."""
        given: dict[str, float] = {}
        for node, attended in zip(nodes, attention, strict=True):
            self._read.add(node.id)
            self._unread.pop(node.id, None)
            place = len(self._read) + 1 if self._falls_with_distance else 1  # the question is 1
            given[node.id] = max(attended, 0.0) * place
        self._largest = max([self._largest, *given.values()])
        if self._library and self._library.descend(nodes) and self._weights.similarity and self._wanted is not None:
            self._compare()
        self._pass_down({node.id: given[node.id] for node in nodes if node.level})
        self._pass_over({node.id: given[node.id] for node in nodes if not node.level})

    def _pass_down(self, given: Mapping[str, float]) -> None:
        """PECAN's z += r E, over the edges of the nodes just read."""
        if not given or not self._weights.attention:
            return
        for edge in self._graph.successors(list(given)):
            if edge.target_id not in self._read:
                self._unread.setdefault(edge.target_id)
                before = self._passed_down.get(edge.target_id, 0.0)
                self._passed_down[edge.target_id] = before + given[edge.source_id] * edge.weight

    def _pass_over(self, given: Mapping[str, float]) -> None:
        """To each segment that states a relation of an entity in what was read: attention x the relation's cosine.

        Of several ways to a segment the best one counts.
        """
        if not given or not self._weights.relation:
            return
        naming: dict[str, float] = {}
        for segment_id, entities in self._graph.entities_of(list(given)).items():
            for entity in entities:
                naming[entity] = max(naming.get(entity, 0.0), given[segment_id])
        if not naming:
            return
        neighbours = self._graph.expand(sorted(naming), vector=self._wanted, k=_EDGES, documents=self._documents)
        passed: dict[str, float] = {}
        for neighbour in neighbours:
            relation = neighbour.relation
            if relation.segment_id in self._read:
                continue
            # An end that was reached through SIMILAR_TO is named by none of these segments: it gets the least.
            ends = [naming[end] for end in (relation.source_id, relation.target_id) if end in naming]
            worth = max(ends, default=min(naming.values())) * max(neighbour.score, 0.0)
            if worth > max(passed.get(relation.segment_id, 0.0), self._passed_over.get(relation.segment_id, 0.0)):
                passed[relation.segment_id] = worth
                self._via[relation.segment_id] = relation.description
        self._passed_over |= passed
        self._unread |= dict.fromkeys(segment_id for segment_id in passed if segment_id not in self._unread)

    @property
    def read_so_far(self) -> int:
        """How many nodes were read."""
        return len(self._read)

    # ── what is best ─────────────────────────────────────────────────────────────────────────────────────

    def sources(self, node_id: str) -> dict[str, float]:
        """What each source gives a node, weighted; without those that give nothing. They sum to its score."""
        weights, attended = self._weights, self._largest or 1.0
        parts = {
            "entry": weights.entry * self._entry.get(node_id, 0.0),
            "attention": weights.attention * self._passed_down.get(node_id, 0.0) / attended,
            "similarity": weights.similarity * self._nearness(node_id),
            "relation": weights.relation * self._passed_over.get(node_id, 0.0) / attended,
        }
        return {name: part for name, part in parts.items() if part}

    def _nearness(self, node_id: str) -> float:
        """The cosine of what no search found, relative to the largest."""
        if node_id in self._entry:
            return 0.0
        nearness = self._similarity.get(node_id, 0.0) / (self._nearest or 1.0)
        return nearness if node_id in self._points else self._behind * nearness

    def via(self, node_id: str) -> str:
        """The relation over which a node got the most; empty where it got nothing over any."""
        return self._via.get(node_id, "")

    def ranked(self, most: int) -> list[Node]:
        """The unread nodes of the highest scores, best first, ties by id; of these, those that are still there."""
        scores = ((node_id, sum(self.sources(node_id).values())) for node_id in self._unread)
        best = [node_id for node_id, _ in nsmallest(most, scores, key=lambda scored: (-scored[1], scored[0]))]
        nodes = self._graph.nodes(best)
        for node_id in set(best).difference(node.id for node in nodes):
            del self._unread[node_id]
        return nodes

    def best(self) -> Node | None:
        """The unread node of the highest score; None where all are read or forgotten."""
        most = 1
        while self._unread:
            nodes = self.ranked(most)
            if nodes:
                return nodes[0]
            most *= 2  # a whole document went: few reads, however long it was
        return None


def _worth(rank: int) -> float:
    """Of a place in a search: 1 for the first, a half for the eleventh."""
    return (_RANK + 1) / (_RANK + rank)
