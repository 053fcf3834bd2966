"""Vectors in 8 bits, with 8 further bits for those that a question is near to.

The module knows arrays only. Invariant: a vector that is read by its row, and the products of the 1,000 best rows with
a vector of length 1, are exact to some millionths; the other products to some thousandths.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import Self

from memgraph_rag.types import Matrix, Vector

EXACT = 1000  # best rows of a product that are computed from all bits
_BLOCK = 512  # rows that are computed together: as floats they fit the cache of a core
_FINE = 254  # parts of a coarse step

_ARRAYS = ("_coarse", "_fine", "_steps")


class RowVectors:
    """An (n, d) matrix of vectors in 16 bits a number. A vector is its step times (coarse + fine / 254)."""

    def __init__(self, coarse: NDArray[np.int8], fine: NDArray[np.int8], steps: NDArray[np.float32]) -> None:
        self._coarse, self._fine, self._steps = coarse, fine, steps  # perhaps with room for further rows
        self._count = len(steps)

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
        """The content as arrays by name, not copied, for ``restore``."""
        return {name: getattr(self, name)[: self._count] for name in _ARRAYS}

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
        return self._add_bits(rows) * self._steps[rows, None]

    def _add_bits(self, rows: int | NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the vectors of rows in parts of their steps, from all bits."""
        sums = self._fine[rows].astype(np.float32)
        sums *= np.float32(1 / _FINE)
        sums += self._coarse[rows]
        return sums

    def __matmul__(self, vector: Vector) -> NDArray[np.float32]:
        """Return (n,) the product of each row with a vector."""
        products = np.empty(len(self), np.float32)
        block = np.empty((_BLOCK, len(vector)), np.float32)
        for first in range(0, len(self), _BLOCK):
            coarse = self._coarse[first : min(first + _BLOCK, len(self))]
            floats = block[: len(coarse)]
            np.copyto(floats, coarse)
            np.dot(floats, vector, out=products[first : first + len(coarse)])
        products *= self._steps[: len(self)]
        best = np.argpartition(products, -EXACT)[-EXACT:] if len(self) > EXACT else np.arange(len(self))
        exact = np.einsum("rd,d->r", self._add_bits(best), vector)  # unlike a product of BLAS, equal rows are equal
        products[best] = exact * self._steps[best]
        return products

    def select(self, rows: NDArray[np.int64]) -> Self:
        """Return an object of these rows, given in rising order; adjacent rows are not copied."""
        is_slice = len(rows) and rows[-1] - rows[0] + 1 == len(rows)
        chosen = slice(rows[0], rows[-1] + 1) if is_slice else rows
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
