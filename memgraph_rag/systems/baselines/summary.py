"""Summary: what stands at the top of each document's information points, instead of the text.

It knows graph and search by their contracts. Invariants: nodes are read in the order of the documents, and nothing
below them; a document without points is read by its segments.

The papers whose tables name this baseline have a summary of the whole text written, and the question answered from
that. Here it is the highest level of the layer ``points``, which a model wrote before any question.

Source: ours; see docs/decisions/baselines.md.
"""

from __future__ import annotations

from collections.abc import Iterator

from memgraph_rag.contracts import ReadingContext
from memgraph_rag.strategies.flat import read_in_order
from memgraph_rag.strategies.scope import documents_to_walk
from memgraph_rag.types import Step

__all__ = ["Summary"]


class Summary:
    """Reads the highest information points, as far as window and budget hold them."""

    name = "summary"

    def read(self, question: str, context: ReadingContext) -> Iterator[tuple[Step, ...]]:
        """One step a node; see ``Strategy.read``."""
        nodes = context.graph.top_nodes(documents_to_walk(question, context))
        yield from read_in_order(((node, 0.0) for node in nodes), context)
