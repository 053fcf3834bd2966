"""A hierarchy of communities of a weighted graph: Leiden, which divides each community that is too large again.

It knows no entity and no text; ``graspologic-native`` does the mathematics, as in the released GraphRAG. Invariants: a
node is in at most one community of each level; the children of a community, if it has some, hold each of its members
once; the same edges in the same order give the same hierarchy.

Source: GraphRAG (arXiv 2404.16130), section 3.1.4; Leiden: Traag et al. (arXiv 1810.08473).
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

SEED = 0xDEADBEEF
"""The seed of the released code."""


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
    """Nodes that are joined more to each other than to other nodes.

    Attributes:
        members: nodes, sorted.
        children: places of its children in the list of communities; empty for a lowest community.
        level: 1 for a lowest community, else 1 more than the highest level of its children.
    """

    members: tuple[int, ...]
    children: tuple[int, ...] = ()
    level: int = 1


def require_leiden() -> None:
    """Check, before anything is built, that the package for communities is installed.

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


def hierarchy(edges: Edges, *, most_members: int = 10) -> list[Community]:
    """Return the communities of a graph, those of all its connected components, children before parents.

    A community of more than ``most_members`` is divided again until Leiden finds no division. A star or a clique is
    never divided, so a lowest community may be larger. A node without an edge is in no community.

    Args:
        edges: the weighted edges of the graph.
        most_members: a community of at most this many nodes is not divided.

    Cost: with graspologic-native 1.3, 4 s for 84,000 nodes and 672,000 edges on one core.
    """
    named = [
        (str(first), str(second), weight)
        for (first, second), weight in zip(edges.ends.tolist(), edges.weights.tolist(), strict=True)
    ]
    communities: list[Community] = []
    uppermost: dict[int, int] = {}
    for nodes in _bottom_up(_leiden()(named, max_cluster_size=most_members, seed=SEED)) if named else ():
        _add(communities, uppermost, nodes)
    return communities


class _Cluster(Protocol):
    """The membership of a node in a cluster of a level. Level 0 is the highest."""

    node: str
    cluster: int
    level: int


def _leiden() -> Callable[..., list[_Cluster]]:
    """Return the function of the library, which has no type annotations."""
    graspologic: Any = importlib.import_module("graspologic_native")
    return graspologic.hierarchical_leiden


def _bottom_up(clusters: Iterable[_Cluster]) -> Iterator[list[int]]:
    """Yield the nodes of each cluster, lowest level first."""
    nodes: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
    for cluster in clusters:
        nodes[-cluster.level, cluster.cluster].append(int(cluster.node))
    for place in sorted(nodes):
        yield sorted(nodes[place])


def _add(communities: list[Community], uppermost: dict[int, int], nodes: Sequence[int]) -> None:
    """Append the community of these nodes, as the parent of their present communities.

    Nodes without a community form a further child together, so the children hold all members.
    """
    loose = [node for node in nodes if node not in uppermost]
    children = sorted({uppermost[node] for node in nodes if node in uppermost})
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
