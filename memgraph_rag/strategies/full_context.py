"""The whole document in the window, cut where the window ends. What the walk is compared with.

It knows graph and session by their contracts. Invariant: segments are read in the order of the documents.
"""

from __future__ import annotations

from collections.abc import Iterator

from memgraph_rag.contracts import ReadingContext
from memgraph_rag.strategies.flat import read_in_order
from memgraph_rag.types import Step

__all__ = ["FullContext"]


class FullContext:
    """Reads everything, from the beginning, until it ends or no more fits."""

    name = "full_context"

    def read(self, _question: str, context: ReadingContext) -> Iterator[tuple[Step, ...]]:
        """One step a segment; see ``Strategy.read``."""
        wanted = (
            context.documents if context.documents is not None else [record.id for record in context.graph.documents()]
        )
        stored = (segment for document_id in wanted for segment in context.graph.segments_of(document_id))
        segments = (segment for segment in stored if not segment.echo)
        yield from read_in_order(((segment, 0.0) for segment in segments), context)
