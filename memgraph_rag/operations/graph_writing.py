"""Built documents into the store, some dozens of new ones in one transaction.

It knows no model. Invariants: each document is stored whole or not at all; one that the store refuses stops no other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from memgraph_rag.contracts import GraphWriter
from memgraph_rag.errors import MemgraphRagError, StoreUnavailable
from memgraph_rag.operations.graph_building import BuiltDocument
from memgraph_rag.types import DocumentGraph, Failure, Receipt

__all__ = ["write_documents"]

_WRITTEN_TOGETHER = 64


def write_documents(store: GraphWriter, documents: Sequence[BuiltDocument]) -> Iterator[Receipt | Failure]:
    """Store documents; what became of each, in order."""
    receipts, unreachable = _write_new(store, [built.graph for built in documents if built.pending.is_new])
    for built in documents:
        pending, document_id = built.pending, built.graph.document.id
        if document_id in unreachable:
            yield Failure(pending.record.key, unreachable[document_id])
            continue
        try:
            receipt = receipts.get(document_id) or _write_single(store, built)
        except MemgraphRagError as error:
            yield Failure(pending.record.key, error)
        else:
            yield replace(
                receipt,
                notes=dict(built.rows.notes),
                usage=built.rows.usage,
                echoes=pending.record.echoes,
                same_as=pending.same_as,
            )


def _write_new(
    store: GraphWriter, graphs: Sequence[DocumentGraph]
) -> tuple[dict[str, Receipt], dict[str, StoreUnavailable]]:
    """Store new documents, several in one transaction: that takes a store a fraction of the time.

    Returns:
        By document id, the receipts of those that are stored, and the errors of those for which no store answered. The
        others are to be tried alone: one of them may be to blame.
    """
    receipts: dict[str, Receipt] = {}
    unreachable: dict[str, StoreUnavailable] = {}
    for start in range(0, len(graphs), _WRITTEN_TOGETHER):
        batch = graphs[start : start + _WRITTEN_TOGETHER]
        if len(batch) < 2:
            continue
        try:
            receipts |= {receipt.document_id: receipt for receipt in store.write_many(batch)}
        except StoreUnavailable as error:  # it was tried for long enough: not once more for each
            unreachable |= dict.fromkeys((graph.document.id for graph in batch), error)
        except MemgraphRagError:
            continue
    return receipts, unreachable


def _write_single(store: GraphWriter, built: BuiltDocument) -> Receipt:
    if built.pending.is_new:
        return store.write(built.graph)
    return store.extend(built.graph, layers=[layer.name for layer in built.pending.missing_layers])
