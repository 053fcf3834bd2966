"""Read the pool of a question: the segments among which it is answered, without a copy of the whole namespace.

The module reads the graph through a reader. Invariants: the number of statements for a question is bounded, whatever
the size of the namespace; the background has the namespace's present version, so no forgotten segment stays in it; a
search of some documents reads only these documents.

The best segments of a graph search are near by meaning or by words, or two steps of the walk away from such segments.
The database walks these steps. The background is a sample of the namespace: it keeps means, deviations and word
frequencies close to those of the whole namespace (``docs/decisions/search.md``).
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from memgraph_rag.contracts import Embedder, SearchedGraph, query_vectors
from memgraph_rag.lexical import dates
from memgraph_rag.lexical.names import find_names_by_rules, ngrams
from memgraph_rag.lexical.timestamps import instant
from memgraph_rag.lexical.tokenize import keywords
from memgraph_rag.search.graph import DAMPING, ENTITIES, KEYWORDS, SHARPNESS
from memgraph_rag.search.periods import fetch_best
from memgraph_rag.search.ranking import shares
from memgraph_rag.search.segment_index import SegmentIndex
from memgraph_rag.types import Extent, Hit, IndexedSegment, entity_id

LISTED = 120
SEEDS = 20  # best segments of each list, from which the walk starts
LINKED = 120
STEPPING = 50  # best segments of the first step, from which the second step starts
COUNTED = 50  # best segments of each list; the degrees of their entities are read from the database
BACKGROUND = 300
WEIGHED = 50_000  # segments that the database's word index scores for a question, about
FEWEST_WORDS = 3  # words of a question that are searched at least
RARE_WORDS = 10.0  # standard deviations above the mean: about the best BM25 score of a namespace
_LEAST_DEVIATION = 0.01
_UNSEEN = 0.5  # number of rows assumed for a word that no row of the sample holds


class PoolReader:
    """Draws from the database, for each question, the pool of segments that a graph search needs, as an index.

    Several threads may use it.
    """

    def __init__(self, graph: SearchedGraph, embedder: Embedder) -> None:
        self._graph = graph
        self._embedder = embedder
        self._lock = threading.Lock()
        self._background = _Background(-1, 0, SegmentIndex(), np.zeros(0, np.int64))
        self._last: tuple[tuple[object, ...], SegmentIndex] | None = None  # the pool of the last question

    def read(self, question: str, extent: Extent = Extent()) -> SegmentIndex:  # noqa: B008 - it is frozen
        """Return the pool of a question, limited to the documents of an extent but not to its time.

        Segments that are near by meaning or by words are chosen within the time. Segments of the walk and neighbours
        may be of another time. Without documents and time, the pool also holds a weighted sample of the namespace. The
        caller takes a view of the extent's time and must not change the rows: the next call with the same question and
        extent returns the same object, unless the namespace has changed.
        """
        background = self._refresh_background()
        asked = (background.version, question, extent.documents and tuple(extent.documents), extent.since, extent.until)
        last = self._last
        if last is None or last[0] != asked:
            last = self._last = asked, self._draw_pool(question, background, extent)
        return last[1]

    def _draw_pool(self, question: str, background: _Background, extent: Extent) -> SegmentIndex:
        graph, documents = self._graph, extent.documents
        within = partial(find_ids_in_period, graph, extent) if extent.has_time else None
        words = question if documents is not None else background.select_rarest_words(question)
        with ThreadPoolExecutor(1) as executor:
            by_words = executor.submit(
                fetch_best,
                lambda count: graph.find_matching(words, k=count, documents=documents), LISTED, within,
            )  # fmt: skip
            vector = query_vectors(self._embedder, [question])[0]
            near = fetch_best(lambda count: graph.find_nearest(vector, k=count, documents=documents), LISTED, within)
            matching = by_words.result()
        first = graph.find_linked_segments(
            _start_masses(
                near, matching, background.rows.view().embeddings @ vector if len(background.rows) else np.zeros(1)
            ),
            entity_ids=self._ids(find_names_by_rules(question)),
            title_ids=self._ids(ngrams(question)),
            entity_mass=ENTITIES,
            k=LINKED,
            documents=documents,
        )
        stepping = {hit.node_id: DAMPING * hit.score for hit in first[:STEPPING]}
        second = graph.find_linked_segments(stepping, k=LINKED, documents=documents) if stepping else []
        linked = _sum_masses(first, second)
        pool = dict.fromkeys(hit.node_id for hit in (*near, *matching, *linked))
        segments = graph.segments_around([*pool])
        if documents is not None or within is not None:
            return SegmentIndex().extend_copy(segments)
        walked = {hit.node_id for hits in (near, matching, linked) for hit in hits[:COUNTED]}
        entities = background.list_uncounted_entities([item for item in segments if item.id in walked])
        with ThreadPoolExecutor(1) as executor:
            counted = executor.submit(graph.count_naming_segments, entities)
            index = background.extend_copy(segments)
            assert index.named_by is not None
            columns = index.find_columns(entities)
            for entity, number in zip(entities, counted.result(), strict=True):
                if entity in columns:
                    index.named_by[columns[entity]] = number
        return index

    def _refresh_background(self) -> _Background:
        with self._lock:
            version = self._graph.version()  # before the rows: the next call reads a later write again
            if version != self._background.version:
                rows = SegmentIndex()
                nothing = _Background(-1, 0, rows, np.zeros(0, np.int64))
                self._last, self._background = None, nothing  # after a failure no old rows are left
                ids = self._graph.first_segment_ids(k=BACKGROUND)
                rows.append(self._graph.segments_around(ids))
                named_by = np.array(self._graph.count_naming_segments(rows.entity_ids), np.int64)
                self._background = _Background(version, _estimate_segments(ids), rows, named_by)
            return self._background

    def _ids(self, names: Sequence[str]) -> list[str]:
        return [entity_id(self._graph.namespace, name) for name in names]


@dataclass(frozen=True, slots=True)
class _Background:
    """A sample of the namespace.

    Attributes:
        version: the namespace's version at the time of reading.
        segments: about how many segments the namespace has.
        rows: the sampled segments and their neighbours.
        named_by: (entities,) how many segments of the namespace name each entity of these rows.
    """

    version: int
    segments: float
    rows: SegmentIndex
    named_by: NDArray[np.int64]

    def select_rarest_words(self, question: str) -> str:
        """Return the question; in a large namespace only its rarest words, which about ``WEIGHED`` segments hold.

        The work of the database's word index is then independent of the namespace's size. A question that names a day
        is returned unchanged.
        """
        asked = keywords(question)
        if self.segments * len(asked) <= WEIGHED or dates.list_query_terms(question):
            return question
        index, rows = self.rows.keywords, self.rows.view().rows
        shares = {}
        for word in asked:
            rarity = index.rarity(index.terms(word, rows), rows)
            shares[word] = float(np.exp(-rarity.max())) if rarity.any() else _UNSEEN / max(len(rows), 1)
        rarest = sorted(asked, key=lambda word: shares[word])
        weighed = self.segments * np.cumsum([shares[word] for word in rarest])
        return " ".join(rarest[: max(FEWEST_WORDS, int((weighed <= WEIGHED).sum()))])

    def list_uncounted_entities(self, segments: Sequence[IndexedSegment]) -> list[str]:
        """Return the entities of these segments that the sample does not name; the database must count their degrees.

        The degrees of the other entities in a pool are counted in the pool itself: little mass reaches them, so the
        difference is small (``docs/decisions``).
        """
        entities = dict.fromkeys(entity for item in segments for entity in (*item.entities, *item.titles))
        columns = self.rows.find_columns(entities)
        return [entity for entity in entities if entity not in columns]

    def extend_copy(self, segments: Sequence[IndexedSegment]) -> SegmentIndex:
        """Return an index of the sample and the pool; the sample's rows are weighted for all other segments."""
        index = self.rows.extend_copy(segments)
        is_sampled = np.arange(len(index.live)) < len(self.rows.live)
        elsewhere = self.segments - int((index.live & ~is_sampled).sum())
        index.weights = np.where(is_sampled, max(elsewhere / max(int((index.live & is_sampled).sum()), 1), 1.0), 1.0)
        index.named_by = np.zeros(len(index.entity_ids), np.int64)
        index.named_by[: len(self.named_by)] = self.named_by
        return index


