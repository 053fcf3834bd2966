"""Finding segments by personalised PageRank over the graph, without a language model.

It knows the namespace through its index, embeddings through the embedder, names through the recognizer. Invariants:
the same question gives the same order, whatever store holds the graph and however it was read (scores are compared
to nine digits, ties go by id); a search of some documents is as if there were no others.

The recipe, chosen on the tuning sets (``docs/decisions``): reset = exp(3 s) on the segments, where s = z(cosine) +
0.5 z(BM25), each smoothed over the neighbours in the document, and 1 / frequency on the entities that the question
names; a second step starts from question and best segment together; the two walks and the second step's own list
are fused, and the first of that are ordered by ``ranking``: what they add to the question and to one another. What is
said in conversations is not walked, but ordered by figures of its own, a turn at a time; where there are other texts
too, each kind is searched as if it were alone.

Sources: HippoRAG (2405.14831), section 2.3; HippoRAG 2 (2502.14802), section 3.3.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from memgraph_rag.contracts import Embedder, EntityRecognizer
from memgraph_rag.lexical.names import names_in, ngrams
from memgraph_rag.lexical.tokenize import words
from memgraph_rag.search.fusion import reciprocal_rank_fusion
from memgraph_rag.search.pagerank import Scores, personalised_pagerank
from memgraph_rag.search.ranking import (
    TURN_WEIGHTS,
    WEIGHTS,
    WHOEVER,
    Start,
    features,
    shares,
    smoothed,
    standard,
    told_before,
    turn_features,
)
from memgraph_rag.search.segment_index import SegmentIndex, View, edges_of
from memgraph_rag.search.speakers import asked_of, said_instead
from memgraph_rag.search.spelling import bare, may_be_misspelt, nearest, respelt
from memgraph_rag.types import Carrier, Vector, entity_id

__all__ = ["Found", "GraphSearch", "longest", "ranked"]

SHARPNESS = 3.0  # of the reset: a third of a standard deviation makes a segment e times as likely
KEYWORDS = 0.5  # weight of the words beside the meaning
NEIGHBOURS = 0.3  # weight of each neighbour in a segment's own scores
DAY, DAY_LAST = 1.0, 3.0  # what a segment gains in the walks, and in the last order, that names the question's day
ENTITIES = 0.85  # mass that starts on the question's entities, to 1 on the segments
BEST_SEGMENT = 0.5  # weight of the best segment beside the question, where the second step starts
SECOND_LIST, SECOND_WALK = 0.5, 0.4  # weights in the fusion that chooses candidates, beside 1 for the first walk
CANDIDATES = 50  # of the fusion, that are ordered by what they add to one another
DAMPING = 0.7  # share of a segment's mass that comes over edges
DAMPING_LONG = 0.3  # likewise, in a document of more segments than SHORT: its names spread more than they find
SHORT = 3
POOL = 200  # of each list that is fused
NEAREST = 3  # segments of a kind, whose cosines say how much of the question it answers
_FARTHEST = 0.01  # cosine: below it nothing tells the kinds apart

_Places = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Found:
    """A segment as the walk found it, before the store is asked for its text.

    ``ranks`` is the ``why`` of ``types.Evidence``; ``carried`` are all entities that brought something, with ids for
    names. ``cosine`` is None where the question was not embedded, or the segment is not in the list of vectors;
    ``vector`` is the segment's own, where a search had it at hand.
    """

    id: str
    score: float
    ranks: dict[str, int]
    carried: tuple[Carrier, ...] = ()
    cosine: float | None = None
    vector: Vector | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class _Walk:
    """One PageRank: its lists of places, best first, and its masses."""

    by_vector: Scores
    by_words: Scores
    on_segments: Scores
    on_entities: Scores


@dataclass(frozen=True, slots=True)
class _Order:
    """The segments of a view in order, before they are told.

    Attributes:
        places: in the view, best first; ``scores`` are theirs.
        ranks: of each list, the rank of each place in it.
        seeds: the columns of the entities that the question names.
    """

    view: View
    places: list[int]
    scores: list[float]
    ranks: dict[str, dict[int, int]]
    walk: _Walk
    seeds: list[int]

    @property
    def nearness(self) -> float:
        """The mean cosine of the nearest among the first segments; never so low that places count for nothing."""
        cosines = sorted(self.walk.by_vector[self.places[:CANDIDATES]].tolist(), reverse=True)[:NEAREST]
        return max(sum(cosines) / len(cosines), _FARTHEST)


class GraphSearch:
    """Searches one namespace.

    Args:
        namespace: of the index; entity ids are made with it.
    """

    def __init__(
        self, index: SegmentIndex, *, namespace: str, embedder: Embedder, recognizer: EntityRecognizer
    ) -> None:
        self.index = index
        self._namespace = namespace
        self._embedder = embedder
        self._recognizer = recognizer

    def find(self, question: str, view: View, *, k: int) -> list[Found]:
        """The k best segments of the view, best first, ties by id. The caller holds the index's lock."""
        if not len(view.rows):
            return []
        named = names_in(question, self._recognizer)
        vector = self._embedder.embed([question])[0]
        kinds = self.index.kinds(view)
        if len(kinds) == 1:
            order = self._order(question, named, vector, view, k=k)
            best = [(order, at, score) for at, score in enumerate(order.scores[:k])]
        else:
            best = _merged([self._order(question, named, vector, kind, k=max(k, CANDIDATES)) for kind in kinds], k)
        return [self._told(order, at, score) for order, at, score in best]

    def _order(self, question: str, named: Sequence[str], vector: Vector, view: View, *, k: int) -> _Order:
        """At least k segments of a view of one kind, where it has so many."""
        meant, named = self._meant(question, named, view)
        seeds = self._seeds(self._names(meant, named), view)
        terms = self.index.terms(meant)
        on_day = self._on_day(view, terms)
        first = self._walk(view, vector, terms, seeds, on_day)
        lists = {
            "vector": ranked(first.by_vector, view),
            "keywords": ranked(first.by_words, view, positive=True),
            "graph": ranked(first.on_segments, view),
        }
        if view.incidence.nnz:
            places, scores = self._second_step(view, vector, terms, seeds, first, lists, on_day)
        elif self.index.is_talk(view):
            sums = self._of_turns(question, view, first) @ TURN_WEIGHTS + DAY_LAST * on_day
            places, scores = _turns_first(view, self.index.said.turns[view.rows], sums, count=max(k, CANDIDATES))
            lists["turns"] = np.array(places, np.int64)
        else:
            fused = _fused({"graph": lists["graph"]}, view)
            places, scores = [place for place, _ in fused], [score for _, score in fused]
        if len(places) < k:  # beyond the pool by the first walk alone, so that the head does not depend on k
            there = set(places)
            rest = (int(place) for place in ranked(first.on_segments, view, count=len(view.rows)))
            places = [*places, *(place for place in rest if place not in there)]
            scores = [*scores, *[0.0] * (len(places) - len(scores))]
        ranks = {name: {int(place): rank for rank, place in enumerate(of_list, 1)} for name, of_list in lists.items()}
        return _Order(view, places, scores, ranks, first, seeds)

    def _told(self, order: _Order, at: int, score: float) -> Found:
        """What is said of the segment that stands there in an order."""
        place = order.places[at]
        return Found(
            str(order.view.ids[place]),
            float(score),
            {name: of_list[place] for name, of_list in order.ranks.items() if place in of_list},
            self._carried(order.view, order.walk, place, order.seeds),
            float(order.walk.by_vector[place]),
            order.view.embeddings[place],
        )

    def _second_step(
        self,
        view: View,
        vector: Vector,
        terms: NDArray[np.int32],
        seeds: Sequence[int],
        first: _Walk,
        lists: dict[str, _Places],
        on_day: Scores,
    ) -> tuple[list[int], list[float]]:
        """Start again from question and best segment together, then order what both walks found; adds two lists.

        What a chain of facts leads to next is far from the question, and near to question and best segment together.
        """
        best = int(lists["graph"][0])
        farther = vector + BEST_SEGMENT * view.embeddings[best]
        of_best = self.index.keywords.words_among(self.index.keywords.terms_of(int(view.rows[best])))
        more_terms = np.union1d(terms, of_best).astype(np.int32)
        second = self._walk(view, farther / np.linalg.norm(farther), more_terms, seeds, on_day)
        near = {
            "vector": ranked(second.by_vector, view),
            "keywords": ranked(second.by_words, view, positive=True),
        }
        lists["second step"] = np.array([place for place, _ in _fused(near, view)])
        lists["second walk"] = ranked(second.on_segments, view)
        weights = {"graph": 1.0, "second step": SECOND_LIST, "second walk": SECOND_WALK}
        fused = [place for place, _ in _fused({name: lists[name] for name in weights}, view, weights)]
        starts = (best, int(lists["graph"][min(1, len(lists["graph"]) - 1)]))
        candidates = np.array(list(dict.fromkeys([*starts, *fused]))[:CANDIDATES])
        titles = [self.index.title(int(view.rows[place])) for place in (*candidates, *starts)]
        start = Start(terms, first.by_vector, second.by_vector, second.on_segments, starts)
        figures = features(view, self.index.keywords, titles, start, candidates)
        before = told_before(len(candidates)) + DAY_LAST * on_day[candidates]
        return _ordered(view, candidates, figures @ WEIGHTS + before)

    def _on_day(self, view: View, terms: NDArray[np.int32]) -> Scores:
        """(n,) 1 for each segment that names a day which the question names, else 0."""
        return (self.index.keywords.scores(self.index.keywords.days_among(terms), view.rows) > 0).astype(np.float64)

    def said_by_another(self, question: str, view: View) -> tuple[str, str] | None:
        """The one speaker whom the question names, and who says instead what it asks about, in a view that is all talk.

        None where nobody does, or where not everything is said by somebody. The caller holds the index's lock.
        """
        if view.incidence.nnz or not len(view.rows) or not self.index.is_talk(view):
            return None
        speakers = self.index.said.names_of(view.rows)
        wanted = asked_of(question, set(speakers))
        if wanted is None:
            return None
        vector, terms = self._embedder.embed([question])[0], self.index.terms(question)
        walk = self._walk(view, vector, terms, self._seeds(self.names(question), view), self._on_day(view, terms))
        likely = shares(self._of_turns(question, view, walk) @ (TURN_WEIGHTS * WHOEVER))
        other = said_instead(wanted, speakers, likely)
        return (wanted, other) if other else None

    def _of_turns(self, question: str, view: View, walk: _Walk) -> NDArray[np.float64]:
        return turn_features(view, self.index.said, question, walk.by_vector, walk.by_words)

    def names(self, question: str) -> dict[str, str]:
        """What a question may name, in its order, and the entity's id: names, and what is some document's title.

        Whether there is such an entity is for the store to say. The caller holds the index's lock.
        """
        return self._names(question, names_in(question, self._recognizer))

    def _names(self, question: str, named: Sequence[str]) -> dict[str, str]:
        titles = (gram for gram in ngrams(question) if (column := self.index.column(self._id(gram))) is not None
                  and self.index.is_title(column))  # fmt: skip
        asked = f" {' '.join(words(question))} "
        all_names = dict.fromkeys([*named, *titles])
        in_order = sorted(all_names, key=lambda name: asked.find(f" {' '.join(words(name))} "))
        return {name: self._id(name) for name in in_order}

    def _meant(self, question: str, named: Sequence[str], view: View) -> tuple[str, Sequence[str]]:
        """The question with the nearest known word in place of each misspelt one of a name, and what it names then.

        Misspelt is what no segment of the view holds. In a question without capitals each word may be of a name.
        """
        asked = question if question.islower() else " ".join(named)
        long_words = {bare_word for word in words(asked) if may_be_misspelt(bare_word := bare(word))}
        unknown = long_words - self.index.keywords.held(long_words, view.rows)
        if not unknown:
            return question, named
        known = frozenset(map(bare, self.index.keywords.vocabulary(view.rows)))
        meant = respelt(question, {word: nearest(word, known) for word in unknown - known})
        return meant, named if meant == question else names_in(meant, self._recognizer)

    def _seeds(self, names: Mapping[str, str], view: View) -> list[int]:
        """The columns of those entities that the view's segments name, of ``names``."""
        columns = {name: self.index.column(entity_id) for name, entity_id in names.items()}
        known = {name: column for name, column in columns.items() if column is not None and view.segments_with[column]}
        return sorted(known[name] for name in longest(known))

    def _id(self, normal: str) -> str:
        return entity_id(self._namespace, normal)

    def _walk(
        self, view: View, vector: Vector, terms: NDArray[np.int32], seeds: Sequence[int], on_day: Scores
    ) -> _Walk:
        cosines = np.asarray(view.embeddings @ vector).astype(np.float64)
        bm25 = self.index.keywords.scores(terms, view.rows, view.weights)
        meaning, by_words = (standard(smoothed(scores, view, NEIGHBOURS), view.weights) for scores in (cosines, bm25))
        score = meaning + KEYWORDS * by_words + DAY * on_day
        reset = np.exp(SHARPNESS * (score - score.max()))
        total = reset.sum() if view.weights is None else reset @ view.weights
        entities = np.zeros(len(view.segments_with))
        if seeds:
            entities[list(seeds)] = 1.0 / view.segments_with[list(seeds)]
            entities *= ENTITIES / entities.sum()
        return _Walk(cosines, bm25, *personalised_pagerank(view, reset / total, entities, damping=_damping(view)))

    def _carried(self, view: View, walk: _Walk, place: int, seeds: Sequence[int]) -> tuple[Carrier, ...]:
        """The mass that the walk brought to a segment by each of its entities, as a share of the segment's."""
        entities, weights = edges_of(view.incidence, place)
        flows = _damping(view)[place] * weights * walk.on_entities[entities] / view.entity_degrees[entities]
        shares = flows / max(walk.on_segments[place], np.finfo(float).tiny)
        best = np.lexsort((entities, -shares))[:3]
        return tuple(
            Carrier(
                self.index.entity_id(int(entities[column])),
                round(float(shares[column]), 6),
                int(entities[column]) in seeds,
                self._source(view, walk, int(entities[column]), place) if int(entities[column]) not in seeds else "",
            )
            for column in best
        )

    def _source(self, view: View, walk: _Walk, entity: int, place: int) -> str:
        """The segment, not that at ``place``, that passed most mass to the entity; empty where no other names it."""
        places, weights = edges_of(view.by_entity, entity)
        flows = np.where(places == place, -1.0, weights * walk.on_segments[places] / view.segment_degrees[places])
        most = int(np.argmax(flows))
        return "" if flows[most] < 0 else str(view.ids[places[most]])


