"""Which documents are of which user and session, in memory: a call in a scope reads no document of another one.

It knows records, no statements. Invariant: what it gives is what the store held at some moment since the call began,
whoever wrote it; it reads only documents written since the last time.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping

from memgraph_rag.contracts import GraphStore
from memgraph_rag.types import SESSION, USER, MetadataValue, owner_of

__all__ = ["ScopeIndex"]


class ScopeIndex:
    """The scopes of one namespace's documents. May be used from several threads."""

    def __init__(self, store: GraphStore) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._version = -1
        self._scopes: dict[str, tuple[MetadataValue | None, ...]] = {}  # user and session of a document

    def documents(self, scope: Mapping[str, MetadataValue]) -> list[str]:
        """The ids of the documents of this user, of this session, or of both, sorted."""
        wanted = tuple(scope.get(name) for name in (USER, SESSION))
        with self._lock:
            self._refresh()
            return sorted(
                document_id
                for document_id, names in self._scopes.items()
                if all(value in (None, name) for value, name in zip(wanted, names, strict=True))
            )

    def _refresh(self) -> None:
        version = self._store.version()  # before the records: what is written meanwhile is read again next time
        if version == self._version:
            return
        for record in self._store.written_documents(since=self._version):
            self._scopes[record.id] = owner_of(record.metadata)
        if len(self._scopes) != self._store.count_documents():
            stored = set(self._store.document_ids())
            self._scopes = {key: names for key, names in self._scopes.items() if key in stored}
        self._version = version
