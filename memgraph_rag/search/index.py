"""The part of a namespace that graph search keeps in memory.

It knows the graph through the reader only, and no algorithm. Invariants: after ``refresh`` it holds what the store
held at some moment since the call began, whoever wrote it; it reads only documents written since the last time;
what a forgotten document left here is never found and is dropped when it makes up half; after an error the next
``refresh`` begins anew, or with what was held before. A large one is kept in a file beside the store, where the store
has room for one, so that the next process need not make it again.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import partial

from typing_extensions import override

from memgraph_rag.contracts import SearchedGraph
from memgraph_rag.errors import SearchMemoryExceeded
from memgraph_rag.search.index_file import read_index, write_index
from memgraph_rag.search.segment_index import SegmentIndex
from memgraph_rag.types import IndexedSegment

__all__ = ["NamespaceIndex"]

_BYTES_BESIDE = 700  # of a segment, beside its vector: id, place, words, edges (benchmarks/results/measurements.md)

_KEPT_FROM = 2_000  # segments: below, to make the index takes less than half a second


class NamespaceIndex(SegmentIndex):
    """The rows of one namespace, one for each segment.

    Args:
        dimension: length of an embedding.
        stemming: whether words are compared by their stems.
        most_bytes: about how much memory it may take.

    One thread at a time: hold ``lock`` around ``refresh`` and the use of what it gives.
    """

    def __init__(
        self, graph: SearchedGraph, *, dimension: int, stemming: bool = False, most_bytes: int = 2 * 2**30
    ) -> None:
        self.lock = threading.RLock()
        self._dimension = dimension
        self._graph = graph
        self._most_bytes = most_bytes
        self.is_outgrown = False
        """Whether a search that may do without it has found that the namespace does not fit."""
        super().__init__(stemming=stemming)

    @override
    def _clear(self) -> None:
        self._version = -1
        super()._clear()

    def refresh(self, version: int | None = None) -> None:
        """Take in what was written since the last time, by this process or another.

        Args:
            version: of the namespace, where it was read before; what was written up to it is then held.

        Raises:
            SearchMemoryExceeded: the namespace does not fit ``most_bytes``, or has outgrown it; nothing is held then.
        """
        # Before the rows: what is written meanwhile is read again next time.
        version = self._graph.version() if version is None else max(version, self._version)
        if version == self._version:
            return
        if self._version < 0:
            self._clear()  # of what was interrupted between two of the lists, which are out of step
            self._check_memory()
            if self._read_kept(version):
                return
        changed = _conversations_first(self._graph.indexed_segments(since=self._version))
        if self._version >= 0 and self._bytes_of(len(self._ids) + len(changed)) > self._most_bytes:
            self._clear()  # without what was dropped it may fit
            self.refresh()
            return
        is_whole, self._version = self._version < 0, -1  # until all lists are in step
        self.append(changed)
        if len(self._places) != self._graph.count_documents():
            kept = set(self._graph.document_ids())
            self._drop([document for document in self._places if document not in kept])
        self._version = version
        if len(self) < len(self._ids) // 2:
            self._clear()
            self.refresh()
        elif is_whole and len(self) >= _KEPT_FROM:
            write = partial(write_index, self.state, about=self._about(version))
            self._graph.keep_index(write, version=version, nbytes=self.nbytes)

    def _read_kept(self, version: int) -> bool:
        """Whether the index was kept as it is now, and is read again."""
        kept = self._graph.kept_index()
        state = None if kept is None else read_index(kept, about=self._about(version))
        if state is None:
            return False
        self.restore(state)
        self._version = version
        return True

    def _about(self, version: int) -> dict[str, str | int]:
        return {"version": version, "dimension": self._dimension, "stemming": self._stemming}

    def _bytes_of(self, segments: int) -> int:
        return segments * (4 * self._dimension + _BYTES_BESIDE)

    def _check_memory(self) -> None:
        segments = self._graph.statistics().get("Segment", 0)
        needed = self._bytes_of(segments)
        if needed > self._most_bytes:
            raise SearchMemoryExceeded(
                f"Expected a namespace whose graph search fits {self._most_bytes / 2**20:,.0f} MiB of memory, got "
                f"{segments:,} segments that need about {needed / 2**20:,.0f} MiB. Raise search_memory_mib, or "
                "search with "
                'mode="hybrid", which the database does itself.',
                segments=segments,
                needed_bytes=needed,
            )


def _conversations_first(segments: Sequence[IndexedSegment]) -> list[IndexedSegment]:
    """Conversations before all other documents, so that the vectors of either kind are searched where they lie."""
    conversations = {segment.document_id for segment in segments if segment.speaker}
    return sorted(segments, key=lambda segment: segment.document_id not in conversations)
