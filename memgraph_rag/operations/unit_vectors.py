"""Embeddings at length 1, whatever made them, and those of segments in their context.

Invariant: a row that has length 1 stays bit for bit; one without a direction stays too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from memgraph_rag.text.context import in_context, with_neighbours
from memgraph_rag.types import Annotation, Matrix, Segment

__all__ = ["embed_segments", "units"]

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


def embed_segments(
    embed: Callable[[Sequence[str]], Matrix],
    title: str,
    segments: Sequence[Segment],
    context: Iterable[Annotation] | None = None,
) -> Matrix:
    """Return the (n, d) stored vectors of all segments of a document: each with its title, context and neighbours.

    Args:
        embed: the vectors of texts, of length 1.
        context: the annotations of the layer ``context``, where the document has it.
    """
    return units(with_neighbours(embed(in_context(title, segments, context)), segments))
