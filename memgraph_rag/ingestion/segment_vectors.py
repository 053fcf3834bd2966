"""Computes the vectors of a document's segments, each embedded together with its context.

Invariant: every row has length 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from memgraph_rag.models.embedders.unit_vectors import units
from memgraph_rag.text.context import mix_neighbours, write_in_context
from memgraph_rag.types import Annotation, Matrix, Segment


def embed_segments(
    embed: Callable[[Sequence[str]], Matrix],
    title: str,
    segments: Sequence[Segment],
    context: Iterable[Annotation] | None = None,
) -> Matrix:
    """Return the vectors of all segments of a document, (n, d), each computed with title, context and neighbours.

    Args:
        embed: returns the vectors of texts, of length 1.
        context: the annotations of the layer ``context``, if the document has the layer.
    """
    return units(mix_neighbours(embed(write_in_context(title, segments, context)), segments))
