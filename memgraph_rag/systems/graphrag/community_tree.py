"""The tree of communities of a memory, and the segments and relations of each.

It knows no model. Invariants: each segment that names an entity of a community belongs to a lowest community; the last
community contains all others.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from memgraph_rag.systems.graphrag.entity_graph import EntityGraph
from memgraph_rag.systems.graphrag.hierarchical_leiden import Community, hierarchy
from memgraph_rag.types import IndexedSegment, Relation


@dataclass(frozen=True, slots=True)
class CommunityTree:
    """Communities, children before their parents. A community is known by its place in this list.

    Attributes:
        segments: ids of the segments of each lowest community, by place, in the order of the segments.
        relations: relations of each community, by place, that no community below it holds.
    """

    communities: Sequence[Community]
    segments: Mapping[int, Sequence[str]] = field(default_factory=dict[int, list[str]])
    relations: Mapping[int, Sequence[Relation]] = field(default_factory=dict[int, list[Relation]])


def grow_tree(
    graph: EntityGraph,
    segments: Sequence[IndexedSegment] = (),
    relations: Iterable[Relation] = (),
    *,
    most_members: int,
) -> CommunityTree:
    """Return the tree of communities of all entities that have an edge.

    The last community contains all others, if there are several.

    Args:
        graph: the graph of entities.
        segments: all segments of the memory, without echoes, if entities are names in segments.
        relations: all relations of the memory, if entities are extracted.
        most_members: a community of more members is divided, if Leiden finds a division.
    """
    communities = _append_top(hierarchy(graph.edges, most_members=most_members))
    lowest = _find_lowest(communities)
    return CommunityTree(
        communities,
        _group_segments(lowest, graph, segments),
        _group_relations(lowest, _parents(communities), graph, relations),
    )


def make_key(*parts: object) -> str:
    """Return a hash of the inputs of a report, 32 hex digits. The parts are serialized as JSON."""
    return hashlib.sha256(json.dumps(parts, ensure_ascii=False).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _append_top(communities: list[Community]) -> list[Community]:
    """Append a community over all communities without a parent, if there are several."""
    under = {child for community in communities for child in community.children}
    roots = [place for place in range(len(communities)) if place not in under]
    if len(roots) < 2:
        return communities
    members = sorted(member for root in roots for member in communities[root].members)
    level = 1 + max(communities[root].level for root in roots)
    return [*communities, Community(tuple(members), tuple(roots), level)]


def _find_lowest(communities: Sequence[Community]) -> dict[int, int]:
    """Return the place of the lowest community of each entity, by the entity's place."""
    return {
        member: place
        for place, community in enumerate(communities)
        if not community.children
        for member in community.members
    }


def _parents(communities: Sequence[Community]) -> dict[int, int]:
    return {child: place for place, community in enumerate(communities) for child in community.children}


def _group_segments(
    lowest: Mapping[int, int], graph: EntityGraph, segments: Sequence[IndexedSegment]
) -> dict[int, list[str]]:
    """Return the segment ids of each lowest community.

    A segment belongs to each community of which it names two members, or else to the community of the first entity that
    it names. Entities are ordered by name, so other content of the memory does not change that choice. A community
    without any such segment gets all segments that name a member.
    """
    under: defaultdict[int, list[str]] = defaultdict(list)
    naming: defaultdict[int, list[str]] = defaultdict(list)
    for segment in segments:
        places = [lowest[member] for member in graph.named.get(segment.id, ()) if member in lowest]
        twice = sorted({place for place in places if places.count(place) > 1})
        for place in twice or places[:1]:
            under[place].append(segment.id)
        for place in dict.fromkeys(places):
            naming[place].append(segment.id)
    return dict(naming | under)


def _group_relations(
    lowest: Mapping[int, int], parents: Mapping[int, int], graph: EntityGraph, relations: Iterable[Relation]
) -> dict[int, list[Relation]]:
    """Return the relations of each community: a relation belongs to the lowest community that holds both its ends."""
    under: defaultdict[int, list[Relation]] = defaultdict(list)
    for relation in relations:
        ends = (graph.place_of.get(relation.source_id), graph.place_of.get(relation.target_id))
        held = [_list_ancestors(lowest[end], parents) for end in ends if end is not None and end in lowest]
        if len(held) == 2 and (common := _find_common(*held)) is not None:
            under[common].append(relation)
    return dict(under)


def _list_ancestors(place: int, parents: Mapping[int, int]) -> list[int]:
    """Return a community and all communities above it, lowest first."""
    line = [place]
    while line[-1] in parents:
        line.append(parents[line[-1]])
    return line


def _find_common(line: Sequence[int], other: Sequence[int]) -> int | None:
    others = frozenset(other)
    return next((place for place in line if place in others), None)
