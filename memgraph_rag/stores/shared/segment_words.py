"""Keyword search in memory, for a database without a full-text index.

The module knows no database: it receives rows and returns hits. Invariant: the index is a cache; everything in it comes
from the latest rows of each document.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from memgraph_rag.lexical.bm25 import KeywordIndex
from memgraph_rag.lexical.markdown import split_for_search
from memgraph_rag.stores.shared.rows import Row
from memgraph_rag.types import Hit

MOST_DROPPED = 1000
"""The index may hold as many dropped rows as valid rows, plus this number."""


class SegmentWords:
    """A keyword index of segments and of their documents' titles."""

    def __init__(self) -> None:
        self._index = KeywordIndex()
        self._ids: list[str] = []
        self._rows: dict[str, list[int]] = {}

    def __len__(self) -> int:
        """Return the number of segments in the index, without the dropped ones."""
        return sum(map(len, self._rows.values()))

    @property
    def is_worn(self) -> bool:
        """Whether the index holds so many dropped rows that a new index should replace it."""
        return len(self._index) > 2 * len(self) + MOST_DROPPED

    def put(self, rows: Sequence[Row]) -> None:
        """Add segments, in place of all earlier segments of their documents. Other documents keep theirs.

        Args:
            rows: all segments of each document, with ``id``, ``document_id``, ``title``, ``text`` and ``language``.

        If this call is interrupted, discard the whole index: it is incomplete.
        """
        first = len(self._index)
        self._index.append((*split_for_search(row["title"], row["text"]), row["language"]) for row in rows)
        self._ids += [row["id"] for row in rows]
        self._rows |= {row["document_id"]: [] for row in rows}
        for number, row in enumerate(rows, first):
            self._rows[row["document_id"]].append(number)

    def keep(self, documents: Collection[str]) -> None:
        """Drop the segments of all documents except these; unknown ids are ignored."""
        for document_id in self._rows.keys() - set(documents):
            del self._rows[document_id]

    def find(self, query: str, *, k: int, documents: Collection[str] | None = None) -> list[Hit]:
        """Return the k segments of these documents (None: of all) that match best; best first, ties by id.

        A segment without any word or day of the query is left out, so that there may be fewer than k. The score is
        BM25 over all segments, also those of other documents.
        """
        rows = np.sort(np.fromiter((row for rows in self._rows.values() for row in rows), np.int64))
        scores = self._index.scores(self._index.terms(query, rows), rows)
        if documents is not None:
            wanted = [row for document_id in set(documents) for row in self._rows.get(document_id, ())]
            scores[~np.isin(rows, wanted)] = 0
        hits = [Hit(self._ids[rows[place]], float(scores[place])) for place in np.flatnonzero(scores > 0)]
        return sorted(hits, key=lambda hit: (-hit.score, hit.node_id))[:k]
