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

MOST_NAMING = 256
"""How many segments that name an entity are looked at: more than L of the paper holds."""

_EDGES = 16  # relations not yet followed that one expansion reads at least
_MOST_HOPS = 8  # relations that are followed without an unread segment, before mentions are tried


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
            entities_by_segment = self._graph.list_mentioned_entities(sorted(read))
            mentioned = sorted({entity_id for ids in entities_by_segment.values() for entity_id in ids})
            nearest = self._nearest(mentioned, vector, read)
        return nearest

    def find_all(self, vector: Vector, read: Collection[str]) -> list[Finding]:
        """Return the unread segments that name a current entity, nearest to the vector first.

        At most ``MOST_NAMING`` segments beyond the number of read ones are looked at.
        """
        most = len(read) + MOST_NAMING
        hits = self._graph.segments_naming(self.entities, vector=vector, k=most, documents=self._documents)
        scores = {hit.node_id: hit.score for hit in hits if hit.node_id not in read}
        return [Finding(node, scores[node.id]) for node in self._graph.nodes(list(scores)) if isinstance(node, Segment)]

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

        Both ends of the relation become current entities. Relations that say the same of the same entities, as fused
        ones do, are followed together. Without open entities only the nearest relations are looked at: None may be
        returned although a farther one could be followed.
        """
        return next(iter(self._follow(vector)), None)

    def _follow(self, vector: Vector) -> list[Neighbour]:
        """Follow the nearest relation as ``follow`` does; return it, then the relations that say the same."""
        if not self.entities:
            return []
        most = len(self._followed) + _EDGES
        edges = self._graph.expand(self.entities, vector=vector, k=most, documents=self._documents)
        closed = set() if self._open_entities else self._list_open_ends(edges)
        for edge in edges:
            ends = (edge.relation.source_id, edge.relation.target_id)
            if edge.relation.id not in self._followed and closed.isdisjoint(ends):
                same = [other for other in edges if _fact(other) == _fact(edge)]
                self._followed.update(other.relation.id for other in same)
                self.add(ends)
                return [edge, *(other for other in same if other is not edge)]
        return []

    def add(self, entity_ids: Iterable[str]) -> None:
        """Add entities to the current ones, those of them that are new."""
        self.entities.extend(entity_id for entity_id in dict.fromkeys(entity_ids) if entity_id not in self.entities)

    def _list_open_ends(self, edges: Sequence[Neighbour]) -> set[str]:
        """Return the ends that only a language model, and no recognizer, found."""
        ends = sorted({end for edge in edges for end in (edge.relation.source_id, edge.relation.target_id)})
        return {entity.id for entity in self._graph.entities(ends) if entity.kinds == (OPEN_KIND,)}

    def next(self, vector: Vector, read: Collection[str]) -> list[Finding]:
        """Return the unread segments that the nearest relation leads to.

        These are the segments that state the relation, then the segments that name its new end, nearest first
        (algorithm 1, line 13). Of the latter the nearest 256 are looked at. If all were read, the next relations are
        followed, up to eight in all. If no relation leads to an unread segment, the list holds the one segment that
        ``MentionFrontier.next`` returns. It is empty if there is none.
        """
        for _ in range(_MOST_HOPS):
            known = set(self.entities)
            edges = self._follow(vector)
            if not edges:
                break
            findings = self._find_segments(edges, known, vector, read)
            if findings:
                return findings
        nearest = self._mentions.next(vector, read)
        return [nearest] if nearest else []

    def _find_segments(
        self, edges: Sequence[Neighbour], known: Collection[str], vector: Vector, read: Collection[str]
    ) -> list[Finding]:
        edge = edges[0]
        reached = sorted({edge.relation.source_id, edge.relation.target_id}.difference(known))
        hits = (
            self._graph.segments_naming(reached, vector=vector, k=MOST_NAMING, documents=self._documents)
            if reached
            else []
        )
        ids = [*(same.relation.segment_id for same in edges), *(hit.node_id for hit in hits)]
        unread = [segment_id for segment_id in dict.fromkeys(ids) if segment_id not in read]
        segments = (node for node in self._graph.nodes(unread) if isinstance(node, Segment))
        return [Finding(segment, edge.score, edge.relation.description) for segment in segments]


def _fact(edge: Neighbour) -> tuple[str, str, str]:
    """Return source, target and description of a relation."""
    return edge.relation.source_id, edge.relation.target_id, edge.relation.description


def _read_segment(graph: GraphReader, segment_id: str) -> Segment | None:
    """Return the segment with that id; None if it was forgotten meanwhile."""
    node = next(iter(graph.nodes([segment_id])), None)
    return node if isinstance(node, Segment) else None
