"""Find the next segments from a set of entities: along relations, and along mentions.

The module knows the graph by its contract. Invariants: a relation is followed at most once; a returned segment was not
read before; the work of one step is bounded, whatever the number of segments that name an entity; a segment that was
forgotten between two reads of the graph is skipped.

Source: QRMeM, algorithm 1, lines 8 to 13, from the current entities (``docs/decisions``).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from memgraph_rag.contracts import GraphReader
from memgraph_rag.types import OPEN_KIND, Neighbour, Segment, Vector

__all__ = ["Finding", "MentionFrontier", "RelationFrontier"]

_EDGES = 16  # relations not yet followed that one expansion reads at least
_MOST_HOPS = 8  # relations that are followed without an unread segment, before mentions are tried
_MOST_SEGMENTS = 32  # nearest segments that are looked at for a relation's new end


@dataclass(frozen=True, slots=True)
class Finding:
    """An unread segment that a frontier found.

    Attributes:
        score: the cosine between the query and the relation, or the query and the segment.
        via: the description of the relation that led to the segment; empty for a mention.
    """

    segment: Segment
    score: float
    via: str = ""


class MentionFrontier:
    """The segments that name one of the current entities. The caller may replace ``entities`` between two steps.

    Args:
        entities: ids of entities.
        documents: ids of documents that may be read; None allows all.
    """

    def __init__(self, graph: GraphReader, entities: Iterable[str], documents: Sequence[str] | None) -> None:
        self.entities = list(dict.fromkeys(entities))
        self._graph = graph
        self._documents = documents

    def next(self, vector: Vector, read: Collection[str]) -> Finding | None:
        """Return the unread segment nearest to the vector that names a current entity.

        If all such segments were read, return the nearest one that names an entity of the read segments. None if there
        is none either, although other segments may be unread.
        """
        nearest = self._nearest(self.entities, vector, read)
        if nearest is None:
            entities_by_segment = self._graph.entities_of(sorted(read))
            nearest = self._nearest(
                sorted(
                    {entity_id for segment_entities in entities_by_segment.values() for entity_id in segment_entities}
                ),
                vector,
                read,
            )
        return nearest

    def _nearest(self, entities: Sequence[str], vector: Vector, read: Collection[str]) -> Finding | None:
        if not entities:
            return None
        hits = self._graph.segments_naming(entities, vector=vector, k=len(read) + 1, documents=self._documents)
        for hit in hits:
            if hit.node_id not in read:
                segment = _read_segment(self._graph, hit.node_id)
                if segment is None:
                    return self._nearest(entities, vector, {*read, hit.node_id})
                return Finding(segment, hit.score)
        return None


class RelationFrontier:
    """The relations of the current entities. Both ends of a followed relation become current entities.

    Args:
        entities: ids of the first entities.
        documents: ids of documents that may be read; None allows all.
        open_entities: whether to follow relations with an end whose only kind is ``OPEN_KIND``.
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
        """The ids of the current entities, in the order in which they were reached; the given ones are first."""
        return self._mentions.entities

    def follow(self, vector: Vector) -> Neighbour | None:
        """Follow the relation nearest to the vector among those not yet followed, and return it; None without one.

        Both ends of the relation become current entities. Without open entities only the nearest relations are looked
        at: None may be returned although a farther one could be followed.
        """
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
        """Return the ends that only a language model, and no recognizer, found."""
        ends = sorted({end for edge in edges for end in (edge.relation.source_id, edge.relation.target_id)})
        return {entity.id for entity in self._graph.entities(ends) if entity.kinds == (OPEN_KIND,)}

    def next(self, vector: Vector, read: Collection[str]) -> list[Finding]:
        """Return the unread segments that the nearest relation leads to.

        These are the segment that states the relation, then the segments that name its new end, nearest first
        (algorithm 1, line 13). Of the latter the nearest 32 are looked at. If all were read, the next relations are
        followed, up to eight in all. If no relation leads to an unread segment, the list holds the one segment that
        ``MentionFrontier.next`` returns. It is empty if there is none.
        """
        for _ in range(_MOST_HOPS):
            known = set(self.entities)
            edge = self.follow(vector)
            if edge is None:
                break
            findings = self._find_segments(edge, known, vector, read)
            if findings:
                return findings
        nearest = self._mentions.next(vector, read)
        return [nearest] if nearest else []

    def _find_segments(
        self, edge: Neighbour, known: Collection[str], vector: Vector, read: Collection[str]
    ) -> list[Finding]:
        reached = sorted({edge.relation.source_id, edge.relation.target_id}.difference(known))
        hits = (
            self._graph.segments_naming(reached, vector=vector, k=_MOST_SEGMENTS, documents=self._documents)
            if reached
            else []
        )
        ids = [edge.relation.segment_id, *(hit.node_id for hit in hits)]
        unread = [segment_id for segment_id in dict.fromkeys(ids) if segment_id not in read]
        segments = (node for node in self._graph.nodes(unread) if isinstance(node, Segment))
        return [Finding(segment, edge.score, edge.relation.description) for segment in segments]


def _read_segment(graph: GraphReader, segment_id: str) -> Segment | None:
    """Return the segment with that id; None if it was forgotten meanwhile."""
    node = next(iter(graph.nodes([segment_id])), None)
    return node if isinstance(node, Segment) else None
