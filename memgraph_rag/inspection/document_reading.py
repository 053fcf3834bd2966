"""Finds documents and nodes by name, and lists the documents of a scope.

It only reads the store. Invariant: the records of a list were in the scope at some moment since the call began.
"""

from __future__ import annotations

from pathlib import Path

from memgraph_rag.calls.document_lookup import checked_names, find_documents
from memgraph_rag.calls.validation import check_count, is_possible_key
from memgraph_rag.contracts import GraphStore
from memgraph_rag.display import show
from memgraph_rag.errors import SettingsError
from memgraph_rag.open_memory import OpenMemory
from memgraph_rag.types import Document, DocumentRecord, Node, Scope

__all__ = ["find", "records"]


def find(store: GraphStore, name: str | Path) -> Document | Node:
    """Return the node with this id, or else the document with this key, id or path, in this order.

    A node is a segment, a point or an overview. The document has its whole text, but no turns.

    Raises:
        DocumentNotFound: nothing has this name, or several documents were read from this path.
    """
    if isinstance(name, str) and is_possible_key(name) and (nodes := store.nodes([name])):
        return nodes[0]
    (record,) = find_documents(store, [name])
    text = "".join(segment.text for segment in store.segments_of(record.id))
    return Document(text, record.key, record.title, record.source, record.metadata)


def records(parts: OpenMemory, scope: Scope, *, after: str, limit: int | None) -> list[DocumentRecord]:
    """Return the first ``limit`` documents of a scope with a key greater than ``after``; see ``Memory.documents``."""
    if limit is not None:
        check_count("limit", limit)
    if not is_possible_key(after):
        raise SettingsError(
            f"Expected after as the key of a document, got {show(after)}. Pass the last key of the previous page.",
            setting="after",
        )
    if scope.documents is not None and scope == Scope(documents=scope.documents):
        matches = find_documents(parts.store, checked_names(scope.documents))
        return [record for record in matches if record.key > after][:limit]
    extent = parts.extent_of(scope)
    if limit is not None and extent.is_everything:
        return parts.store.documents_after(after, k=limit)
    matches = parts.store.documents(extent.documents)
    if extent.has_time:
        ids_in_period = parts.search.as_of(extent).documents
        matches = [record for record in matches if record.id in ids_in_period]
    return [record for record in matches if record.key > after][:limit]
