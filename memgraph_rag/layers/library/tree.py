"""The tree of a library: which documents lie under which overview, and what has to be grouped anew.

It knows no text. Invariants: a member lies under at most one overview; an overview that goes takes all above it along;
a group has at most ``Bounds.most`` members, and at least ``least`` where its level has others; only groups that a new
member joins are grouped anew, so that the work is in proportion to what is new.

The upkeep is that of a B-tree: what is too large is divided, what is too small joins its neighbours.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from memgraph_rag.layers.balanced_groups import balanced_groups, mean_vector
from memgraph_rag.types import Matrix, Vector

__all__ = ["Bounds", "LibraryTree", "Member", "regroup"]

_DECIMALS = 6  # of cosines that are compared: what differs less is a tie


@dataclass(frozen=True, slots=True)
class Bounds:
    """How many members a group has.

    Attributes:
        least: fewer join other groups, where there are others.
        filled: most of a group that is built, so that later members find room.
        most: more are divided.
    """

    least: int = 4
    filled: int = 12
    most: int = 16


@dataclass(frozen=True, slots=True, eq=False)
class Member:
    """A document (level 0) or an overview, as the level above sees it.

    Attributes:
        key: what it is in every namespace; members are ordered by it.
        documents: ids of those at or below it.
        vector: mean of these documents' vectors, of length 1.
    """

    id: str
    key: str
    documents: tuple[str, ...]
    vector: Vector


@dataclass(slots=True)
class LibraryTree:
    """Members by level and id, and of each group its members' ids."""

    levels: defaultdict[int, dict[str, Member]] = field(default_factory=lambda: defaultdict(dict[str, Member]))
    below: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])

    def put(self, level: int, member: Member, below: Iterable[str] = ()) -> None:
        """Take in a member, with what lies below it."""
        self.levels[level][member.id] = member
        if level:
            self.below[member.id] = tuple(below)

    def members(self, level: int) -> list[Member]:
        """All of a level, by key."""
        return sorted(self.levels[level].values(), key=lambda member: member.key)

    def groups(self, level: int) -> dict[str, list[Member]]:
        """The members of a level under each overview of the next, both by key."""
        here = self.levels[level]
        return {
            group.id: sorted((here[name] for name in self.below[group.id]), key=lambda member: member.key)
            for group in self.members(level + 1)
        }

    def orphans(self, level: int) -> list[Member]:
        """The members of a level that lie under nothing, by key."""
        covered = {name for group in self.levels[level + 1] for name in self.below[group]}
        return [member for member in self.members(level) if member.id not in covered]

    def remove(self, level: int, ids: Iterable[str]) -> list[str]:
        """Let go of overviews of a level, and of all that lies above them; the ids of all that went, sorted."""
        gone = set(ids)
        every: set[str] = set()
        while gone:
            every |= gone
            for name in gone:
                del self.levels[level][name], self.below[name]
            level += 1
            gone = {name for name in self.levels[level] if not gone.isdisjoint(self.below[name])}
        return sorted(every)


def regroup(
    orphans: Sequence[Member], groups: Mapping[str, Sequence[Member]], bounds: Bounds
) -> tuple[list[list[Member]], list[str]]:
    """New groups of these members, and the ids of the groups that they take the place of.

    Each goes to the group nearest to it, be it one of the new ones, itself among its members, or one that is there.
    """
    if not orphans or (len(orphans) == 1 and not groups):
        return [], []
    names = list(groups)
    means = np.array([mean_vector(_vectors(members)) for members in groups.values()])
    joining: defaultdict[str, list[Member]] = defaultdict(list)
    formed: list[list[Member]] = []
    for piece in _divided(orphans, bounds):
        staying, leaving = _parted(piece, means)
        if names and len(staying) < bounds.least:
            staying, leaving = [], piece
        for member in leaving:
            joining[names[int(np.argmax(_cosines(member, means)))]].append(member)
        formed += [staying] if staying else []
    for name in sorted(joining, key=names.index):
        joined = sorted([*groups[name], *joining[name]], key=lambda member: member.key)
        formed += _divided(joined, bounds)
    return formed, sorted(joining, key=names.index)


def _divided(members: Sequence[Member], bounds: Bounds) -> list[list[Member]]:
    """One group where it is not too large, else several that have room."""
    if len(members) <= bounds.most:
        return [list(members)]
    places = balanced_groups(_vectors(members), most=bounds.filled)
    return [[members[place] for place in group] for group in places]


def _parted(piece: list[Member], means: Matrix) -> tuple[list[Member], list[Member]]:
    """The members that stay in a new group, and those that are nearer to the mean of a group that is there."""
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
