"""Normalisation of the embeddings of any embedder to length 1.

Invariant: a row of length 1 stays bit for bit the same; so does a row that is 0 or not finite.
"""

from __future__ import annotations

import numpy as np

from memgraph_rag.types import Matrix

_ROUNDING = 1e-5  # the rounding error of a length in float32


def units(matrix: Matrix) -> Matrix:
    """Return the (n, d) float32 matrix in which each row is divided by its length, unless the length is 1.

    A row that is 0 or not finite stays as it is. If no row changes, a float32 matrix itself is returned.

    >>> units(np.array([[3.0, 4.0], [0.0, 1.0]], np.float32)).tolist()
    [[0.6000000238418579, 0.800000011920929], [0.0, 1.0]]
    """
    rows = np.asarray(matrix, np.float32)
    lengths = np.linalg.norm(rows.astype(np.float64), axis=-1, keepdims=True)
    is_other = np.isfinite(lengths) & (lengths > 0) & (np.abs(lengths - 1) > _ROUNDING)
    if not is_other.any():
        return rows
    return (rows / np.where(is_other, lengths, 1.0)).astype(np.float32)
