"""Choose the documents that a walk from the top of the summary graph covers.

The module knows graph and search by their contracts. Invariant: if the context limits the documents, these are the
result.
"""

from __future__ import annotations

from collections.abc import Sequence

from memgraph_rag.contracts import ReadingContext

_MOST_DOCUMENTS = 8
_HITS = 32


def documents_to_walk(question: str, context: ReadingContext) -> Sequence[str]:
    """Return the ids of the documents that a strategy walks for a question.

    These are the documents of the context, if it names some. Else they are all documents of a memory with at most
    eight, and in a larger memory the documents of the best results of a search, best first, at most eight.
    """
    if context.documents is not None:
        return context.documents
    everything = [record.id for record in context.graph.documents()]
    if len(everything) <= _MOST_DOCUMENTS:
        return everything
    evidence_list = context.search.find(question, k=_HITS)
    return list(dict.fromkeys(evidence.segment.document_id for evidence in evidence_list))[:_MOST_DOCUMENTS]
