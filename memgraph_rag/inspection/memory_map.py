"""Places the documents and names of a whole memory in a plane, as a map for people.

It knows the graph by its contract; it draws nothing. Invariants: equal graphs give equal maps; a map is computed once
for a version of the memory, and kept until the next version; edges have both of their ends on the map.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import fft, sparse

from memgraph_rag.calls.validation import check_count
from memgraph_rag.contracts import GraphStore
from memgraph_rag.types import MemoryMap, Naming

_Places = NDArray[np.complex128]
_Ends = NDArray[np.int64]

_SMOOTHINGS = 40  # rounds in which each node moves to the mean of its neighbours
_ROUNDS = 60  # of forces
_FIRST_STEP = 0.1  # the longest move of the first round; that of the last is the mean distance of nodes
_PULL = 4.0  # of edges, compared with the force at the rim
_SPREAD = 1.2  # the map reaches from -1.2 to 1.2 on each axis
_LARGE = 30_000  # nodes from which on the grid of the forces is finer
_GOLDEN = np.pi * (3 - 5**0.5)  # the angle between neighbours in a sunflower
_MOST_MAPS = 2  # of a version: the usual one, and a larger one


class Cartographer:
    """Makes the maps of one memory, and keeps those of its newest version."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._maps: dict[int, MemoryMap] = {}

    def map(self, graph: GraphStore, most: int) -> MemoryMap:
        """Return the map of the current version with at most ``most`` nodes; see ``Memory.map``."""
        check_count("most", most)
        with self._lock:
            version = graph.version()
            if any(each.version != version for each in self._maps.values()):
                self._maps.clear()
            if most not in self._maps:
                if len(self._maps) == _MOST_MAPS:
                    del self._maps[next(iter(self._maps))]
                self._maps[most] = _draw(graph, version, most)
            return self._maps[most]


