"""Finds documents and nodes by name, and lists the documents of a scope.

It only reads the store. Invariant: the records of a list were in the scope at some moment since the call began.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from memgraph_rag.calls.document_lookup import find_documents, make_name_list
from memgraph_rag.calls.validation import check_count, is_possible_key
from memgraph_rag.contracts import GraphStore
from memgraph_rag.display import show
from memgraph_rag.errors import SettingsError
from memgraph_rag.open_memory import OpenMemory
from memgraph_rag.types import Document, DocumentRecord, Node, Scope


def find(store: GraphStore, name: str | Path) -> Document | Node:
    """Return the node with this id, or else the document with this key, id or path, in this order.

    A node is a segment, a point or an overview. The document has its whole text, but no turns.

    Raises:
        DocumentNotFound: nothing has this name, or several documents were read from this path.
    """
    if isinstance(name, str) and is_possible_key(name) and (nodes := store.nodes([name])):
        return nodes[0]
    (record,) = find_documents(store, [name])
    text = "".join(segment.text for segment in store.list_segments(record.id))
    return Document(text, record.key, record.title, record.source, record.metadata)


def records(parts: OpenMemory, scope: Scope, *, after: str, limit: int | None, contains: str) -> list[DocumentRecord]:
    """Return the first ``limit`` documents of a scope with a key greater than ``after``; see ``Memory.documents``."""
    if limit is not None:
        check_count("limit", limit)
    if not is_possible_key(after):
        raise SettingsError(
            f"Expected after as the key of a document, got {show(after)}. Pass the last key of the previous page.",
            setting="after",
        )
    if not is_possible_key(contains):
        raise SettingsError(
            f"Expected contains as a part of a key or title, got {show(contains)}. Pass a text.", setting="contains"
        )
    if scope.documents is not None and scope == Scope(documents=scope.documents):
        matches = find_documents(parts.store, make_name_list(scope.documents))
        return _choose(matches, after, limit, contains)
    extent = parts.resolve_extent(scope)
    if limit is not None and extent.is_everything:
        return parts.store.list_documents_after(after, k=limit, part=contains)
    matches = parts.store.documents(extent.documents)
    if extent.has_time:
        ids_in_period = parts.search.select_period(extent).documents
        matches = [record for record in matches if record.id in ids_in_period]
    return _choose(matches, after, limit, contains)


def _choose(matches: Sequence[DocumentRecord], after: str, limit: int | None, contains: str) -> list[DocumentRecord]:
    """Return the first ``limit`` records with a key greater than ``after`` whose key or title contains a text."""
    return [record for record in matches if record.key > after and record.is_named_with(contains)][:limit]
