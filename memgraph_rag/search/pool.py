"""The segments of a namespace among which a question is answered, read from the database without a copy of the whole.

It knows the graph through the reader only. Invariants: the statements for a question are bounded in number, whatever
the size of the namespace; the background is of the namespace's present version, so nothing forgotten stays in it; of
documents that were asked for nothing else is read.

What a graph search puts first is near by meaning or by words, or two steps of the walk from what is: the database
walks them. The background, a sample of the namespace, keeps means, deviations and the rarity of words near those of the
whole (``docs/decisions/search.md``).
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from memgraph_rag.contracts import Embedder, EntityRecognizer, SearchedGraph
from memgraph_rag.lexical import dates
from memgraph_rag.lexical.names import names_in, ngrams
from memgraph_rag.lexical.timestamps import instant
from memgraph_rag.lexical.tokenize import keywords, unaccented
from memgraph_rag.search.as_of import best_hits
from memgraph_rag.search.graph import DAMPING, ENTITIES, KEYWORDS, SHARPNESS
from memgraph_rag.search.ranking import shares
from memgraph_rag.search.segment_index import SegmentIndex
from memgraph_rag.types import Extent, Hit, IndexedSegment, entity_id

__all__ = ["PoolReader", "ids_within"]

LISTED = 120
SEEDS = 20  # first ones of each list, from which the walk starts
LINKED = 120
STEPPING = 50  # of the first step, from which the second one starts
COUNTED = 50  # first ones of each list, whose entities' degrees are the database's
BACKGROUND = 300
WEIGHED = 50_000  # segments, about, that hold the words which are looked for: the index weighs each of them
FEWEST_WORDS = 3  # of a question that are looked for, where it has so many
RARE_WORDS = 10.0  # standard deviations above the mean: about where the best BM25 of a namespace stands
_LEAST_DEVIATION = 0.01
_UNSEEN = 0.5  # in how many rows of the sample a word counts that is in none


class PoolReader:
    """Reads the pools of questions on one namespace. May be used from several threads."""

    def __init__(
        self, graph: SearchedGraph, embedder: Embedder, recognizer: EntityRecognizer, *, stemming: bool = False
    ) -> None:
        self._graph = graph
        self._embedder = embedder
        self._recognizer = recognizer
        self._stemming = stemming
        self._lock = threading.Lock()
        self._background = _Background(-1, 0, SegmentIndex(stemming=stemming), np.zeros(0, np.int64))
        self._last: tuple[tuple[object, ...], SegmentIndex] | None = None  # of a question that is asked once more

    def read(self, question: str, extent: Extent = Extent()) -> SegmentIndex:  # noqa: B008 - it is frozen
        """Return the pool of a question, within the documents of an extent, for a view of its time.

        The rows are not to be changed: whoever asks the same next gets them too.
        """
        background = self._refreshed()
        asked = (background.version, question, extent.documents and tuple(extent.documents), extent.since, extent.until)
        last = self._last
        if last is None or last[0] != asked:
            last = self._last = asked, self._drawn(question, background, extent)
        return last[1]

    def _drawn(self, question: str, background: _Background, extent: Extent) -> SegmentIndex:
        graph, stemming, documents = self._graph, self._stemming, extent.documents
        within = partial(ids_within, graph, extent) if extent.has_time else None
        words = question if documents is not None else background.rarest_words(question)
        with ThreadPoolExecutor(1) as beside:
            by_words = beside.submit(
                best_hits,
                lambda count: graph.matching(words, k=count, documents=documents, stemming=stemming), LISTED, within,
            )  # fmt: skip
            vector = self._embedder.embed([question])[0]
            near = best_hits(lambda count: graph.nearest(vector, k=count, documents=documents), LISTED, within)
            matching = by_words.result()
        first = graph.linked_segments(
            _reset(near, matching, background.rows.view().embeddings @ vector if len(background.rows) else np.zeros(1)),
            entity_ids=self._ids(names_in(question, self._recognizer)),
            title_ids=self._ids(ngrams(question)),
            entity_mass=ENTITIES,
            k=LINKED,
            documents=documents,
        )
        stepping = {hit.node_id: DAMPING * hit.score for hit in first[:STEPPING]}
        second = graph.linked_segments(stepping, k=LINKED, documents=documents) if stepping else []
        linked = _most(first, second)
        pool = dict.fromkeys(hit.node_id for hit in (*near, *matching, *linked))
        segments = graph.segments_around([*pool])
        if documents is not None or within is not None:
            return SegmentIndex(stemming=stemming).extended(segments)
        walked = {hit.node_id for hits in (near, matching, linked) for hit in hits[:COUNTED]}
        entities = background.not_counted([item for item in segments if item.id in walked])
        with ThreadPoolExecutor(1) as beside:
            counted = beside.submit(graph.named_by, entities)
            index = background.extended(segments)
            assert index.named_by is not None
            for entity, number in zip(entities, counted.result(), strict=True):
                if (column := index.column(entity)) is not None:
                    index.named_by[column] = number
        return index

    def _refreshed(self) -> _Background:
        with self._lock:
            version = self._graph.version()  # before the rows: what is written meanwhile is read again next time
            if version != self._background.version:
                rows = SegmentIndex(stemming=self._stemming)
                nothing = _Background(-1, 0, rows, np.zeros(0, np.int64))
                self._last, self._background = None, nothing  # should this fail, nothing old is left
                ids = self._graph.first_segment_ids(k=BACKGROUND)
                rows.append(self._graph.segments_around(ids))
                named_by = np.array(self._graph.named_by(rows.entity_ids), np.int64)
                self._background = _Background(version, _estimated(ids), rows, named_by)
            return self._background

    def _ids(self, names: Sequence[str]) -> list[str]:
        return [entity_id(self._graph.namespace, name) for name in names]


@dataclass(frozen=True, slots=True)
class _Background:
    """A sample of the namespace.

    Attributes:
        version: of the namespace when it was read.
        segments: about how many the namespace has.
        rows: segments, with their neighbours.
        named_by: (entities,) how many segments of the namespace name each entity of these rows.
    """

    version: int
    segments: float
    rows: SegmentIndex
    named_by: NDArray[np.int64]

    def rarest_words(self, question: str) -> str:
        """The question, or its rarest words: as many as about ``WEIGHED`` segments hold together.

        So what the words' index weighs does not grow with the namespace. A question that names a day is left whole.
        """
        asked = keywords(question)
        if self.segments * len(asked) <= WEIGHED or dates.asked(question):
            return question
        index, rows = self.rows.keywords, self.rows.view().rows
        shares = {}
        for word in asked:
            rarity = index.rarity(index.terms(unaccented(word)), rows)
            shares[word] = float(np.exp(-rarity.max())) if rarity.any() else _UNSEEN / max(len(rows), 1)
        rarest = sorted(asked, key=lambda word: shares[word])
        weighed = self.segments * np.cumsum([shares[word] for word in rarest])
        return " ".join(rarest[: max(FEWEST_WORDS, int((weighed <= WEIGHED).sum()))])

    def not_counted(self, segments: Sequence[IndexedSegment]) -> list[str]:
        """The entities of these segments that the sample does not name, whose degrees are the database's, too.

        Of all others in a pool its own rows count: what so little mass comes to changes little (``docs/decisions``).
        """
        entities = dict.fromkeys(entity for item in segments for entity in (*item.entities, *item.titles))
        return [entity for entity in entities if self.rows.column(entity) is None]

    def extended(self, segments: Sequence[IndexedSegment]) -> SegmentIndex:
        """The pool with the sample behind it, which stands for all that is not in the pool, and has its degrees."""
        index = self.rows.extended(segments)
        is_sampled = np.arange(len(index.live)) < len(self.rows.live)
        elsewhere = self.segments - int((index.live & ~is_sampled).sum())
        index.weights = np.where(is_sampled, max(elsewhere / max(int((index.live & is_sampled).sum()), 1), 1.0), 1.0)
        index.named_by = np.zeros(len(index.entity_ids), np.int64)
        index.named_by[: len(self.named_by)] = self.named_by
        return index


def ids_within(graph: SearchedGraph, extent: Extent, segment_ids: Sequence[str]) -> frozenset[str]:
    """Return those of these segments that are of the extent's time."""
    times = {segment_id: instant(time) for segment_id, time in graph.times_of(segment_ids).items()}
    return frozenset(segment_id for segment_id, at in times.items() if extent.holds(at))


