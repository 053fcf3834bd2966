"""Stores built documents, some dozens in one transaction: new documents, or documents that get the same layers.

It knows no model. Invariants: each document is stored as a whole or not at all. A document that the store refuses does
not stop the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from memgraph_rag.contracts import GraphWriter
from memgraph_rag.display import show
from memgraph_rag.errors import DocumentChanged, MemgraphRagError, StoreUnavailable
from memgraph_rag.ingestion.graph_building import BuiltDocument
from memgraph_rag.stores.shared.document_reader import DOCUMENTS_TOGETHER
from memgraph_rag.types import Failure, Receipt


def write_documents(store: GraphWriter, documents: Sequence[BuiltDocument]) -> Iterator[Receipt | Failure]:
    """Store documents, and yield the outcome of each, in order. A document that the store refuses has a ``Failure``."""
    receipts, unreachable = _write_together(store, documents)
    for built in documents:
        pending, document_id = built.pending, built.graph.document.id
        if document_id in unreachable:
            yield Failure(pending.record.key, unreachable[document_id])
            continue
        try:
            receipt = receipts.get(document_id) or _write(store, [built])[0]
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


def _write_together(
    store: GraphWriter, documents: Sequence[BuiltDocument]
) -> tuple[dict[str, Receipt], dict[str, StoreUnavailable]]:
    """Store documents, several in one transaction, which is much faster than one transaction each.

    Returns:
        The receipts of stored documents, and the errors of documents for which the store did not answer, both by
        document id. The caller stores each other document alone, because one of them made the transaction fail.
    """
    receipts: dict[str, Receipt] = {}
    unreachable: dict[str, StoreUnavailable] = {}
    for batch in _batches(documents):
        try:
            receipts |= {receipt.document_id: receipt for receipt in _write(store, batch)}
        except StoreUnavailable as error:  # the store has retried long enough
            unreachable |= dict.fromkeys((built.graph.document.id for built in batch), error)
        except MemgraphRagError:
            continue
    return receipts, unreachable


def _batches(documents: Sequence[BuiltDocument]) -> Iterator[Sequence[BuiltDocument]]:
    """Yield groups of at least two documents that one transaction can store: all new, or all with the same layers.

    A document with new metadata is left out: two transactions store it.
    """
    alike: dict[tuple[str, ...] | None, list[BuiltDocument]] = {}
    for built in documents:
        if built.pending.described is None:
            alike.setdefault(_list_added_layers(built), []).append(built)
    for group in alike.values():
        for start in range(0, len(group), DOCUMENTS_TOGETHER):
            batch = group[start : start + DOCUMENTS_TOGETHER]
            if len(batch) > 1:
                yield batch


def _write(store: GraphWriter, documents: Sequence[BuiltDocument]) -> list[Receipt]:
    """Store documents that are all new, or all get the same layers, in one transaction; then their new metadata."""
    graphs, layers = [built.graph for built in documents], _list_added_layers(documents[0])
    receipts = store.write_many(graphs) if layers is None else store.extend_many(graphs, layers=layers)
    record, described = documents[0].pending.record, documents[0].pending.described
    if described is not None and not store.describe([described], before=[record.sha256]):
        raise DocumentChanged(
            f"Expected document {show(record.key)} with the content that its layers were built from, got another "
            "content: another writer changed or forgot it. Add it again.",
            key=record.key,
        )
    return receipts


def _list_added_layers(built: BuiltDocument) -> tuple[str, ...] | None:
    """Return the names of the layers that a stored document gets; None for a new document."""
    return None if built.pending.is_new else tuple(layer.name for layer in built.pending.missing_layers)
