"""A hierarchy of communities of a weighted graph: Leiden, with each community that is too large divided again.

It knows no entity and no text; ``graspologic-native`` does the mathematics, as in the released GraphRAG. Invariants: a
node is in one community of each level that it has; the children of a community, where it has some, hold its members,
each once; the same edges in the same order, and the same seed, give the same hierarchy.

Source: GraphRAG (arXiv 2404.16130), section 3.1.4; Leiden: Traag et al. (arXiv 1810.08473). Beyond the paper:
communities that are known already can be kept whole, so that only what is new is divided.
"""

from __future__ import annotations

import importlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from memgraph_rag.errors import SettingsError

__all__ = ["SEED", "Community", "Edges", "hierarchy", "require_leiden"]

SEED = 0xDEADBEEF
"""The released code's."""

_NO_INNER_EDGE = 1e-6  # the weight of what holds a kept community together that has no inner edge any more


@dataclass(frozen=True, slots=True)
class Edges:
    """Undirected weighted edges, each pair once.

    Attributes:
        ends: (m, 2) int, the smaller node first, sorted.
        weights: (m,) float, above 0.
    """

    ends: NDArray[np.int64]
    weights: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.weights)


@dataclass(frozen=True, slots=True)
class Community:
    """Nodes that are joined to each other more than to others.

    Attributes:
        members: sorted.
        children: places, in the list of communities, of those that it consists of; of the lowest none.
        level: 1, or 1 more than the highest of its children.
    """

    members: tuple[int, ...]
    children: tuple[int, ...] = ()
    level: int = 1


def require_leiden() -> None:
    """Refuse to look for communities without the package that does it, before anything is built.

    Raises:
        SettingsError: graspologic-native is not installed.
    """
    if find_spec("graspologic_native") is None:
        raise SettingsError(
            "Expected the package graspologic-native for the layer communities, got none. "
            'Install it: pip install "memgraph_rag[communities]", or leave the layer out.',
            layer="communities",
            package="graspologic-native",
        )


def hierarchy(
    edges: Edges, *, kept: Sequence[Community] = (), most_members: int = 10, seed: int = SEED
) -> list[Community]:
    """The communities of all components, those below before those above; the first of them are those kept.

    A community of more than ``most_members`` is divided again, until Leiden sees nothing in it to divide: a star or a
    clique is never divided, so that the lowest may be larger. A node without an edge is in none.

    Args:
        kept: communities that stay as they are, the parts of each before it. The uppermost of them take part as one
            node each; edges within them count for their degree, so that the modularity is that of the whole graph.
        most_members: nodes and kept communities that are divided no more.

    Cost: with graspologic-native 1.3, 4 s for 84,000 nodes and 672,000 edges on one core.
    """
    uppermost = _uppermost(kept)
    named = list(_between_units(edges, kept, uppermost))
    communities = list(kept)
    if named:
        most_units = most_members * (2 if kept else 1)  # each kept one is two nodes
        for nodes, places in _bottom_up(_leiden()(named, max_cluster_size=most_units, seed=seed)):
            _add(communities, uppermost, nodes, places)
    return communities


class _Cluster(Protocol):
    """That a node is in a cluster of a level, of which 0 is the highest."""

    node: str
    cluster: int
    level: int


def _leiden() -> Callable[..., list[_Cluster]]:
    """The library's function; the library has no types."""
    graspologic: Any = importlib.import_module("graspologic_native")
    return graspologic.hierarchical_leiden


def _uppermost(kept: Sequence[Community]) -> dict[int, int]:
    """The place of the highest kept community of each of their members."""
    places = sorted(range(len(kept)), key=lambda place: kept[place].level)
    return {node: place for place in places for node in kept[place].members}


def _between_units(
    edges: Edges, kept: Sequence[Community], uppermost: dict[int, int]
) -> Iterator[tuple[str, str, float]]:
    """The edges between nodes that are in nothing kept, and kept communities in their place.

    A kept community has its inner edges as one edge to a node of its own that nothing else is joined to: it counts for
    modularity as they do. (The library does not count edges from a node to itself so.)
    """
    if not kept:
        for (first, second), weight in zip(edges.ends.tolist(), edges.weights.tolist(), strict=True):
            yield str(first), str(second), weight
        return
    weights: defaultdict[tuple[str, str], float] = defaultdict(float)
    for place in dict.fromkeys(uppermost.values()):
        weights[f"kept {place}", f"within {place}"] = 0.0
    for (first, second), weight in zip(edges.ends.tolist(), edges.weights.tolist(), strict=True):
        of_first, of_second = uppermost.get(first, -1), uppermost.get(second, -1)
        if of_first == of_second >= 0:
            weights[f"kept {of_first}", f"within {of_first}"] += weight
        else:
            start = str(first) if of_first < 0 else f"kept {of_first}"
            end = str(second) if of_second < 0 else f"kept {of_second}"
            weights[min(start, end), max(start, end)] += weight
    yield from ((first, second, weight or _NO_INNER_EDGE) for (first, second), weight in weights.items())


def _bottom_up(clusters: Iterable[_Cluster]) -> Iterator[tuple[list[int], list[int]]]:
    """Of each cluster the nodes and the kept communities that it consists of, the lowest level first."""
    units: defaultdict[tuple[int, int], list[str]] = defaultdict(list)
    for cluster in clusters:
        units[-cluster.level, cluster.cluster].append(cluster.node)
    for place in sorted(units):
        nodes = sorted(int(name) for name in units[place] if name.isdecimal())
        yield nodes, sorted(int(name.split()[1]) for name in units[place] if name.startswith("kept"))


def _add(communities: list[Community], uppermost: dict[int, int], nodes: Sequence[int], kept: Sequence[int]) -> None:
    """Append the community of these nodes and kept communities, over those of them that are there already.

    Nodes that are in none stand beside communities as one of their own, so that each level is made of whole parts.
    """
    loose = [node for node in nodes if node not in uppermost]
    holding = {uppermost[node] for node in nodes if node in uppermost}
    children = sorted(holding | {uppermost[communities[place].members[0]] for place in kept})
    if loose:
        _append(communities, uppermost, Community(tuple(loose)))
        children.append(len(communities) - 1)
    if len(children) > 1:
        members = sorted(node for child in children for node in communities[child].members)
        level = 1 + max(communities[child].level for child in children)
        _append(communities, uppermost, Community(tuple(members), tuple(children), level))


def _append(communities: list[Community], uppermost: dict[int, int], community: Community) -> None:
    communities.append(community)
    uppermost.update(dict.fromkeys(community.members, len(communities) - 1))
