"""The tree of communities of a memory: which are kept of those that are stored, and what each consists of.

It knows no model. Invariants: a segment that names an entity of a community lies under a lowest community; over all of
them is one, as the last, so that whether anything lacks can be seen: it goes with any document that changes.

Beyond GraphRAG (arXiv 2404.16130), whose communities are computed anew for each change: stored communities stay, but
for those of which a member is named by a document that is new.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from memgraph_rag.systems.graphrag.entity_graph import EntityGraph
from memgraph_rag.systems.graphrag.hierarchical_leiden import Community, hierarchy
from memgraph_rag.types import IndexedSegment, Overview, Relation

__all__ = ["CommunityTree", "grow_tree", "make_key"]

_MOST_LOOSE = 0.2  # of the entities: where more are in nothing that is kept, all communities are made anew
_MOST_LEVELS = 12  # kept communities come to lie under ever more levels


@dataclass(frozen=True, slots=True)
class CommunityTree:
    """Communities, those below before those above.

    Attributes:
        segments: of each lowest community, by place, the ids of the segments that speak of it, in their order.
        relations: of each community, by place, the relations that no community below it holds.
    """

    communities: Sequence[Community]
    segments: Mapping[int, Sequence[str]] = field(default_factory=dict[int, list[str]])
    relations: Mapping[int, Sequence[Relation]] = field(default_factory=dict[int, list[Relation]])


def grow_tree(
    graph: EntityGraph,
    segments: Sequence[IndexedSegment],
    relations: Iterable[Relation],
    stored: Sequence[Overview],
    *,
    most_members: int,
    seed: int,
) -> CommunityTree:
    """The communities of all entities that have to do with another.

    Args:
        stored: the communities of earlier calls that are still true.
    """
    communities = _stored_communities(graph, stored)
    if not _is_whole(communities, graph, segments, stored):
        kept = _kept(communities, graph, segments, stored)
        communities = _with_top(hierarchy(graph.edges, kept=kept, most_members=most_members, seed=seed))
    lowest, parents = _lowest(communities), _parents(communities)
    return CommunityTree(
        communities,
        _segments_of(lowest, graph, segments),
        _relations_of(lowest, parents, graph, relations),
    )


def make_key(*parts: object) -> str:
    """A hash of what a report was made of; the parts are framed as JSON."""
    return hashlib.sha256(json.dumps(parts, ensure_ascii=False).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _stored_communities(graph: EntityGraph, stored: Sequence[Overview]) -> list[Community]:
    """Those whose members are all there, the lower ones before the higher ones; their children are found by members."""
    places = graph.place_of
    communities: list[Community] = []
    uppermost: dict[int, int] = {}
    for overview in sorted(stored, key=lambda overview: (overview.level, len(overview.entities), overview.key)):
        if not places.keys() >= set(overview.entities):
            continue
        members = tuple(sorted(places[entity_id] for entity_id in overview.entities))
        children = tuple(sorted({uppermost[member] for member in members if member in uppermost}))
        of_children = sorted(member for child in children for member in communities[child].members)
        if children and tuple(of_children) != members:
            continue  # what it stood on is gone
        level = 1 + max((communities[child].level for child in children), default=0)
        communities.append(Community(members, children, level))
        uppermost |= dict.fromkeys(members, len(communities) - 1)
    return communities


def _is_whole(
    communities: Sequence[Community], graph: EntityGraph, segments: Sequence[IndexedSegment], stored: Sequence[Overview]
) -> bool:
    """Whether nothing lacks: one community holds all entities that have an edge, and no document is new."""
    linked = int((graph.degrees > 0).sum())
    if len(communities) < len(stored):
        return False
    held = max((len(community.members) for community in communities), default=0)
    return held == linked and not _touched(communities, graph, segments, stored)


def _touched(
    communities: Sequence[Community], graph: EntityGraph, segments: Sequence[IndexedSegment], stored: Sequence[Overview]
) -> set[int]:
    """The members of communities that a document names on which no stored community rests."""
    known = {document_id for overview in stored for document_id in overview.documents}
    members = {member for community in communities for member in community.members}
    new = {
        place for segment in segments if segment.document_id not in known for place in graph.named.get(segment.id, ())
    }
    return new & members


def _kept(
    communities: Sequence[Community], graph: EntityGraph, segments: Sequence[IndexedSegment], stored: Sequence[Overview]
) -> list[Community]:
    """The stored communities that nothing new touches, without the one over all; none where too few are left."""
    touched = _touched(communities, graph, segments, stored)
    linked = int((graph.degrees > 0).sum())
    everybody = {member for community in communities for member in community.members}
    kept: list[Community] = []
    new_places: dict[int, int] = {}
    for place, community in enumerate(communities):
        is_top = bool(community.children) and len(community.members) == len(everybody)
        if not is_top and touched.isdisjoint(community.members):
            new_places[place] = len(kept)
            children = tuple(new_places[child] for child in community.children)
            kept.append(Community(community.members, children, community.level))
    held = {member for community in kept for member in community.members}
    levels = max((community.level for community in kept), default=0)
    return kept if linked - len(held) <= _MOST_LOOSE * linked and levels < _MOST_LEVELS else []


def _with_top(communities: list[Community]) -> list[Community]:
    """With one more over all that lie under none, where there are several."""
    under = {child for community in communities for child in community.children}
    roots = [place for place in range(len(communities)) if place not in under]
    if len(roots) < 2:
        return communities
    members = sorted(member for root in roots for member in communities[root].members)
    level = 1 + max(communities[root].level for root in roots)
    return [*communities, Community(tuple(members), tuple(roots), level)]


def _lowest(communities: Sequence[Community]) -> dict[int, int]:
    """The place of the lowest community of each of their members."""
    return {
        member: place
        for place, community in enumerate(communities)
        if not community.children
        for member in community.members
    }


def _parents(communities: Sequence[Community]) -> dict[int, int]:
    return {child: place for place, community in enumerate(communities) for child in community.children}


def _segments_of(
    lowest: Mapping[int, int], graph: EntityGraph, segments: Sequence[IndexedSegment]
) -> dict[int, list[str]]:
    """Each segment under the communities of which it names two members; where there is none, under that of the first.

    That one is the same whatever else is in memory: entities are in the order of their names. Under a community that
    comes to nothing so, as one of a single entity may, come all segments that name a member.
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


def _relations_of(
    lowest: Mapping[int, int], parents: Mapping[int, int], graph: EntityGraph, relations: Iterable[Relation]
) -> dict[int, list[Relation]]:
    """Each relation under the lowest community that holds both its ends."""
    under: defaultdict[int, list[Relation]] = defaultdict(list)
    for relation in relations:
        ends = (graph.place_of.get(relation.source_id), graph.place_of.get(relation.target_id))
        held = [_above(lowest[end], parents) for end in ends if end is not None and end in lowest]
        if len(held) == 2 and (common := _first_common(*held)) is not None:
            under[common].append(relation)
    return dict(under)


def _above(place: int, parents: Mapping[int, int]) -> list[int]:
    """A community and all above it."""
    line = [place]
    while line[-1] in parents:
        line.append(parents[line[-1]])
    return line


def _first_common(line: Sequence[int], other: Sequence[int]) -> int | None:
    others = frozenset(other)
    return next((place for place in line if place in others), None)
