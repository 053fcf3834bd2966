"""The stored vectors of the segments of a document: each segment in its context.

Invariant: every row has length 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from memgraph_rag.models.embedders.unit_vectors import units
from memgraph_rag.text.context import in_context, with_neighbours
from memgraph_rag.types import Annotation, Matrix, Segment

__all__ = ["embed_segments"]


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
