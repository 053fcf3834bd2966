"""Finding segments without a language model: by words, by vectors, or by both.

It knows the graph only through the reader, and embeddings only through the embedder. Invariant: full k wherever
that many segments can match, best first, ties by id.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

from memgraph_rag.contracts import Embedder, GraphReader, SearchMode
from memgraph_rag.errors import SettingsError
from memgraph_rag.search.fusion import reciprocal_rank_fusion
from memgraph_rag.types import Evidence, Segment

__all__ = ["SegmentSearch"]

_POOL = 50  # candidates that each list contributes to a fusion


class SegmentSearch:
    """Keyword, vector and hybrid search over one namespace."""

    def __init__(self, graph: GraphReader, embedder: Embedder) -> None:
        self._graph = graph
        self._embedder = embedder

    def find(
        self, query: str, *, k: int, mode: SearchMode = "hybrid", documents: Sequence[str] | None = None
    ) -> list[Evidence]:
        """The k best segments, best first; ``documents`` are ids.

        The score is BM25 (keywords), the cosine (vector) or the fused reciprocal ranks (hybrid); ``why`` holds the
        rank in each list that found the segment.

        Raises:
            SettingsError: no such mode.
        """
        if mode not in get_args(SearchMode):
            raise SettingsError(
                f"Expected a search mode out of {', '.join(get_args(SearchMode))}, got {mode!r}.", mode=mode
            )
        wanted = {"hybrid": ("keywords", "vector")}.get(mode, (mode,))
        pool = max(k, _POOL) if mode == "hybrid" else k
        lists = {}
        if "keywords" in wanted:
            lists["keywords"] = self._graph.matching(query, k=pool, documents=documents)
        if "vector" in wanted:
            vector = self._embedder.embed([query])[0]
            lists["vector"] = self._graph.nearest(vector, k=pool, documents=documents)
        rankings = {name: [hit.node_id for hit in hits] for name, hits in lists.items()}
        if mode == "hybrid":
            ranked = reciprocal_rank_fusion(rankings)[:k]
        else:
            ranked = [(hit.node_id, hit.score) for hit in lists[mode]]
        return self._evidence(ranked, rankings)

    def _evidence(self, ranked: list[tuple[str, float]], rankings: dict[str, list[str]]) -> list[Evidence]:
        scores = dict(ranked)
        segments = [node for node in self._graph.nodes(list(scores)) if isinstance(node, Segment)]
        keys = {record.id: record.key for record in self._graph.documents(sorted({s.document_id for s in segments}))}
        ranks = {name: {item: rank for rank, item in enumerate(ids, 1)} for name, ids in rankings.items()}
        return [
            Evidence(
                segment,
                keys[segment.document_id],
                scores[segment.id],
                {name: of_list[segment.id] for name, of_list in ranks.items() if segment.id in of_list},
            )
            for segment in segments
            if segment.document_id in keys
        ]
