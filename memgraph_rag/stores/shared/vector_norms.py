"""Checks that embeddings have length 1, which every search assumes.

The module knows no engine and no document. Invariant: writing, reading and the integrity check use the same tolerance.
"""

from __future__ import annotations

import math

import numpy as np

from memgraph_rag.types import Matrix

_TOLERANCE = 0.01
"""The tolerance of a length. Rows that were normalised in bfloat16 are off by 0.004; float32 by 1e-7."""


def are_units(matrix: Matrix) -> bool:
    """Return whether each row of a matrix has about length 1 and finite numbers; True without rows."""
    with np.errstate(over="ignore", invalid="ignore"):
        lengths = np.linalg.norm(matrix.astype(np.float64), axis=1)
        return bool((np.abs(lengths - 1) <= _TOLERANCE).all())


def is_unit(squared_length: float | None) -> bool:
    """Return whether a vector with this squared length has about length 1; False for None, a missing vector."""
    return squared_length is not None and abs(math.sqrt(abs(squared_length)) - 1) <= _TOLERANCE
