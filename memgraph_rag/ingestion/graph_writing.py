"""Built documents into the store, some dozens in one transaction: new ones, or ones that get the same layers.

It knows no model. Invariants: each document is stored whole or not at all; one that the store refuses stops no other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from memgraph_rag.contracts import GraphWriter
from memgraph_rag.errors import MemgraphRagError, StoreUnavailable
from memgraph_rag.ingestion.graph_building import BuiltDocument
from memgraph_rag.stores.shared.document_reader import DOCUMENTS_TOGETHER
from memgraph_rag.types import Failure, Receipt

__all__ = ["write_documents"]


def write_documents(store: GraphWriter, documents: Sequence[BuiltDocument]) -> Iterator[Receipt | Failure]:
    """Store documents; what became of each, in order."""
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
    """Store documents, several in one transaction: that takes a store a fraction of the time.

    Returns:
        By document id, the receipts of those that are stored, and the errors of those for which no store answered. The
        others are to be tried alone: one of them may be to blame.
    """
    receipts: dict[str, Receipt] = {}
    unreachable: dict[str, StoreUnavailable] = {}
    for batch in _batches(documents):
        try:
            receipts |= {receipt.document_id: receipt for receipt in _write(store, batch)}
        except StoreUnavailable as error:  # it was tried for long enough: not once more for each
            unreachable |= dict.fromkeys((built.graph.document.id for built in batch), error)
        except MemgraphRagError:
            continue
    return receipts, unreachable


def _batches(documents: Sequence[BuiltDocument]) -> Iterator[Sequence[BuiltDocument]]:
    """Documents that one transaction may store: new ones, or ones that get the same layers; at least two."""
    alike: dict[tuple[str, ...] | None, list[BuiltDocument]] = {}
    for built in documents:
        alike.setdefault(_layers_added(built), []).append(built)
    for group in alike.values():
        for start in range(0, len(group), DOCUMENTS_TOGETHER):
            batch = group[start : start + DOCUMENTS_TOGETHER]
            if len(batch) > 1:
                yield batch


def _write(store: GraphWriter, documents: Sequence[BuiltDocument]) -> list[Receipt]:
    """Store documents that are all new, or all get the same layers."""
    graphs, layers = [built.graph for built in documents], _layers_added(documents[0])
    return store.write_many(graphs) if layers is None else store.extend_many(graphs, layers=layers)


def _layers_added(built: BuiltDocument) -> tuple[str, ...] | None:
    """The names of the layers that a stored document gets; None for a new one."""
    return None if built.pending.is_new else tuple(layer.name for layer in built.pending.missing_layers)
