"""``ScopeIndex``: the user and the session of each document, in memory.

With it a call in a scope reads no document of another user. It contains no Cypher. Invariants: a result is true for
some moment since the call began, also when other processes write. An update reads only documents that were written
since the last update.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping

from memgraph_rag.contracts import GraphStore
from memgraph_rag.types import SESSION, USER, MetadataValue, get_owner


class ScopeIndex:
    """An in-memory index of the owners (user and session) of a namespace's documents. Several threads may use it.

    Attributes:
        store: the store of the documents; ``reembed`` replaces the object.
    """

    def __init__(self, store: GraphStore) -> None:
        self.store = store
        self._lock = threading.Lock()
        self._version = -1
        self._scopes: dict[str, tuple[str | None, str | None]] = {}  # user and session of a document

    def documents(self, scope: Mapping[str, MetadataValue]) -> list[str]:
        """Return the sorted ids of the documents of a user, a session, or a session of a user; empty for unknown names.

        Args:
            scope: the values of "user" and "session"; a missing value matches each document.
        """
        owner = tuple(scope.get(name) for name in (USER, SESSION))
        with self._lock:
            self._refresh()
            return sorted(
                document_id
                for document_id, names in self._scopes.items()
                if all(value in (None, name) for value, name in zip(owner, names, strict=True))
            )

    def _refresh(self) -> None:
        """Read the records that were written since the last call, and drop the documents that were forgotten."""
        version = self.store.version()  # read before the records: the next call reads later writes again
        if version == self._version:
            return
        for record in self.store.list_written_documents(since=self._version):
            self._scopes[record.id] = get_owner(record.metadata)
        if len(self._scopes) != self.store.count_documents():
            stored = set(self.store.document_ids())
            self._scopes = {key: names for key, names in self._scopes.items() if key in stored}
        self._version = version
