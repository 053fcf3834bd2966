"""Embeddings at length 1, whatever made them.

Invariant: a row that has length 1 stays bit for bit; one without a direction stays too.
"""

from __future__ import annotations

import numpy as np

from memgraph_rag.types import Matrix

__all__ = ["units"]

_ROUNDING = 1e-5  # of a length in float32


def units(matrix: Matrix) -> Matrix:
    """(n, d) float32, each row divided by its length where that is another than 1.

    >>> units(np.array([[3.0, 4.0], [0.0, 1.0]], np.float32)).tolist()
    [[0.6000000238418579, 0.800000011920929], [0.0, 1.0]]
    """
    rows = np.asarray(matrix, np.float32)
    lengths = np.linalg.norm(rows.astype(np.float64), axis=-1, keepdims=True)
    is_other = np.isfinite(lengths) & (lengths > 0) & (np.abs(lengths - 1) > _ROUNDING)
    if not is_other.any():
        return rows
    return (rows / np.where(is_other, lengths, 1.0)).astype(np.float32)
