"""Finding segments without a language model: over the graph, by words, by vectors, or by both.

It knows the graph only through the reader, and embeddings only through the embedder. Invariant: full k wherever
that many segments can match, best first, ties by id.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any

from memgraph_rag.contracts import MODES, Embedder, EntityRecognizer, SearchedGraph, SearchMode, SearchSpace
from memgraph_rag.errors import SearchMemoryExceeded
from memgraph_rag.lexical.names import names_in
from memgraph_rag.search.as_of import AsOf, Within, as_of, best_hits
from memgraph_rag.search.fusion import reciprocal_rank_fusion
from memgraph_rag.search.graph import Found, GraphSearch, longest
from memgraph_rag.search.index import NamespaceIndex
from memgraph_rag.search.mode_context import ModeContext
from memgraph_rag.search.modes import find_mode
from memgraph_rag.search.name_coverage import asked_about, held, meant
from memgraph_rag.search.pool import PoolReader, ids_within
from memgraph_rag.search.segment_index import SegmentIndex, View
from memgraph_rag.types import Carrier, Evidence, Extent, Hit, RelevanceCurve, Segment, Vector

__all__ = ["SegmentSearch"]

_POOL = 50  # candidates that each list contributes to a fusion


class SegmentSearch:
    """All modes of search over one namespace. May be used from several threads; graph searches wait for each other.

    Args:
        stemming: whether words are compared by their stems.
        most_bytes: about how much memory a graph search may hold.
        space: where it searches: the whole namespace in memory, or a pool that the database draws for each question;
            "auto" is in memory as long as the namespace fits ``most_bytes``, then for good in the database.
    """

    def __init__(
        self,
        graph: SearchedGraph,
        embedder: Embedder,
        recognizer: EntityRecognizer,
        *,
        stemming: bool = False,
        most_bytes: int = 2 * 2**30,
        space: SearchSpace = "auto",
    ) -> None:
        self._graph = graph
        self._embedder = embedder
        self._recognizer = recognizer
        self._stemming = stemming
        self.index = NamespaceIndex(graph, dimension=embedder.dimension, stemming=stemming, most_bytes=most_bytes)
        self._pools = PoolReader(graph, embedder, recognizer, stemming=stemming)
        self._space: SearchSpace = space
        self._most_bytes = most_bytes
        self._kept: dict[str, Any] = {}
        self._current = graph  # what modes keep outlives a snapshot
        self._version: int | None = None  # that of a snapshot; None is the newest at each call

    def reading(self, graph: SearchedGraph) -> SegmentSearch:
        """Return this search, its index shared, which reads the rest through another view of its graph.

        Args:
            graph: a snapshot of one question; its version decides what the index must hold.
        """
        other = copy(self)
        other._graph, other._version = graph, graph.version()
        return other

    def _over(self, index: SegmentIndex) -> GraphSearch:
        return GraphSearch(index, namespace=self._graph.namespace, embedder=self._embedder, recognizer=self._recognizer)

    def _is_in_memory(self) -> bool:
        """Whether the whole namespace is searched in memory, where it then is as it is stored now."""
        if self._space == "database" or self.index.is_outgrown:
            return False
        try:
            self.index.refresh(self._version)
        except SearchMemoryExceeded:
            if self._space == "memory":
                raise
            self.index.is_outgrown = True  # to count segments again before each search would take longer than it
            return False
        return True

    @contextmanager
    def _searched(self, question: str, extent: Extent) -> Iterator[tuple[GraphSearch, View]]:
        """What a graph search for a question looks at: the namespace, or a pool of it."""
        with self.index.lock:
            if self._is_in_memory():
                yield self._over(self.index), self.index.view(extent)
                return
        pool = self._pools.read(question, extent)
        yield self._over(pool), pool.view(replace(extent, documents=None))

    def find(
        self,
        query: str,
        *,
        k: int,
        mode: str | SearchMode = "graph",
        extent: Extent = Extent(),  # noqa: B008 - it is frozen
    ) -> list[Evidence]:
        """Return the k best segments of an extent, best first. A system's mode finds, and orders, by itself.

        The score of a graph search is a share of 1 among the candidates that it compared, or fused reciprocal ranks
        where it has neither names nor speakers to go by, and 0 beyond these candidates; else it is fused reciprocal
        ranks (hybrid), BM25 (keywords) or the cosine (vector). ``why`` holds the rank in each list that found the
        segment, ``path`` the entities through which a graph search came to it, ``relevance`` how near it is by the
        cosine, where the embedder is calibrated (``relevance_curve``).

        Raises:
            SettingsError: no such mode.
            SearchMemoryExceeded: the namespace is too large to be searched in memory only.
        """
        if not isinstance(mode, str) or mode not in MODES:
            context = self._context(extent)
            return find_mode(mode).find(query, context, k=k)[:k]
        return self.found(query, k, mode, extent, most_said=k)[0][:k]

    def _context(self, extent: Extent) -> ModeContext:
        """Return what a system's mode searches with."""
        return ModeContext(
            graph=self._current, embedder=self._embedder, recognizer=self._recognizer, most_bytes=self._most_bytes,
            kept=self._kept, look=partial(self._looked, extent), ranked=partial(self.find, extent=extent),
            evidence=self._evidence,
        )  # fmt: skip

    @contextmanager
    def _looked(self, extent: Extent, query: str | None = None) -> Iterator[tuple[SegmentIndex, View]]:
        if query is not None:
            with self._searched(query, extent) as found:
                yield found[0].index, found[1]
            return
        with self.index.lock:
            self.index.refresh(self._version)
            yield self.index, self.index.view(extent)

    def evidence_of(self, ids: Sequence[str]) -> dict[str, Evidence]:
        """Return these segments by id, as results that no list found."""
        return {item.segment.id: item for item in self._evidence([Found(each, 0.0, {}) for each in ids])} if ids else {}

    def found(
        self,
        query: str,
        k: int,
        mode: str,
        extent: Extent,
        *,
        most_said: int,
    ) -> tuple[list[Evidence], dict[str, Found]]:
        """Return the k best segments for a mode of the core, and how the index found them, by id.

        A graph search returns ``most_said`` segments where that is more and the namespace has speakers.
        """
        if mode == "graph":
            with self._searched(query, extent) as (walk, view):
                has_speakers = len(walk.index.said.names) > 1  # the first is of what nobody says
                matches = walk.find(query, view, k=max(k, most_said) if has_speakers else k)
            return self._evidence(matches), {match.id: match for match in matches}
        within = partial(self._within, extent) if extent.has_time else None
        return self._listed(query, k, mode, extent.documents, within), {}

    def _within(self, extent: Extent, ids: Sequence[str]) -> Collection[str]:
        """Return those of these segments that are of the extent's time."""
        with self.index.lock:
            if self._is_in_memory():
                return {*ids} & {*self.index.view(extent).ids}
        return ids_within(self._graph, extent, ids)

    def as_of(self, extent: Extent) -> AsOf:
        """Return what was said within the extent's time.

        Raises:
            SearchMemoryExceeded: the namespace is too large to be held in memory.
        """
        with self.index.lock:
            self.index.refresh(self._version)
            return as_of(self.index, extent)

    def said_by_another(self, question: str, extent: Extent) -> tuple[str, str] | None:
        """The one speaker of a conversation whom a question names, and who says instead what it asks about.

        None where nobody else does, or where not all documents of the extent are conversations: of a
        namespace that is not in memory, all of the question's pool.

        Raises:
            SearchMemoryExceeded: the namespace is too large to be searched in memory only.
        """
        with self._searched(question, extent) as (walk, view):
            return walk.said_by_another(question, view)

    def names_held(self, question: str, texts: Sequence[str]) -> dict[str, bool]:
        """Each name that a question tells, as it writes it, and whether one of the texts holds it.

        None of a question that is not English, none of its abbreviations, and none of the choices behind it.
        """
        asked = asked_about(question)
        names = longest(names_in(asked, self._recognizer)) if asked else []
        return {_as_written(name, question): is_held for name, is_held in held(names, texts).items()}

    def names_meant(self, names: Sequence[str], texts: Sequence[str]) -> list[str]:
        """The names in the texts that are spelt nearly as these, which none of them holds; each once."""
        return list(dict.fromkeys(filter(None, (meant(name, texts) for name in names))))

    def named_in(self, question: str) -> list[str]:
        """The ids of the entities of this memory that a question names, in the order in which it names them.

        As for a graph search: by a name's exact normal form, or a title's anywhere in the question; a name within a
        longer one that is known too is none.

        Raises:
            SearchMemoryExceeded: the namespace is too large to be searched in memory only.
        """
        with self._searched(question, Extent()) as (walk, _):
            names = walk.names(question)
        there = {entity.id for entity in self._graph.entities(sorted(names.values()))} if names else set()
        known = {name: entity_id for name, entity_id in names.items() if entity_id in there}
        return [known[name] for name in longest(known)]

    def _listed(
        self, query: str, k: int, mode: str, documents: Sequence[str] | None, within: Within | None
    ) -> list[Evidence]:
        """By the database's own indexes; only segments ``within``, where that is given."""
        pool = max(k, _POOL) if mode == "hybrid" else k
        if not self._graph.count_documents():  # before the embedder loads
            return []
        vector = None if mode == "keywords" else self._embedder.embed([query])[0]
        lists = {}
        if mode != "vector":
            lists["keywords"] = best_hits(partial(self._matching, query, documents), pool, within)
        if vector is not None:
            lists["vector"] = best_hits(partial(self._nearest, vector, documents), pool, within)
        rankings = {name: [hit.node_id for hit in hits] for name, hits in lists.items()}
        if mode == "hybrid":
            ranked = reciprocal_rank_fusion(rankings)[:k]
        else:
            ranked = [(hit.node_id, hit.score) for hit in lists[mode]]
        ranks = {name: {item: rank for rank, item in enumerate(ids, 1)} for name, ids in rankings.items()}
        cosines = {hit.node_id: hit.score for hit in lists.get("vector", ())}
        matches = [
            Found(
                segment_id,
                score,
                {name: of_list[segment_id] for name, of_list in ranks.items() if segment_id in of_list},
                cosine=cosines.get(segment_id),
            )
            for segment_id, score in ranked
        ]
        return self._evidence(matches, vector)

    def _matching(self, query: str, documents: Sequence[str] | None, k: int) -> list[Hit]:
        return self._graph.matching(query, k=k, documents=documents, stemming=self._stemming)

    def _nearest(self, vector: Vector, documents: Sequence[str] | None, k: int) -> list[Hit]:
        return self._graph.nearest(vector, k=k, documents=documents)

    def _evidence(self, matches: Sequence[Found], vector: Vector | None = None) -> list[Evidence]:
        """With the segments themselves; one that was forgotten meanwhile is left out.

        Args:
            vector: the question's, by which the cosines that are missing are looked up.
        """
        carriers = [carrier for match in matches for carrier in match.carried]
        segments = {
            node.id: node for node in self._graph.nodes([match.id for match in matches]) if isinstance(node, Segment)
        }
        document_ids = sorted({segment.document_id for segment in segments.values()})
        keys = {record.id: record.key for record in self._graph.documents(document_ids)}
        key_of = {
            segment_id: keys[segment.document_id]
            for segment_id, segment in segments.items()
            if segment.document_id in keys
        }
        entities = self._graph.entities(sorted({carrier.entity for carrier in carriers})) if carriers else []
        names = {entity.id: entity.name for entity in entities}
        matches = [match for match in matches if match.id in key_of]
        relevance = self._relevance(matches, vector, segments)
        return [
            Evidence(
                segments[match.id],
                key_of[match.id],
                match.score,
                match.ranks,
                _named(match.carried, names, key_of),
                relevance.get(match.id),
            )
            for match in matches
        ]

    def _relevance(
        self, matches: Sequence[Found], vector: Vector | None, segments: Mapping[str, Segment]
    ) -> dict[str, float]:
        """How near each is, by id, where the embedder is calibrated."""
        curve: RelevanceCurve | None = getattr(self._embedder, "relevance_curve", None)
        if curve is None:
            return {}
        cosines = {match.id: match.cosine for match in matches if match.cosine is not None}
        missing = sorted({segments[match.id].document_id for match in matches if match.id not in cosines})
        if missing and vector is not None:
            cosines |= {hit.node_id: hit.score for hit in self._graph.similarities(vector, documents=missing)}
        return {match.id: curve.at(cosines[match.id]) for match in matches if match.id in cosines}


def _as_written(name: str, question: str) -> str:
    """A normal form as the question writes it, where it stands there with nothing dropped from its middle."""
    occurrence = re.search(rf"\b{re.escape(name)}", question, re.IGNORECASE)
    return occurrence.group() if occurrence else name


def _named(carried: Sequence[Carrier], names: Mapping[str, str], key_of: Mapping[str, str]) -> tuple[Carrier, ...]:
    """With the names of entities, and where their sources stand; without what was forgotten meanwhile.

    Only those that the question names or that join two segments found: what else a segment names tells nothing of how
    it was found.
    """
    return tuple(
        replace(carrier, entity=names[carrier.entity], source_key=key_of.get(carrier.source, ""))
        for carrier in carried
        if carrier.entity in names and (carrier.named or carrier.source in key_of)
    )
