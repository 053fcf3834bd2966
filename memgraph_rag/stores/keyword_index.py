"""BM25 over segments, in memory: the keyword search of an engine that has none of its own.

It knows no database: rows come in, hits come out. The invariant: it is a cache; everything in it stands in the rows
it was made from.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import bm25s
import numpy as np

from memgraph_rag.stores.rows import Row
from memgraph_rag.stores.words import STOP_WORDS, keywords, words
from memgraph_rag.types import Hit

__all__ = ["KeywordIndex"]


class KeywordIndex:
    """The words of segments and of their documents' titles.

    Args:
        rows: with ``id``, ``document_id``, ``title`` and ``text``.
    """

    def __init__(self, rows: Sequence[Row]) -> None:
        self._ids = [row["id"] for row in rows]
        self._document_ids = [row["document_id"] for row in rows]
        corpus = [[word for word in words(f"{row['title']}\n{row['text']}") if word not in STOP_WORDS] for row in rows]
        self._index = _indexed(corpus) if any(corpus) else None

    def find(self, query: str, *, k: int, documents: Collection[str] | None = None) -> list[Hit]:
        """The k segments that match best, of these documents only where some are given; ties by id."""
        if self._index is None:
            return []
        known = [word for word in keywords(query) if word in self._index.vocab_dict]
        if not known:
            return []
        scores = self._index.get_scores(known)
        wanted = None if documents is None else set(documents)
        hits = [
            Hit(self._ids[place], float(scores[place]))
            for place in np.flatnonzero(scores > 0)
            if wanted is None or self._document_ids[place] in wanted
        ]
        return sorted(hits, key=lambda hit: (-hit.score, hit.node_id))[:k]


def _indexed(corpus: list[list[str]]) -> bm25s.BM25:
    index = bm25s.BM25()
    index.index(corpus, show_progress=False)
    return index
