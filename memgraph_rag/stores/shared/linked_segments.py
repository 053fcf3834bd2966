"""One step of a walk over segments and the entities that they name, computed from rows of edges.

The module knows no engine. Invariant: equal rows give equal hits, in any order of rows.

Source of the step: personalised PageRank; HippoRAG (2405.14831), section 2.3.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from memgraph_rag.stores.shared.rows import Row
from memgraph_rag.types import Hit

MOST_LINKS = 1000
"""The most segments that an entity may link: beyond them, each would get less than a thousandth of its mass."""

TITLE_WEIGHT = 4.0
"""The weight of the edge from a segment to an entity in its document's title. A mention weighs 1."""

Edges = dict[str, dict[str, float]]


def entity_masses(edges: Iterable[Row], masses: Mapping[str, float]) -> dict[str, float]:
    """Divide the mass of segments among the entities that they name; return the mass of each entity, by id.

    A segment divides its mass in proportion to the weights of its edges. If two edges have the same ends, the heavier
    one counts.

    Args:
        edges: rows of ``segment_id``, ``entity_id`` and ``weight``. A segment that is not in ``masses`` has mass 0.
    """
    on_entities: dict[str, float] = defaultdict(float)
    for segment_id, weights in sorted(_group_edges(edges, "segment_id", "entity_id").items()):
        total = sum(weights.values())
        for entity_id, weight in weights.items():
            on_entities[entity_id] += masses.get(segment_id, 0.0) * weight / total
    return on_entities


def select_linked_hits(
    edges: Iterable[Row], on_entities: Mapping[str, float], *, named: Iterable[str], entity_mass: float, k: int
) -> list[Hit]:
    """Divide the mass of entities among their segments; return the k segments with the most mass, best first.

    Ties are in the order of ids. An entity with more than ``MOST_LINKS`` segments passes no mass on. A segment of the
    edges may have score 0.

    Args:
        edges: rows of ``entity_id``, ``segment_id`` (None is skipped) and ``weight``. If two edges have the same ends,
            the heavier one counts.
        on_entities: the mass of each entity, by id.
        named: ids of entities that share ``entity_mass`` in addition; an entity with fewer segments gets more of it.
    """
    by_entity = _group_edges(edges, "entity_id", "segment_id")
    shares = {entity_id: 1 / len(by_entity[entity_id]) for entity_id in named if entity_id in by_entity}
    scores: dict[str, float] = defaultdict(float)
    for entity_id, weights in sorted(by_entity.items()):
        if len(weights) <= MOST_LINKS:
            mass = on_entities.get(entity_id, 0.0)
            if entity_id in shares:
                mass += entity_mass * shares[entity_id] / sum(shares.values())
            total = sum(weights.values())
            for segment_id, weight in weights.items():
                scores[segment_id] += mass * weight / total
    hits = (Hit(segment_id, round(score, 12)) for segment_id, score in scores.items())
    return sorted(hits, key=lambda hit: (-hit.score, hit.node_id))[:k]


def _group_edges(edges: Iterable[Row], one: str, other: str) -> Edges:
    """Group the edges by the column ``one``: the weight of each value of the column ``other``."""
    gathered: Edges = defaultdict(dict)
    for row in edges:
        if row[one] is not None and row[other] is not None:
            weights = gathered[row[one]]
            weights[row[other]] = max(row["weight"], weights.get(row[other], 0.0))
    return gathered
