"""Computes the vectors of the texts of several documents, and of their segments, each together with its context.

Invariant: every row of a segment has length 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain

import numpy as np

from memgraph_rag.models.embedders.unit_vectors import units
from memgraph_rag.text.context import mix_neighbours, write_in_context
from memgraph_rag.types import Annotation, Matrix, Segment

Embed = Callable[[list[str]], Matrix]
"""Returns the vectors of texts, of length 1."""

TitledSegments = tuple[str, Sequence[Segment], Iterable[Annotation] | None]
"""The title and the segments of a document, and the annotations of the layer ``context`` if it has the layer."""


def embed_segments(embed: Embed, documents: Sequence[TitledSegments]) -> list[Matrix]:
    """Return the vectors of all segments of each document, (n, d), computed with title, context and neighbours."""
    vectors = embed_grouped(embed, [write_in_context(*document) for document in documents])
    return [units(mix_neighbours(rows, segments)) for rows, (_, segments, _) in zip(vectors, documents, strict=True)]


def embed_grouped(embed: Embed, texts: Sequence[Sequence[str]]) -> list[Matrix]:
    """Return the vectors of each document's texts, one (n, d) matrix per document, with one call of the embedder.

    A document without texts has a matrix without rows.
    """
    vectors = embed(list(chain.from_iterable(texts)))
    ends = np.cumsum([len(document_texts) for document_texts in texts])
    return np.split(vectors, ends[:-1]) if len(ends) else []
