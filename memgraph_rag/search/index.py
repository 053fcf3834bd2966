"""The index of one namespace that graph search keeps in memory.

The module reads the graph through a reader and knows no algorithm. Invariants: after ``refresh`` the index equals the
store at some moment since the call began, whichever process wrote; a refresh reads only the documents written since the
last one; rows of forgotten documents are never found, and the index is rebuilt when they are more than half; after an
error the next ``refresh`` starts from an empty index. A large index is also kept in a file next to the store, if the
store has room for it, so that the next process loads it and refreshes it instead of building it.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import partial

import numpy as np
from typing_extensions import override

from memgraph_rag.contracts import SearchedGraph
from memgraph_rag.errors import SearchMemoryExceeded
from memgraph_rag.search.index_file import read_index, write_index
from memgraph_rag.search.segment_index import SegmentIndex
from memgraph_rag.types import IndexedSegment

_BYTES_PER_SEGMENT = 700  # of a segment without its vector: id, place, words, edges (measured)

_KEPT_FROM = 200  # segments: a smaller index is built in a tenth of a second

_MOST_UNKEPT = 64
"""A loaded index is kept again if it has grown by more than one in so many rows."""


class NamespaceIndex(SegmentIndex):
    """The in-memory index of all segments of one namespace, which ``refresh`` brings up to date with the store.

    Args:
        graph: the reader of the namespace.
        dimension: length of an embedding.
        most_bytes: about how much memory the index may take.

    The index serves one thread at a time: hold ``lock`` during ``refresh`` and while you use the views.
    """

    def __init__(self, graph: SearchedGraph, *, dimension: int, most_bytes: int = 2 * 2**30) -> None:
        self.lock = threading.RLock()
        self._dimension = dimension
        self._graph = graph
        self._most_bytes = most_bytes
        self.is_outgrown = False
        """Whether a search with ``space="auto"`` found that the namespace needs more than ``most_bytes``."""
        super().__init__()

    @override
    def _clear(self) -> None:
        self._version = -1
        super()._clear()

    def refresh(self, version: int | None = None) -> None:
        """Update the index: read documents written since the last refresh, by any process, and drop forgotten ones.

        The caller holds ``lock``. Without a newer version nothing changes.

        Args:
            version: the namespace's version, if the caller has already read it. The index then holds all writes up to
                it.

        Raises:
            SearchMemoryExceeded: the namespace does not fit ``most_bytes``; the index is empty afterwards.
        """
        # The version is read before the rows: a write in between is then read again by the next refresh.
        version = self._graph.version() if version is None else max(version, self._version)
        if version == self._version:
            return
        if self._version >= 0:
            self._update(version)
        else:
            self._clear()  # an interrupted append leaves lists of unequal lengths
            self._load_kept_index()
            kept = len(self._ids)
            if 0 <= self._version < version:
                self._update(version)
            if self._version >= 0 and len(self._ids) - kept > kept // _MOST_UNKEPT:
                self._keep()
        if self._version < 0:
            self._build(version)

    def _build(self, version: int) -> None:
        """Read all segments, and keep the index."""
        self._clear()
        self._check_memory()
        self.append(_conversations_first(self._graph.list_indexed_segments(since=-1)))
        self._drop_forgotten()
        self._version = version
        self._keep()

    def _update(self, version: int) -> None:
        """Read the documents written since the last refresh; leave no version if the index is to be built again."""
        since, self._version = self._version, -1  # -1 until all lists have equal lengths
        changed = _conversations_first(self._graph.list_indexed_segments(since=since))
        if self._estimate_bytes(len(self._ids) + len(changed)) > self._most_bytes:
            return  # without the rows of forgotten documents it may fit
        self.append(changed)
        self._drop_forgotten()
        if len(self) >= len(self._ids) // 2:
            self._version = version

    def _drop_forgotten(self) -> None:
        documents = np.flatnonzero(self._spans[:, 1])
        if len(documents) != self._graph.count_documents():
            kept = set(map(self._documents.find, self._graph.document_ids()))
            self._drop(set(documents.tolist()) - kept)

    def _load_kept_index(self) -> None:
        """Load the kept index file, which may be of an earlier version, if there is one and it fits."""
        kept = self._graph.find_kept_index()
        state = None if kept is None else read_index(kept)
        if state is not None and self._estimate_bytes(len(state["live"])) <= self._most_bytes:
            self.restore(state)
            self._version = int(state["version"][0])

    def _keep(self) -> None:
        """Keep a large index, which holds no row that was deleted from the store since it was read."""
        if len(self) >= _KEPT_FROM:
            state = {"version": np.array([self._version]), **self.state}
            self._graph.keep_index(partial(write_index, state), version=self._version, nbytes=self.nbytes)

    def _estimate_bytes(self, segments: int) -> int:
        return segments * (4 * self._dimension + _BYTES_PER_SEGMENT)

    def _check_memory(self) -> None:
        segments = self._graph.statistics().get("Segment", 0)
        needed = self._estimate_bytes(segments)
        if needed > self._most_bytes:
            raise SearchMemoryExceeded(
                f"Expected a namespace whose graph search fits {self._most_bytes / 2**20:,.0f} MiB of memory, got "
                f"{segments:,} segments that need about {needed / 2**20:,.0f} MiB. Raise search_memory_mib, or "
                'search with mode="hybrid", which the database does itself.',
                segments=segments,
                needed_bytes=needed,
            )


def _conversations_first(segments: Sequence[IndexedSegment]) -> list[IndexedSegment]:
    """Order conversations before other documents, so that the vectors of each kind are one slice of the matrix."""
    conversations = {segment.document_id for segment in segments if segment.speaker}
    return sorted(segments, key=lambda segment: segment.document_id not in conversations)