def _merged(kinds: Sequence[_Order], k: int) -> list[tuple[_Order, int, float]]:
    """The k best of conversations and of other texts: by place, times the square of how near the nearest are.

    Each with its order, where it stands there, and its score; ties by id.
    """
    weighted = []
    for order in kinds:
        weight = order.nearness**2
        weighted += [(order, at, weight * 10 / (10 + at)) for at in range(len(order.places))]

    def rank(item: tuple[_Order, int, float]) -> tuple[float, str]:
        order, at, score = item
        return -round(score, 9), str(order.view.ids[order.places[at]])

    return sorted(weighted, key=rank)[:k]


def _ordered(view: View, candidates: _Places, scores: Scores) -> tuple[list[int], list[float]]:
    """The candidates, best first, to nine digits equal ones by id, and their shares."""
    order = np.lexsort((view.ids[candidates], -np.round(scores, 9)))
    return candidates[order].tolist(), shares(scores[order]).tolist()


def _turns_first(view: View, turns: _Places, sums: Scores, *, count: int) -> tuple[list[int], list[float]]:
    """The best segment of each turn, best first, then what is left of all turns; at most ``count``, and their scores.

    The scores of the first turns are shares of 1, all others 0. A long turn is several segments: it takes one place.

    Args:
        turns: (n,) the number of each segment's turn.
        sums: (n,) by which segments are ordered.
    """
    worths = np.round(sums - sums.min() + 1.0, 9)
    order = np.lexsort((np.arange(len(worths)), -worths, turns))
    is_best = np.zeros(len(worths), bool)
    is_best[order[np.unique(turns[order], return_index=True)[1]]] = True
    places = ranked(worths + is_best * worths.max(), view, count=count)
    likely = shares(sums[places[is_best[places]][:CANDIDATES]]).tolist()
    return places.tolist(), [*likely, *[0.0] * (len(places) - len(likely))]


