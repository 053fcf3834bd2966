"""Documents and nodes by name, and the list of documents within a scope.

It knows the store. Invariant: the records of a list are in the scope at one moment since the call began.
"""

from __future__ import annotations

from pathlib import Path

from memgraph_rag.calls.document_lookup import checked_names, find_documents
from memgraph_rag.calls.validation import check_count, may_name
from memgraph_rag.contracts import GraphStore
from memgraph_rag.display import show
from memgraph_rag.errors import SettingsError
from memgraph_rag.open_memory import OpenMemory
from memgraph_rag.types import Document, DocumentRecord, Node, Scope

__all__ = ["find", "records"]


def find(store: GraphStore, name: str | Path) -> Document | Node:
    """Return the node of that id, else the document of that key, id or path, without the turns of a conversation.

    Raises:
        DocumentNotFound: there is none, or the path is that of several documents.
    """
    if isinstance(name, str) and may_name(name) and (nodes := store.nodes([name])):
        return nodes[0]
    (record,) = find_documents(store, [name])
    text = "".join(segment.text for segment in store.segments_of(record.id))
    return Document(text, record.key, record.title, record.source, record.metadata)


def records(parts: OpenMemory, scope: Scope, *, after: str, limit: int | None) -> list[DocumentRecord]:
    """Return the documents of a scope behind a key; see ``Memory.documents``."""
    if limit is not None:
        check_count("limit", limit)
    if not may_name(after):
        raise SettingsError(
            f"Expected after as the key of a document, got {show(after)}. Give the last key of the page before.",
            setting="after",
        )
    if scope.documents is not None and scope == Scope(documents=scope.documents):
        found = find_documents(parts.store, checked_names(scope.documents))
        return [record for record in found if record.key > after][:limit]
    extent = parts.extent_of(scope)
    if limit is not None and extent.is_everything:
        return parts.store.documents_after(after, k=limit)
    found = parts.store.documents(extent.documents)
    if extent.has_time:
        within = parts.search.as_of(extent).documents
        found = [record for record in found if record.id in within]
    return [record for record in found if record.key > after][:limit]
