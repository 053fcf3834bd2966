"""Vectors in 8 bits, with 8 further bits for those that a question is near to.

The module knows arrays only. Invariant: a vector that is read by its row, and the products of the 1,000 best rows with
a vector of length 1, are exact to some millionths; the other products to some thousandths.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import Self

from memgraph_rag.types import Matrix, Vector

EXACT = 1000  # best rows of a product that are computed from all bits
_BLOCK = 512  # rows that are computed together: as floats they fit the cache of a core
_FINE = 254  # parts of a coarse step
_SHORTEST_RUN = 64  # adjacent rows, in the mean; shorter ones are copied, since a product for each run is slow

_ARRAYS = ("_coarse", "_fine", "_steps")


class RowVectors:
    """An (n, d) matrix of vectors in 16 bits a number. A vector is its step times (coarse + fine / 254).

    ``rows`` selects rows of the arrays, rising and each once. None selects all.
    """

    def __init__(
        self,
        coarse: NDArray[np.int8],
        fine: NDArray[np.int8],
        steps: NDArray[np.float32],
        rows: NDArray[np.int64] | None = None,
    ) -> None:
        self._coarse, self._fine, self._steps = coarse, fine, steps  # perhaps with room for further rows
        self._rows = rows
        self._count = len(steps if rows is None else rows)

    @classmethod
    def encode(cls, matrix: Matrix) -> Self:
        """Return the rows of a float matrix in the compact form."""
        largest = np.abs(matrix).max(axis=1, initial=0.0)
        steps = np.where(largest > 0, largest / 127, 1.0).astype(np.float32)
        scaled = matrix / steps[:, None]
        coarse = np.round(scaled)
        return cls(coarse.astype(np.int8), np.round((scaled - coarse) * _FINE).astype(np.int8), steps)

    @classmethod
    def restore(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Return the vectors that ``arrays`` of another object hold; the arrays are never written to."""
        return cls(*(arrays[name] for name in _ARRAYS))

    @property
    def arrays(self) -> dict[str, NDArray[Any]]:
        """The content as arrays by name, for ``restore``; they are copies only if ``rows`` were selected."""
        selected = slice(self._count) if self._rows is None else self._rows
        return {name: getattr(self, name)[selected] for name in _ARRAYS}

    @property
    def nbytes(self) -> int:
        """How many bytes the vectors take."""
        return sum(getattr(self, name).nbytes for name in _ARRAYS)

    def shares_memory(self, other: RowVectors) -> bool:
        """Return whether some rows are the same bytes as in another object."""
        return np.may_share_memory(self._coarse, other._coarse)

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, rows: int | NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the vectors of rows, or the vector of one row."""
        places = rows if self._rows is None else self._rows[rows]
        sums = self._fine[places].astype(np.float32)
        sums *= np.float32(1 / _FINE)
        sums += self._coarse[places]
        return sums * self._steps[places, None]

    def __matmul__(self, vector: Vector) -> NDArray[np.float32]:
        """Return (n,) the product of each row with a vector."""
        products = np.empty(len(self), np.float32)
        block = np.empty((_BLOCK, len(vector)), np.float32)
        for place, first, end in self._list_runs():
            for start in range(first, end, _BLOCK):
                coarse = self._coarse[start : min(start + _BLOCK, end)]
                floats = block[: len(coarse)]
                np.copyto(floats, coarse)
                np.dot(floats, vector, out=products[place + start - first :][: len(coarse)])
        products *= self._steps[: len(self)] if self._rows is None else self._steps[self._rows]
        best = np.argpartition(products, -EXACT)[-EXACT:] if len(self) > EXACT else np.arange(len(self))
        products[best] = np.einsum("rd,d->r", self[best], vector)  # unlike a product of BLAS, equal rows are equal
        return products

    def _list_runs(self) -> list[tuple[int, int, int]]:
        """Return (row here, first row of the arrays, row behind the last one) of each run of adjacent rows."""
        if self._rows is None:
            return [(0, 0, len(self))]
        places = [0, *_find_gaps(self._rows), len(self)]
        return [(place, int(self._rows[place]), int(self._rows[end - 1]) + 1) for place, end in pairwise(places)]

    def select(self, rows: NDArray[np.int64]) -> Self:
        """Return an object of these rows, given in rising order; long runs of adjacent rows are not copied."""
        runs = 1 + len(_find_gaps(rows))
        if runs > 1 and runs * _SHORTEST_RUN < len(rows):
            places = rows if self._rows is None else self._rows[rows]
            return type(self)(self._coarse, self._fine, self._steps, places)
        chosen = slice(rows[0], rows[-1] + 1) if runs == 1 and len(rows) else rows
        return type(self)(*(array[chosen] for array in self.arrays.values()))

    def append(self, matrix: Matrix) -> None:
        """Add the rows of a matrix. Arrays that are copied get an eighth more room, so that few rows cost no copy."""
        added = self.encode(matrix)
        first, end = len(self), len(self) + len(added)
        for name in _ARRAYS:
            array, new = getattr(self, name), getattr(added, name)
            if end > len(array) or first == 0:
                larger = np.empty((max(end, first + first // 8), *new.shape[1:]), new.dtype)
                if first:
                    larger[:first] = array[:first]
                setattr(self, name, larger)
            getattr(self, name)[first:end] = new
        self._count = end


def _find_gaps(rows: NDArray[np.int64]) -> list[int]:
    """Return the places of the rows that do not follow the row before."""
    return (1 + np.flatnonzero(np.diff(rows) != 1)).tolist()
