"""Summary: read the top information points of each document instead of its text.

It knows graph and search by their contracts. Invariants: nodes are read in the order of the documents, and their
children are not read; a document without points is read by its segments.

In the papers whose tables name this baseline, a model summarizes the whole text and answers from the summary. Here the
summary is the highest level of the layer ``points``, which a model wrote before any question.

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
    """A strategy that reads the highest information points, as far as window and budget hold them."""

    name = "summary"
    follows_paper = True

    def read(self, question: str, context: ReadingContext) -> Iterator[tuple[Step, ...]]:
        """Yield one step for each highest point of the documents, in order, until the window is full.

        A document without points gives its segments. Without given documents, at most eight take part. See
        ``Strategy.read``.
        """
        nodes = context.graph.top_nodes(documents_to_walk(question, context))
        yield from read_in_order(((node, 0.0) for node in nodes), context)
