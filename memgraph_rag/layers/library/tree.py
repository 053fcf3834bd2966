"""The tree of a library: which documents are under which overview, and which groups must be formed again.

The module knows no text. Invariants: a member is under at most one overview; removing an overview removes all overviews
above it; a group has at most ``Bounds.most`` members, and at least ``least`` if its level has other groups; only groups
that a new member joins are formed again, so the work is in proportion to the new members.

The tree is maintained like a B-tree: a group that is too large is divided, a group that is too small joins its
neighbours.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from memgraph_rag.layers.balanced_groups import make_balanced_groups, mean_vector
from memgraph_rag.types import Matrix, Vector

_DECIMALS = 6  # of compared cosines: smaller differences are ties


@dataclass(frozen=True, slots=True)
class Bounds:
    """The limits on the number of members of a group.

    Attributes:
        least: a smaller group joins other groups, if there are any.
        filled: the largest size of a new group, so that later members have room.
        most: a larger group is divided.
    """

    least: int = 4
    filled: int = 12
    most: int = 16


@dataclass(frozen=True, slots=True, eq=False)
class Member:
    """A document (level 0) or an overview, as a member of a group.

    Attributes:
        key: a name that is the same in every namespace; members are ordered by it.
        documents: ids of the documents at or below the member.
        vector: mean of these documents' vectors, of length 1.
    """

    id: str
    key: str
    documents: tuple[str, ...]
    vector: Vector


@dataclass(slots=True)
class LibraryTree:
    """The members by level and id (``levels``), and the ids of the members of each overview, by its id (``below``)."""

    levels: defaultdict[int, dict[str, Member]] = field(default_factory=lambda: defaultdict(dict[str, Member]))
    below: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])

    def put(self, level: int, member: Member, below: Iterable[str] = ()) -> None:
        """Add a member to a level, or replace it, with the ids of the members directly below it (not at level 0)."""
        self.levels[level][member.id] = member
        if level:
            self.below[member.id] = tuple(below)

    def members(self, level: int) -> list[Member]:
        """Return all members of a level, by key."""
        return sorted(self.levels[level].values(), key=lambda member: member.key)

    def groups(self, level: int) -> dict[str, list[Member]]:
        """Return the members of a level under each overview of the next level, both by key; orphans are left out."""
        here = self.levels[level]
        return {
            group.id: sorted((here[name] for name in self.below[group.id]), key=lambda member: member.key)
            for group in self.members(level + 1)
        }

    def orphans(self, level: int) -> list[Member]:
        """Return the members of a level that no overview of the next level covers, by key."""
        covered = {name for group in self.levels[level + 1] for name in self.below[group]}
        return [member for member in self.members(level) if member.id not in covered]

    def remove(self, level: int, ids: Iterable[str]) -> list[str]:
        """Remove these overviews of a level and all overviews above them; return the removed ids, sorted."""
        removed = set(ids)
        all_removed: set[str] = set()
        while removed:
            all_removed |= removed
            for name in removed:
                del self.levels[level][name], self.below[name]
            level += 1
            removed = {name for name in self.levels[level] if not removed.isdisjoint(self.below[name])}
        return sorted(all_removed)


def regroup(
    orphans: Sequence[Member], groups: Mapping[str, Sequence[Member]], bounds: Bounds
) -> tuple[list[list[Member]], list[str]]:
    """Return new groups for the orphans (members without a group), and the ids of the groups that they replace.

    An orphan joins the nearest group: an existing group, which is then formed again, or a new group with other orphans.
    A replaced group may become several groups, because ``bounds`` limits the sizes. Both lists are empty without
    orphans, and for a single orphan if there is no group.
    """
    if not orphans or (len(orphans) == 1 and not groups):
        return [], []
    names = list(groups)
    means = np.array([mean_vector(_vectors(members)) for members in groups.values()])
    joining: defaultdict[str, list[Member]] = defaultdict(list)
    formed: list[list[Member]] = []
    for piece in _divide(orphans, bounds):
        staying, leaving = _part(piece, means)
        if names and len(staying) < bounds.least:
            staying, leaving = [], piece
        for member in leaving:
            joining[names[int(np.argmax(_cosines(member, means)))]].append(member)
        formed += [staying] if staying else []
    for name in sorted(joining, key=names.index):
        joined = sorted([*groups[name], *joining[name]], key=lambda member: member.key)
        formed += _divide(joined, bounds)
    return formed, sorted(joining, key=names.index)


def _divide(members: Sequence[Member], bounds: Bounds) -> list[list[Member]]:
    """Return the members as one group, or as several groups of at most ``filled`` members if they are too many."""
    if len(members) <= bounds.most:
        return [list(members)]
    places = make_balanced_groups(_vectors(members), most=bounds.filled)
    return [[members[place] for place in group] for group in places]


def _part(piece: list[Member], means: Matrix) -> tuple[list[Member], list[Member]]:
    """Return the members that stay in a new group, and the members nearer to the mean of an existing group."""
    own = mean_vector(_vectors(piece))[np.newaxis]
    staying: list[Member] = []
    leaving: list[Member] = []
    for member in piece:
        is_away = len(means) and _cosines(member, means).max() > _cosines(member, own)[0]
        (leaving if is_away else staying).append(member)
    return staying, leaving


def _cosines(member: Member, means: Matrix) -> Vector:
    return (means @ member.vector).round(_DECIMALS)


def _vectors(members: Sequence[Member]) -> Matrix:
    return np.stack([member.vector for member in members])
