"""Whether embeddings have length 1, as every search takes for granted.

It knows no engine and no document. Invariant: what is written, read back and examined has one tolerance.
"""

from __future__ import annotations

import math

import numpy as np

from memgraph_rag.types import Matrix

__all__ = ["are_units", "is_unit"]

_TOLERANCE = 0.01
"""Of a length. Rows that were normalised in bfloat16 are off by 0.004; float32 by 1e-7."""


def are_units(matrix: Matrix) -> bool:
    """Whether each row has length 1; one with a number that is not finite has not."""
    with np.errstate(over="ignore", invalid="ignore"):
        lengths = np.linalg.norm(matrix.astype(np.float64), axis=1)
        return bool((np.abs(lengths - 1) <= _TOLERANCE).all())


def is_unit(squared_length: float | None) -> bool:
    """Whether a vector with this dot product with itself has length 1; None is no vector."""
    return squared_length is not None and abs(math.sqrt(abs(squared_length)) - 1) <= _TOLERANCE
