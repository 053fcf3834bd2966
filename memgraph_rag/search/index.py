"""The index of one namespace that graph search keeps in memory.

The module reads the graph through a reader and knows no algorithm. Invariants: after ``refresh`` the index equals the
store at some moment since the call began, whichever process wrote; a refresh reads only the documents written since the
last one; rows of forgotten documents are never found, and the index is rebuilt when they are more than half; after an
error the next ``refresh`` starts from an empty index or from the one before. A large index is also kept in a file next
to the store, if the store has room for it, so that the next process loads it instead of building it.
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

__all__ = ["NamespaceIndex"]

_BYTES_PER_SEGMENT = 700  # of a segment without its vector: id, place, words, edges (measured)

_KEPT_FROM = 200  # segments: a smaller index is built in a tenth of a second


class NamespaceIndex(SegmentIndex):
    """The segment index of one namespace, with one row a segment.

    Args:
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
        """Whether a search with ``space="auto"`` found that the namespace does not fit into memory."""
        super().__init__()

    @override
    def _clear(self) -> None:
        self._version = -1
        super()._clear()

    def refresh(self, version: int | None = None) -> None:
        """Read the documents that this or another process wrote since the last refresh, and drop forgotten ones.

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
        if self._version < 0:
            self._clear()  # an interrupted append leaves lists of unequal lengths
            if self._load_kept_index(version):
                return
            self._check_memory()
        changed = _conversations_first(self._graph.list_indexed_segments(since=self._version))
        if self._version >= 0 and self._estimate_bytes(len(self._ids) + len(changed)) > self._most_bytes:
            self._clear()  # without the rows of forgotten documents it may fit
            self.refresh()
            return
        is_whole, self._version = self._version < 0, -1  # -1 until all lists have equal lengths
        self.append(changed)
        documents = np.flatnonzero(self._spans[:, 1])
        if len(documents) != self._graph.count_documents():
            kept = set(map(self._documents.find, self._graph.document_ids()))
            self._drop(set(documents.tolist()) - kept)
        self._version = version
        if len(self) < len(self._ids) // 2:
            self._clear()
            self.refresh()
        elif is_whole and len(self) >= _KEPT_FROM:
            write = partial(write_index, self.state, about=self._describe(version))
            self._graph.keep_index(write, version=version, nbytes=self.nbytes)

    def _load_kept_index(self, version: int) -> bool:
        """Load the kept index file; return False if there is none for this version, or if it does not fit."""
        kept = self._graph.find_kept_index()
        state = None if kept is None else read_index(kept, about=self._describe(version))
        if state is None or self._estimate_bytes(len(state["live"])) > self._most_bytes:
            return False
        self.restore(state)
        self._version = version
        return True

    def _describe(self, version: int) -> dict[str, str | int]:
        return {"version": version, "dimension": self._dimension}

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
