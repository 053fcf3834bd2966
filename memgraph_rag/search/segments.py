"""Find segments without a language model: over the graph, by words, by vectors, or by words and vectors.

The module reads the graph through a reader and embeds through the embedder. Invariant: a search returns k segments if
that many can match, best first, ties by id.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any

from typing_extensions import Self

from memgraph_rag.contracts import (
    MODES,
    Embedder,
    EntityRecognizer,
    SearchedGraph,
    SearchMode,
    SearchSpace,
    cosine_scale,
    query_vectors,
)
from memgraph_rag.errors import SearchMemoryExceeded
from memgraph_rag.lexical.language import kind_of_pair
from memgraph_rag.lexical.names import find_names
from memgraph_rag.search.fusion import reciprocal_rank_fusion
from memgraph_rag.search.graph import GraphSearch, SegmentMatch, drop_nested_names
from memgraph_rag.search.index import NamespaceIndex
from memgraph_rag.search.modes import ModeContext, find_mode
from memgraph_rag.search.name_coverage import check_names, correct_name, select_checked_part
from memgraph_rag.search.periods import AsOf, Within, fetch_best, select_period
from memgraph_rag.search.pool import PoolReader, find_ids_in_period
from memgraph_rag.search.segment_index import SegmentIndex, View
from memgraph_rag.search.verbatim import BEST_BY_WORDS, order_verbatim
from memgraph_rag.types import Carrier, Evidence, Extent, RelevanceCurve, Segment, Vector

_POOL = 50  # candidates that each list contributes to a fusion


class SegmentSearch:
    """Finds segments of one namespace, in all search modes. Several threads may use it; graph searches take turns.

    Args:
        most_bytes: about how much memory a graph search may hold.
        space: "memory" searches the whole namespace in memory; "database" searches a pool that the database draws for
            each question; "auto" searches in memory until the namespace exceeds ``most_bytes``, then in the database
            for good.
    """

    def __init__(
        self,
        graph: SearchedGraph,
        embedder: Embedder,
        recognizer: EntityRecognizer,
        *,
        most_bytes: int = 2 * 2**30,
        space: SearchSpace = "auto",
    ) -> None:
        self._graph = graph
        self._embedder = embedder
        self._recognizer = recognizer
        self.index = NamespaceIndex(graph, dimension=embedder.dimension, most_bytes=most_bytes)
        self._pools = PoolReader(graph, embedder)
        self._space: SearchSpace = space
        self._most_bytes = most_bytes
        self._kept: dict[str, Any] = {}
        self._current = graph  # modes keep values for longer than one snapshot
        self._version: int | None = None  # a snapshot's version; None reads the newest at each call

    def reading(self, graph: SearchedGraph) -> Self:
        """Return a copy of this search that shares its index and reads from another view of the graph.

        Args:
            graph: a snapshot for one question; the index must hold the snapshot's version.
        """
        other = copy(self)
        other._graph, other._version = graph, graph.version()
        return other

    def _search_index(self, index: SegmentIndex) -> GraphSearch:
        return GraphSearch(index, namespace=self._graph.namespace, embedder=self._embedder)

    def _is_in_memory(self) -> bool:
        """Refresh the index and return True; return False if the database searches."""
        if self._space == "database" or self.index.is_outgrown:
            return False
        try:
            self.index.refresh(self._version)
        except SearchMemoryExceeded:
            if self._space == "memory":
                raise
            self.index.is_outgrown = True  # counting segments before each search would take longer than the search
            return False
        return True

    @contextmanager
    def _open_space(self, question: str, extent: Extent) -> Iterator[tuple[GraphSearch, View]]:
        """Yield the search and the view for a question: over the whole namespace, or over the question's pool."""
        with self.index.lock:
            if self._is_in_memory():
                yield self._search_index(self.index), self.index.view(extent)
                return
        pool = self._pools.read(question, extent)
        yield self._search_index(pool), pool.view(replace(extent, documents=None))

    def find(
        self,
        query: str,
        *,
        k: int,
        mode: str | SearchMode = "graph",
        extent: Extent = Extent(),  # noqa: B008 - it is frozen
    ) -> list[Evidence]:
        """Return the k best segments of an extent (documents and a time span) for a query, best first.

        A graph search puts the segments first that hold the query word for word. Its score is a probability among the
        candidates that ``ranking`` compares, 0 for segments after them, and a fused reciprocal rank in texts without
        names and speakers. If conversations and other texts are searched together, the score falls with the rank among
        the segments of the same kind and grows with the nearness of the kind to the query. The other scores are fused
        reciprocal ranks (hybrid), BM25 (keywords) and cosines (vector). A system's mode has its own scores. ``why``
        holds the segment's rank in each list, ``path`` the entities over which a graph search reached the segment, and
        ``relevance`` the calibrated cosine if the embedder has a ``relevance_curve``.

        Raises:
            SettingsError: the mode does not exist.
            SearchMemoryExceeded: ``space`` is "memory" and the namespace is too large.
        """
        if not isinstance(mode, str) or mode not in MODES:
            context = self._context(extent)
            return find_mode(mode).find(query, context, k=k)[:k]
        return self.search_core(query, k, mode, extent, most_said=k)[0][:k]

    def find_newest(self, extent: Extent, k: int) -> list[str]:
        """Return the ids of the k segments of conversations in an extent that were said last, the newest first.

        Empty if the namespace is too large for memory, so that the database searches.
        """
        with self.index.lock:
            return self.index.find_newest(extent, k) if self._is_in_memory() else []

    def _context(self, extent: Extent) -> ModeContext:
        """Return the context for a system's mode."""
        return ModeContext(
            graph=self._current, embedder=self._embedder, recognizer=self._recognizer, most_bytes=self._most_bytes,
            kept=self._kept, look=partial(self._open_view, extent), rank_segments=partial(self.find, extent=extent),
            evidence=self._evidence,
        )  # fmt: skip

    @contextmanager
    def _open_view(self, extent: Extent, query: str | None = None) -> Iterator[tuple[SegmentIndex, View]]:
        if query is not None:
            with self._open_space(query, extent) as found:
                yield found[0].index, found[1]
            return
        with self.index.lock:
            self.index.refresh(self._version)
            yield self.index, self.index.view(extent)

    def read_evidence(self, ids: Sequence[str]) -> dict[str, Evidence]:
        """Read segments from the store; return them by id, in order, as evidence with the score 0 and without ranks.

        Ids without a stored segment are left out.
        """
        matches = [SegmentMatch(each, 0.0, {}) for each in ids]
        return {item.segment.id: item for item in self._evidence(matches)} if ids else {}

    def search_core(
        self, query: str, k: int, mode: str, extent: Extent, *, most_said: int
    ) -> tuple[list[Evidence], dict[str, SegmentMatch]]:
        """Return the best segments by a mode of the core, and the graph search's matches by id (else empty).

        There are k segments, or ``most_said`` if that is more, the mode is "graph" and the namespace has speakers.
        There are fewer if fewer match. Forgotten segments are left out of the first result only.
        """
        if mode == "graph":
            with self._open_space(query, extent) as (walk, view):
                has_speakers = len(walk.index.said.names) > 1  # the first name belongs to segments without a speaker
                count = max(k, most_said) if has_speakers else k
                matches = walk.find(query, view, k=count, by_words=BEST_BY_WORDS)
            evidence = order_verbatim(query, self._evidence(matches, query=query))[:count]
            return evidence, {match.id: match for match in matches}
        within = partial(self._find_ids_in_period, extent) if extent.has_time else None
        return self._search_database(query, k, mode, extent.documents, within), {}

    def _find_ids_in_period(self, extent: Extent, ids: Sequence[str]) -> Collection[str]:
        """Return the given segments that were said within the extent's time span."""
        with self.index.lock:
            if self._is_in_memory():
                return {*ids} & {*self.index.view(extent).ids}
        return find_ids_in_period(self._graph, extent, ids)

    def select_period(self, extent: Extent) -> AsOf:
        """Return the ids of all segments and documents of the namespace that were said within the extent's time span.

        The field ``documents`` of the extent is not applied.

        Raises:
            SearchMemoryExceeded: the namespace is too large for memory, whatever ``space`` is.
        """
        with self.index.lock:
            self.index.refresh(self._version)
            return select_period(self.index, extent)

    def find_speaker_mismatch(self, question: str, extent: Extent) -> tuple[str, str] | None:
        """Return (speaker whom a question names, other speaker who says what it asks), if they differ.

        Return None if there is no such other speaker, or if a document of the extent is not a conversation. For a
        namespace that does not fit into memory the question's pool is checked in place of the extent.

        Raises:
            SearchMemoryExceeded: ``space`` is "memory" and the namespace is too large.
        """
        with self._open_space(question, extent) as (walk, view):
            return walk.find_speaker_mismatch(question, view)

    def check_names(self, question: str, texts: Sequence[str]) -> dict[str, bool]:
        """Return each name in a question, as the question writes it, and whether one of the texts holds the name.

        Empty if the question is not English. Abbreviations, and choices after the question mark, are not names. A name
        is left out if it is inside a longer name, consists of stop words and initials, or follows the first 32 names.
        """
        asked = select_checked_part(question)
        names = drop_nested_names(find_names(asked, self._recognizer)) if asked else []
        return {_find_spelling(name, question): is_held for name, is_held in check_names(names, texts).items()}

    def find_similar_names(self, names: Sequence[str], texts: Sequence[str]) -> list[str]:
        """Return the names in texts that are spelt almost like one of the given names, as the texts spell them.

        A given name that a text holds gives no similar name.
        """
        return list(dict.fromkeys(filter(None, (correct_name(name, texts) for name in names))))

    def find_named_entities(self, question: str) -> list[str]:
        """Return the ids of the stored entities that a question names, in the question's order.

        A name matches by its exact normal form, a document's title anywhere in the question. In a namespace that does
        not fit into memory only the titles in the question's pool match. A name inside a longer known name is left out.

        Raises:
            SearchMemoryExceeded: ``space`` is "memory" and the namespace is too large.
        """
        with self._open_space(question, Extent()) as (walk, _):
            names = walk.names(question)
        known_ids = {entity.id for entity in self._graph.entities(sorted(names.values()))} if names else set()
        known = {name: entity_id for name, entity_id in names.items() if entity_id in known_ids}
        return [known[name] for name in drop_nested_names(known)]

    def _search_database(
        self, query: str, k: int, mode: str, documents: Sequence[str] | None, within: Within | None
    ) -> list[Evidence]:
        """Search by the database's own indexes. With ``within`` only the segments that it returns count."""
        pool = max(k, _POOL) if mode == "hybrid" else k
        if not self._graph.count_documents():  # before the embedder loads
            return []
        vector = None if mode == "keywords" else query_vectors(self._embedder, [query])[0]
        lists = {}
        if mode != "vector":
            lists["keywords"] = fetch_best(
                lambda count: self._graph.find_matching(query, k=count, documents=documents), pool, within
            )
        if vector is not None:
            lists["vector"] = fetch_best(
                lambda count: self._graph.find_nearest(vector, k=count, documents=documents), pool, within
            )
        rankings = {name: [hit.node_id for hit in hits] for name, hits in lists.items()}
        if mode == "hybrid":
            ranked = reciprocal_rank_fusion(rankings)[:k]
        else:
            ranked = [(hit.node_id, hit.score) for hit in lists[mode]]
        ranks = {name: {item: rank for rank, item in enumerate(ids, 1)} for name, ids in rankings.items()}
        cosines = {hit.node_id: hit.score for hit in lists.get("vector", ())}
        matches = [
            SegmentMatch(
                segment_id,
                score,
                {
                    name: places_to_ranks[segment_id]
                    for name, places_to_ranks in ranks.items()
                    if segment_id in places_to_ranks
                },
                cosine=cosines.get(segment_id),
            )
            for segment_id, score in ranked
        ]
        return self._evidence(matches, vector, query=query)

    def _evidence(
        self, matches: Sequence[SegmentMatch], vector: Vector | None = None, *, query: str = ""
    ) -> list[Evidence]:
        """Return the matches with their segments; a match whose segment was forgotten meanwhile is left out.

        Args:
            vector: the question's embedding, for the cosines that are missing.
        """
        carriers = [carrier for match in matches for carrier in match.carried]
        segments = {
            node.id: node for node in self._graph.nodes([match.id for match in matches]) if isinstance(node, Segment)
        }
        document_ids = sorted({segment.document_id for segment in segments.values()})
        keys = {record.id: record.key for record in self._graph.documents(document_ids)}
        keys_by_segment = {
            segment_id: keys[segment.document_id]
            for segment_id, segment in segments.items()
            if segment.document_id in keys
        }
        entities = self._graph.entities(sorted({carrier.entity for carrier in carriers})) if carriers else []
        names = {entity.id: entity.name for entity in entities}
        matches = [match for match in matches if match.id in keys_by_segment]
        relevance = self._relevance(query, matches, vector, segments)
        return [
            Evidence(
                segments[match.id],
                keys_by_segment[match.id],
                match.score,
                match.ranks,
                _name_carriers(match.carried, names, keys_by_segment),
                relevance.get(match.id),
            )
            for match in matches
        ]

    def _relevance(
        self, query: str, matches: Sequence[SegmentMatch], vector: Vector | None, segments: Mapping[str, Segment]
    ) -> dict[str, float]:
        """Return the relevance by segment id; empty if the embedder is not calibrated."""
        curve: RelevanceCurve | None = getattr(self._embedder, "relevance_curve", None)
        if curve is None:
            return {}
        cosines = {match.id: match.cosine for match in matches if match.cosine is not None}
        missing = sorted({segments[match.id].document_id for match in matches if match.id not in cosines})
        if missing and vector is not None:
            cosines |= {hit.node_id: hit.score for hit in self._graph.similarities(vector, documents=missing)}
        scale = cosine_scale(self._embedder)
        kinds = {match.id: kind_of_pair(query, segments[match.id].text) for match in matches if match.id in cosines}
        return {node_id: curve.read(scale.read(cosines[node_id], kind)) for node_id, kind in kinds.items()}


def _find_spelling(name: str, question: str) -> str:
    """Return a normalised name as the question writes it; unchanged if the question does not hold it in one piece."""
    occurrence = re.search(rf"\b{re.escape(name)}", question, re.IGNORECASE)
    return occurrence.group() if occurrence else name


def _name_carriers(
    carried: Sequence[Carrier], names: Mapping[str, str], keys_by_segment: Mapping[str, str]
) -> tuple[Carrier, ...]:
    """Return the carriers with entity names and source documents, without entities that were forgotten meanwhile.

    Only entities that the question names or that join two found segments are kept: other entities of a segment say
    nothing about the way to it.
    """
    return tuple(
        replace(carrier, entity=names[carrier.entity], source_key=keys_by_segment.get(carrier.source, ""))
        for carrier in carried
        if carrier.entity in names and (carrier.named or carrier.source in keys_by_segment)
    )
