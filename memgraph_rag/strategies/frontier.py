"""The next places from a set of entities: along relations, and along mentions.

It knows the graph by its contract. Invariants: an edge is followed at most once; what is found was not read before;
the work of one step is bounded, whatever the number of segments that name an entity; what was forgotten between two
reads of the graph is passed over.

Source: QRMeM, algorithm 1, lines 8 to 13, from the current entities (``docs/decisions``).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from memgraph_rag.contracts import GraphReader
from memgraph_rag.types import OPEN_KIND, Neighbour, Segment, Vector

__all__ = ["Found", "MentionFrontier", "RelationFrontier"]

_EDGES = 16  # unread relations that one expansion looks at, at least
_MOST_HOPS = 8  # relations followed within what was read already, before mentions are tried
_MOST_SEGMENTS = 32  # of an entity that a relation reaches, the nearest ones


@dataclass(frozen=True, slots=True)
class Found:
    """An unread segment, how near its edge is to what is looked for, and the relation that led to it, if one did."""

    segment: Segment
    score: float
    via: str = ""


class MentionFrontier:
    """Segments that name one of the current entities, which may be written anew between two steps.

    Args:
        entities: ids.
        documents: ids; None is all.
    """

    def __init__(self, graph: GraphReader, entities: Iterable[str], documents: Sequence[str] | None) -> None:
        self.entities = list(dict.fromkeys(entities))
        self._graph = graph
        self._documents = documents

    def next(self, vector: Vector, read: Collection[str]) -> Found | None:
        """The unread segment nearest to the vector; where all of theirs are read, of the entities in what was read."""
        nearest = self._nearest(self.entities, vector, read)
        if nearest is None:
            beside = self._graph.entities_of(sorted(read))
            nearest = self._nearest(
                sorted({entity_id for of_segment in beside.values() for entity_id in of_segment}), vector, read
            )
        return nearest

    def _nearest(self, entities: Sequence[str], vector: Vector, read: Collection[str]) -> Found | None:
        if not entities:
            return None
        hits = self._graph.segments_naming(entities, vector=vector, k=len(read) + 1, documents=self._documents)
        for hit in hits:
            if hit.node_id not in read:
                segment = _segment(self._graph, hit.node_id)
                if segment is None:
                    return self._nearest(entities, vector, {*read, hit.node_id})
                return Found(segment, hit.score)
        return None


class RelationFrontier:
    """The relations at the current entities, which grow by each one that is followed.

    Args:
        entities: ids of those to begin from.
        documents: ids; None is all.
        open_entities: without, no relation is followed of which an end is known as ``OPEN_KIND`` only.
    """

    def __init__(
        self,
        graph: GraphReader,
        entities: Iterable[str],
        documents: Sequence[str] | None,
        *,
        open_entities: bool = True,
    ) -> None:
        self._open_entities = open_entities
        self._graph = graph
        self._documents = documents
        self._mentions = MentionFrontier(graph, entities, documents)
        self._followed: set[str] = set()

    @property
    def entities(self) -> list[str]:
        """The ids of the current entities, in the order in which they were reached."""
        return self._mentions.entities

    def follow(self, vector: Vector) -> Neighbour | None:
        """Go along the relation nearest to the vector that was not followed before; both its ends are current then."""
        if not self.entities:
            return None
        most = len(self._followed) + _EDGES
        edges = self._graph.expand(self.entities, vector=vector, k=most, documents=self._documents)
        closed = set() if self._open_entities else self._open_among(edges)
        for edge in edges:
            ends = (edge.relation.source_id, edge.relation.target_id)
            if edge.relation.id not in self._followed and closed.isdisjoint(ends):
                self._followed.add(edge.relation.id)
                self._mentions.entities += [
                    entity_id for entity_id in dict.fromkeys(ends) if entity_id not in self.entities
                ]
                return edge
        return None

    def _open_among(self, edges: Sequence[Neighbour]) -> set[str]:
        """The ends that no recognizer found, but a language model alone."""
        ends = sorted({end for edge in edges for end in (edge.relation.source_id, edge.relation.target_id)})
        return {entity.id for entity in self._graph.entities(ends) if entity.kinds == (OPEN_KIND,)}

    def next(self, vector: Vector, read: Collection[str]) -> list[Found]:
        """The unread segments behind the nearest relation; where all of them were read already, a further hop.

        Those are the one that states it, then all of the entity that it reaches, the nearest first (algorithm 1, line
        13). Where no relation leads to an unread segment, the nearest one that names a current entity.
        """
        for _ in range(_MOST_HOPS):
            known = set(self.entities)
            edge = self.follow(vector)
            if edge is None:
                break
            behind = self._behind(edge, known, vector, read)
            if behind:
                return behind
        nearest = self._mentions.next(vector, read)
        return [nearest] if nearest else []

    def _behind(self, edge: Neighbour, known: Collection[str], vector: Vector, read: Collection[str]) -> list[Found]:
        reached = sorted({edge.relation.source_id, edge.relation.target_id}.difference(known))
        hits = (
            self._graph.segments_naming(reached, vector=vector, k=_MOST_SEGMENTS, documents=self._documents)
            if reached
            else []
        )
        ids = [edge.relation.segment_id, *(hit.node_id for hit in hits)]
        unread = [segment_id for segment_id in dict.fromkeys(ids) if segment_id not in read]
        segments = (node for node in self._graph.nodes(unread) if isinstance(node, Segment))
        return [Found(segment, edge.score, edge.relation.description) for segment in segments]


def _segment(graph: GraphReader, segment_id: str) -> Segment | None:
    """The segment of that id; None where it was forgotten since it was found."""
    node = next(iter(graph.nodes([segment_id])), None)
    return node if isinstance(node, Segment) else None