def longest(names: Iterable[str]) -> list[str]:
    """Those that are no part of another, by whole words: "Warsaw" in "My Cousin from Warsaw" names nothing itself."""
    framed = {name: f" {' '.join(words(name))} " for name in names}
    texts = set(framed.values())
    return [name for name, text in framed.items() if not any(text in other and text != other for other in texts)]


def _damping(view: View) -> Scores:
    return np.where(view.siblings <= SHORT, DAMPING, DAMPING_LONG)


def ranked(scores: Scores, view: View, *, positive: bool = False, count: int = POOL) -> _Places:
    """The places of the best scores, at most ``count``, best first; to nine digits equal ones by id."""
    largest = scores.max(initial=0.0)
    rounded = np.round(scores / largest, 9) if largest > 0 else scores
    count = min(count, len(scores))
    least = np.partition(rounded, len(rounded) - count)[len(rounded) - count]
    candidates = np.flatnonzero(rounded >= max(least, 1e-9) if positive else rounded >= least)
    return candidates[np.lexsort((view.ids[candidates], -rounded[candidates]))][:count]


def _fused(lists: dict[str, _Places], view: View, weights: dict[str, float] | None = None) -> list[tuple[int, float]]:
    place_of = {str(view.ids[place]): int(place) for places in lists.values() for place in places}
    rankings = {name: [str(view.ids[place]) for place in places] for name, places in lists.items()}
    return [(place_of[item], score) for item, score in reciprocal_rank_fusion(rankings, weights=weights)]