def find_ids_in_period(graph: SearchedGraph, extent: Extent, segment_ids: Sequence[str]) -> frozenset[str]:
    """Return the given ids of segments that exist and were said in the extent's period (start in, end out).

    A segment without a time has the time at which its document was added. Without a period, the ids of all existing
    segments are returned.
    """
    times = {segment_id: instant(time) for segment_id, time in graph.list_segment_times(segment_ids).items()}
    return frozenset(segment_id for segment_id, at in times.items() if extent.holds(at))


def _start_masses(near: Sequence[Hit], matching: Sequence[Hit], usual: NDArray[np.float64]) -> dict[str, float]:
    """Return the start of the walk as masses by segment id that sum to 1; empty if both lists are empty.

    The first segments of both lists get mass, as in ``GraphSearch``. A segment that is missing in ``near`` gets the
    lowest cosine of that list; a segment that is missing in ``matching`` gets the BM25 score 0.

    Args:
        usual: cosines of the background's segments, for mean and deviation.
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


def _estimate_segments(first_ids: Sequence[str]) -> float:
    """Return about how many segments the namespace has, from its smallest ids; exact if ``first_ids`` are all ids.

    Ids are hashes, so the k-th smallest of n ids is at about k / n of their range.

    Source: Bar-Yossef and others, "Counting distinct elements in a data stream", 2002.
    """
    if len(first_ids) < BACKGROUND:
        return len(first_ids)
    return (len(first_ids) - 1) * 16 ** len(first_ids[-1]) / (int(first_ids[-1], 16) + 1)


def _sum_masses(*steps: Iterable[Hit]) -> list[Hit]:
    """Return the ``LINKED`` segments with the most mass over all steps, best first; ties by id."""
    masses: dict[str, float] = {}
    for hit in (hit for hits in steps for hit in hits):
        masses[hit.node_id] = masses.get(hit.node_id, 0.0) + hit.score
    return sorted((Hit(*item) for item in masses.items()), key=lambda hit: (-hit.score, hit.node_id))[:LINKED]
