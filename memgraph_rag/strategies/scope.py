"""Which documents a walk from the top of the summary graph covers.

It knows graph and search by their contracts. Invariant: where documents are given, they are just these.
"""

from __future__ import annotations

from collections.abc import Sequence

from memgraph_rag.contracts import ReadingContext

__all__ = ["documents_to_walk"]

_MOST_DOCUMENTS = 8
_HITS = 32


def documents_to_walk(question: str, context: ReadingContext) -> Sequence[str]:
    """The ids of those given; else of all where they are at most eight, else of the first eight that search finds."""
    if context.documents is not None:
        return context.documents
    everything = [record.id for record in context.graph.documents()]
    if len(everything) <= _MOST_DOCUMENTS:
        return everything
    evidence_list = context.search.find(question, k=_HITS)
    return list(dict.fromkeys(evidence.segment.document_id for evidence in evidence_list))[:_MOST_DOCUMENTS]