def _draw(graph: GraphStore, version: int, most: int) -> MemoryMap:
    keys, namings = graph.document_keys(), graph.namings()
    names = {naming.entity_id: naming.name for naming in namings}
    named_in = Counter(naming.entity_id for naming in namings)
    names_of: Counter[str] = Counter(dict.fromkeys(keys, 0))
    names_of.update(naming.document_id for naming in namings if naming.document_id in keys)
    room = max(most // 2, most - len(named_in))
    documents = _most_frequent(names_of, room)
    entities = _most_frequent(named_in, most - len(documents))
    ids = [*documents, *entities]
    ends, weights = _edges(namings, ids)
    return MemoryMap(
        version=version,
        ids=tuple(ids),
        names=(*(keys[each] for each in documents), *(names[each] for each in entities)),
        documents=len(documents),
        positions=lay_out(ends, weights, len(ids)),
        sizes=np.array([*(names_of[each] for each in documents), *(named_in[each] for each in entities)], np.float32),
        edges=ends.astype(np.uint32),
        left_out={"documents": len(keys) - len(documents), "entities": len(named_in) - len(entities)},
    )


def _most_frequent(counted: Counter[str], most: int) -> list[str]:
    return sorted(counted, key=lambda each: (-counted[each], each))[:most]


def _edges(namings: Sequence[Naming], ids: Sequence[str]) -> tuple[_Ends, NDArray[np.float64]]:
    """Return (m, 2) the ends of each edge by their places in ``ids``, and (m,) its weight; other edges are left out."""
    places = {node_id: place for place, node_id in enumerate(ids)}
    rows = [
        (places[naming.document_id], places[naming.entity_id], naming.number)
        for naming in namings
        if naming.document_id in places and naming.entity_id in places
    ]
    table = np.array(sorted(rows), np.int64).reshape(-1, 3)
    return table[:, :2], np.log1p(table[:, 2])


def lay_out(ends: _Ends, weights: NDArray[np.float64], count: int) -> NDArray[np.float32]:
    """Return (count, 2) places of nodes, about within the unit circle; nodes with an edge are near each other.

    Each node first moves to the mean of its neighbours, which brings communities together. Forces then part the nodes:
    they repel each other, and edges pull. Nodes without an edge surround all others.

    Args:
        ends: (m, 2) the two ends of each edge.
        weights: (m,) how strongly each edge pulls.
    """
    places = _SPREAD * np.sqrt((np.arange(count) + 0.5) / max(count, 1)) * np.exp(1j * _GOLDEN * np.arange(count))
    is_tied = np.bincount(ends.ravel(), minlength=count) > 0
    tied = np.flatnonzero(is_tied)
    order = np.concatenate([tied, np.flatnonzero(~is_tied)])
    places[order] = places.copy()  # those with edges are inside
    if len(tied):
        renumbered = np.cumsum(is_tied) - 1
        places[tied] = _settle(renumbered[ends], weights, len(tied)) * np.sqrt(len(tied) / count)
    return np.stack([places.real, places.imag], axis=1).astype(np.float32)


def _settle(ends: _Ends, weights: NDArray[np.float64], count: int) -> _Places:
    """Return (count,) places of nodes that each have an edge, as complex numbers."""
    both = np.concatenate([ends, ends[:, ::-1]]).T
    pulls = sparse.csr_matrix((np.concatenate([weights, weights]), (both[0], both[1])), shape=(count, count))
    degrees = np.asarray(pulls.sum(axis=1)).ravel()
    to_mean = sparse.diags(1 / degrees) @ pulls
    places = _gather(to_mean, degrees)
    charges = 1 + degrees
    forces = _Repulsion(charges, grid=256 if count > _LARGE else 128)
    chance = np.random.default_rng(0)
    for step in np.geomspace(_FIRST_STEP, 1 / np.sqrt(count), _ROUNDS):
        moves = forces.compute(places) - places + _PULL * (to_mean @ places - places)
        kicks = chance.normal(size=(count, 2)) @ np.array([1, 1j])  # part nodes that are pulled alike
        places = places + step * (moves / np.maximum(np.abs(moves), 1) + kicks / 2)
    return places


def _gather(to_mean: sparse.csr_matrix, degrees: NDArray[np.float64]) -> _Places:
    """Return places at which communities are together, and which fill the unit circle evenly."""
    count = len(degrees)
    axes = np.random.default_rng(0).normal(size=(count, 2))
    for turn in range(_SMOOTHINGS):
        axes = (axes + to_mean @ axes) / 2
        axes -= np.average(axes, axis=0, weights=degrees)
        if turn % 10 == 9 and count > 1:  # the axes stay different
            axes = np.linalg.qr(axes)[0]
    places = axes @ np.array([1, 1j])
    ranks = np.argsort(np.argsort(np.abs(places), kind="stable"))
    return np.sqrt((ranks + 0.5) / count) * np.exp(1j * np.angle(places))


class _Repulsion:
    """The force of all nodes on each place, computed on a grid by a Fourier transform.

    Charges that fill the unit circle evenly give the force z at each place z within it.
    """

    def __init__(self, charges: NDArray[np.float64], *, grid: int) -> None:
        self._charges, self._grid = charges / charges.sum(), grid
        self._cell = 2 * _SPREAD / (grid - 1)
        offsets = fft.fftfreq(2 * grid, 1 / (2 * grid))
        vectors = offsets[None, :] + 1j * offsets[:, None]
        forces = (vectors / (np.abs(vectors) ** 2 + 0.25) / self._cell).astype(np.complex64)
        self._kernel = np.asarray(fft.fft2(forces))

    def compute(self, places: _Places) -> _Places:
        """Return the force at the place of each node."""
        grid = self._grid
        columns, rows = (np.clip((axis + _SPREAD) / self._cell, 0, grid - 1.001) for axis in (places.real, places.imag))
        first = rows.astype(np.int64) * grid + columns.astype(np.int64)
        across, down = columns % 1, rows % 1
        corners = [
            (first, (1 - across) * (1 - down)), (first + 1, across * (1 - down)),
            (first + grid, (1 - across) * down), (first + grid + 1, across * down),
        ]  # fmt: skip
        masses = sum(np.bincount(cell, self._charges * share, minlength=grid * grid) for cell, share in corners)
        padded = np.zeros((2 * grid, 2 * grid), np.complex64)
        padded[:grid, :grid] = np.reshape(masses, (grid, grid))
        moved = np.asarray(fft.ifft2(np.asarray(fft.fft2(padded)) * self._kernel))
        field = moved[:grid, :grid].ravel()
        return np.sum([field[cell] * share for cell, share in corners], axis=0)