def _reset(near: Sequence[Hit], matching: Sequence[Hit], usual: NDArray[np.float64]) -> dict[str, float]:
    """Where the walk starts: on the first of both lists, as in ``GraphSearch``; they sum to 1.

    What a list lacks has the cosine of its last, or no words.

    Args:
        usual: cosines of other segments.
    """
    seeds = list(dict.fromkeys(hit.node_id for hit in (*near[:SEEDS], *matching[:SEEDS])))
    if not seeds:
        return {}
    cosines = {hit.node_id: hit.score for hit in near}
    words = {hit.node_id: hit.score for hit in matching}
    meaning = np.array([cosines.get(seed, min(cosines.values(), default=0.0)) for seed in seeds])
    by_words = np.array([words.get(seed, 0.0) for seed in seeds]) / max(words.values(), default=1.0)
    scores = (meaning - usual.mean()) / max(usual.std(), _LEAST_DEVIATION) + KEYWORDS * RARE_WORDS * by_words
    return dict(zip(seeds, shares(SHARPNESS * scores).tolist(), strict=True))


def _estimated(first_ids: Sequence[str]) -> float:
    """About how many segments there are, by the smallest ids of them all; exactly where these are all.

    Ids are hashes, so the k-th smallest of n stands at about k / n of their range.

    Source: Bar-Yossef and others, "Counting distinct elements in a data stream", 2002.
    """
    if len(first_ids) < BACKGROUND:
        return len(first_ids)
    return (len(first_ids) - 1) * 16 ** len(first_ids[-1]) / (int(first_ids[-1], 16) + 1)


def _most(*steps: Iterable[Hit]) -> list[Hit]:
    """The segments to which the steps together brought the most; ties by id."""
    masses: dict[str, float] = {}
    for hit in (hit for hits in steps for hit in hits):
        masses[hit.node_id] = masses.get(hit.node_id, 0.0) + hit.score
    return sorted((Hit(*item) for item in masses.items()), key=lambda hit: (-hit.score, hit.node_id))[:LINKED]
