"""The graph of entities for the search of communities. Its edges are relations, or co-mentions in a segment.

It knows no database. Invariants: entities are ordered by normalised name, so the same memory gives the same graph in
every namespace; each pair has at most one edge, with a weight above 0.

Sources: GraphRAG (arXiv 2404.16130), section 3.1.3; the released code's fast variant for memories without elements.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from memgraph_rag.systems.graphrag.hierarchical_leiden import Edges
from memgraph_rag.types import Entity, IndexedSegment

MOST_NAMED = 64
"""A segment that names more entities is ignored: it is a list of names and says almost nothing about pairs."""

_PRUNED = 0.4  # share of the co-mentions of the least weight; the fast variant's min_edge_weight_pct


@dataclass(frozen=True, slots=True)
class EntityGraph:
    """Entities and weighted edges between them. An entity is known by its place in ``entities``.

    Attributes:
        entities: (n,) ordered by normalised name.
        edges: edges between places of entities.
        named: places of the entities that each segment names, sorted, by segment id.
        degrees: (n,) number of edges of each entity.
        place_of: the place of each entity, by entity id.
    """

    entities: tuple[Entity, ...]
    edges: Edges
    named: Mapping[str, tuple[int, ...]]
    degrees: NDArray[np.int64]
    place_of: Mapping[str, int]

    @classmethod
    def from_names(cls, entities: Iterable[Entity], segments: Sequence[IndexedSegment]) -> EntityGraph:
        """Build the graph of these entities, joined by the segments that name both.

        Echoes, and co-mentions in a segment that names more than ``MOST_NAMED`` entities, are ignored. The weight of an
        edge is p(x, y) log2(p(x, y) / (p(x) p(y))). The two fifths of the edges with the least weight are then removed,
        except the heaviest edge of each entity.
        """
        ordered = tuple(sorted(entities, key=lambda entity: (entity.normal, entity.id)))
        places = {entity.id: place for place, entity in enumerate(ordered)}
        named = {
            segment.id: tuple(sorted(places[entity_id] for entity_id in segment.entities if entity_id in places))
            for segment in segments
            if not segment.echo
        }
        edges = _weigh_by_information(_pairs(named.values(), len(ordered)), named, len(ordered))
        return cls(ordered, edges, named, _degrees(edges, len(ordered)), places)

    @classmethod
    def from_elements(cls, entities: Iterable[Entity], related: Mapping[tuple[str, str], float]) -> EntityGraph:
        """Build the graph of extracted entities. An edge weighs the summed strength of the relations of its ends.

        Args:
            related: the strength of each relation, by the ids of its source and its target.
        """
        ordered = tuple(sorted(entities, key=lambda entity: (entity.normal, entity.id)))
        places = {entity.id: place for place, entity in enumerate(ordered)}
        ends = [(places[source], places[target]) for source, target in related]
        edges = _sum_edges(ends, np.array(list(related.values())), len(ordered))
        return cls(ordered, edges, {}, _degrees(edges, len(ordered)), places)

    def largest_component(self) -> EntityGraph:
        """Return this graph with the edges of its largest connected component only; entities keep their places."""
        size = len(self.entities)
        adjacency = coo_array((self.edges.weights, self.edges.ends.T), shape=(size, size))
        _, labels = connected_components(adjacency, directed=False)
        kept = labels[self.edges.ends[:, 0]] == np.bincount(labels).argmax() if size else np.zeros(0, bool)
        edges = Edges(self.edges.ends[kept], self.edges.weights[kept])
        return replace(self, edges=edges, degrees=_degrees(edges, size))


def _pairs(named: Iterable[Sequence[int]], entities: int) -> NDArray[np.int64]:
    """Return (m,) the pairs that segments name, coded as first × n + second. A pair may occur several times."""
    codes: list[NDArray[np.int64]] = [np.zeros(0, np.int64)]
    for places in named:
        if 2 <= len(places) <= MOST_NAMED:
            of_segment = np.array(places, np.int64)
            first, second = np.triu_indices(len(places), k=1)
            codes.append(of_segment[first] * entities + of_segment[second])
    return np.concatenate(codes)


def _sum_edges(related: Sequence[tuple[int, int]], strengths: NDArray[np.float64], entities: int) -> Edges:
    """Return the edges of relations, in any direction, with summed strengths."""
    ends = np.sort(np.array(related, np.int64).reshape(-1, 2), axis=1)
    of_two = ends[:, 0] < ends[:, 1]
    unique, places = np.unique(ends[of_two, 0] * entities + ends[of_two, 1], return_inverse=True)
    return _edges(unique, np.bincount(places, strengths[of_two]).astype(np.float64), entities)


def _weigh_by_information(pairs: NDArray[np.int64], named: Mapping[str, Sequence[int]], entities: int) -> Edges:
    """Return the edges of co-mentions, weighted by pointwise mutual information and pruned."""
    codes, counts = np.unique(pairs, return_counts=True)
    if not len(codes):
        return _edges(codes, np.zeros(0), entities)
    mentions = np.bincount([place for places in named.values() for place in places], minlength=entities)
    shares = mentions / mentions.sum()
    ends = np.stack([codes // entities, codes % entities], axis=1)
    joint = counts / counts.sum()
    information = joint * np.log2(joint / shares[ends].prod(axis=1))
    kept = (information > 0) & (information >= np.quantile(information, _PRUNED))
    kept[_find_heaviest(ends, information)] = True
    weights = np.maximum(information[kept] / information.max(), 0.0) if information.max() > 0 else np.zeros(kept.sum())
    return _edges(codes[kept], np.maximum(weights, 1e-6), entities)


def _find_heaviest(ends: NDArray[np.int64], weights: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the places of the edges that are the heaviest edge of a node, the first one if several are equal."""
    nodes, edges = ends.T.ravel(), np.tile(np.arange(len(ends)), 2)
    order = np.lexsort((edges, -weights[edges], nodes))
    _, first = np.unique(nodes[order], return_index=True)
    return np.unique(edges[order][first])


def _degrees(edges: Edges, entities: int) -> NDArray[np.int64]:
    return np.bincount(edges.ends.ravel(), minlength=entities)


def _edges(codes: NDArray[np.int64], weights: NDArray[np.float64], entities: int) -> Edges:
    return Edges(np.stack([codes // max(entities, 1), codes % max(entities, 1)], axis=1), weights)
