"""Find segments by personalised PageRank over the graph, without a language model.

The module reads the namespace through its index. The embedder gives vectors, rules give names. Invariants:
the same question gives the same order, whichever store holds the graph (scores are rounded to nine digits, ties go by
id); a search of some documents ignores all other documents.

The recipe was chosen on the tuning sets (``docs/decisions``). The walk restarts at segments with the probability exp(3
s), where s = z(cosine) + 0.5 z(BM25), each smoothed over the neighbours in the document, and at the entities that the
question names with 1 / frequency. A second walk starts from the question and the best segment together. Both walks and
the second walk's own list are fused, and ``ranking`` orders the best candidates. Conversations are not walked:
``ranking`` orders their turns by features of turns. A view that holds both conversations and other texts is searched
once for each kind.

Sources: HippoRAG (2405.14831), section 2.3; HippoRAG 2 (2502.14802), section 3.3.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from memgraph_rag.contracts import Embedder, cosine_scale, query_vectors
from memgraph_rag.lexical.language import kind_of_text
from memgraph_rag.lexical.names import find_names_by_rules, ngrams
from memgraph_rag.lexical.tokenize import words
from memgraph_rag.search.fusion import reciprocal_rank_fusion
from memgraph_rag.search.pagerank import Scores, segment_entity_masses, solve_pagerank
from memgraph_rag.search.ranking import (
    TURN_WEIGHTS,
    WEIGHTS,
    WHOEVER,
    Start,
    features,
    score_positions,
    shares,
    smooth,
    standard,
    turn_features,
)
from memgraph_rag.search.segment_index import SegmentIndex, View, row_edges
from memgraph_rag.search.speakers import find_only_speaker, find_other_speaker
from memgraph_rag.search.spelling import bare, find_nearest_word, may_be_misspelt, replace_words
from memgraph_rag.types import Carrier, CosineScale, Vector, entity_id

SHARPNESS = 3.0  # of the reset: a third of a standard deviation multiplies a segment's probability by e
KEYWORDS = 0.5  # weight of BM25, where the embedder knows the language and the cosine has the weight 1
KNOWN = 1 / 3  # share of the question's words that the view holds; with less, as across languages, words count less
NEIGHBOURS = 0.3  # weight of each neighbour in a segment's own scores
DAY, DAY_LAST = 1.0, 3.0  # added to segments that name the question's day: in the walks, and in the final order
WORDS_LAST = 3.0  # weight of BM25 in the final order, for a question in a language that the embedder does not know
MEANING_LAST = 3.0  # weight of the cosine in the final order, for a question with words that no segment holds
ENTITIES = 0.85  # mass that starts on the question's entities; 1 starts on the segments
BEST_SEGMENT = 0.5  # weight of the best segment in the start of the second walk; the question has the weight 1
SECOND_LIST, SECOND_WALK = 0.5, 0.4  # weights in the fusion that chooses candidates; the first walk has the weight 1
CANDIDATES = 50  # the best of the fusion, which ``ranking`` orders
DAMPING = 0.7  # share of a segment's mass that arrives over edges
DAMPING_LONG = 0.3  # the same for documents with more than SHORT segments: their names lead to too many segments
SHORT = 3
POOL = 200  # entries of each list that is fused
NEAREST = 3  # segments whose mean cosine weighs a kind (conversations, other texts)
_FARTHEST = 0.01  # smallest mean cosine, so that a kind's scores are never 0

_Places = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class SegmentMatch:
    """A segment that a search found, before its text is read from the store.

    Attributes:
        ranks: the rank in each list that holds the segment: the ``why`` of ``types.Evidence``.
        carried: the entities that passed mass to the segment, with ids in place of names.
        cosine: the cosine to the question; None if the question was not embedded or the segment is not in the list of
            vectors.
        vector: the segment's embedding, if the search had it in memory.
    """

    id: str
    score: float
    ranks: dict[str, int]
    carried: tuple[Carrier, ...] = ()
    cosine: float | None = None
    vector: Vector | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a question gives to its walks.

    Attributes:
        terms: the question's words and days, by their numbers in the index.
        seeds: the columns of the entities that the question names.
        on_day: (n,) 1 for each segment that names the question's day.
        knowledge: how well the embedder knows the question's kind of text, from 0 to 1.
        word_weight: from 0 to 1; small if the texts are in another language than the question.
    """

    vector: Vector
    terms: NDArray[np.int32]
    seeds: Sequence[int]
    on_day: Scores
    knowledge: float
    word_weight: float


@dataclass(frozen=True, slots=True)
class _Walk:
    """The result of one PageRank: one score a segment by cosine, BM25 and mass, and the reset of the entities."""

    by_vector: Scores
    by_words: Scores
    on_segments: Scores
    seeds: Mapping[int, float]


@dataclass(frozen=True, slots=True)
class _Order:
    """The segments of a view in their final order, before they become matches.

    Attributes:
        places: places in the view, best first.
        scores: the score of each of these places.
        ranks: for each list, the rank of each place in it.
        seeds: the columns of the entities that the question names.
    """

    view: View
    places: list[int]
    scores: list[float]
    ranks: dict[str, dict[int, int]]
    walk: _Walk
    seeds: list[int]

    def nearness(self, scale: CosineScale) -> float:
        """Return the mean reading of the ``NEAREST`` best cosines among the first segments; at least ``_FARTHEST``."""
        cosines = sorted(self.walk.by_vector[self.places[:CANDIDATES]].tolist(), reverse=True)[:NEAREST]
        return max(scale.read(sum(cosines) / len(cosines)), _FARTHEST)


class GraphSearch:
    """Finds the segments of an index that answer a question, by personalised PageRank and learnt features.

    Args:
        namespace: the namespace of the index; entity ids are made with it.
    """

    def __init__(self, index: SegmentIndex, *, namespace: str, embedder: Embedder) -> None:
        self.index = index
        self._namespace = namespace
        self._embedder = embedder

    @cached_property
    def _scale(self) -> CosineScale:
        return cosine_scale(self._embedder)

    def find(self, question: str, view: View, *, k: int, by_words: int = 0) -> list[SegmentMatch]:
        """Return the k best segments of a view for a question, best first, then further ones that match its words best.

        There are fewer than k only if the view has fewer. ``SegmentSearch.find`` explains the scores; several segments
        may have the score 0 and are still in order. The caller holds the index's lock.

        Args:
            by_words: the largest rank in the order of keyword scores that a further segment may have; 0 for none.
        """
        if not len(view.rows):
            return []
        named = find_names_by_rules(question)
        vector = query_vectors(self._embedder, [question])[0]
        kinds = self.index.kinds(view)
        if len(kinds) == 1:
            orders = [self._order(question, named, vector, view, k=k)]
            best = [(0, at, score) for at, score in enumerate(orders[0].scores)]
        else:
            orders = [self._order(question, named, vector, kind, k=max(k, CANDIDATES)) for kind in kinds]
            best = _merge_kinds(orders, self._scale)
        kept = [
            (kind, at, score)
            for place, (kind, at, score) in enumerate(best)
            if place < k or orders[kind].ranks["keywords"].get(orders[kind].places[at], by_words + 1) <= by_words
        ]
        matches = [
            iter(self._build_matches(order, [(at, score) for of, at, score in kept if of == kind]))
            for kind, order in enumerate(orders)
        ]
        return [next(matches[kind]) for kind, _, _ in kept]

    def _order(self, question: str, named: Sequence[str], vector: Vector, view: View, *, k: int) -> _Order:
        """Return at least k segments of a view of one kind, or all segments of a smaller view."""
        corrected, named = self._correct_names(question, named, view)
        asked = self._prepare(corrected, self._names(corrected, named), vector, view)
        first = self._walk(view, asked)
        lists = {
            "vector": rank_places(first.by_vector, view),
            "keywords": rank_places(first.by_words, view, positive=True),
            "graph": rank_places(first.on_segments, view),
        }
        if view.incidence.nnz:
            places, scores = self._second_step(view, asked, first, lists)
        elif self.index.is_talk(view):
            sums = self._turn_features(question, view, first) @ TURN_WEIGHTS + DAY_LAST * asked.on_day
            places, scores = _rank_turns(view, self.index.said.turns[view.rows], sums, count=max(k, CANDIDATES))
            lists["turns"] = np.array(places, np.int64)
        else:
            fused = _fuse_lists({"graph": lists["graph"]}, view)
            places, scores = [place for place, _ in fused], [score for _, score in fused]
        if len(places) < k:  # after the pool the first walk alone decides, so that the first results do not depend on k
            positions = set(places)
            rest = (int(place) for place in rank_places(first.on_segments, view, count=k))
            places = [*places, *(place for place in rest if place not in positions)]
            scores = [*scores, *[0.0] * (len(places) - len(scores))]
        ranks = {
            name: {int(place): rank for rank, place in enumerate(list_places, 1)} for name, list_places in lists.items()
        }
        return _Order(view, places, scores, ranks, first, list(asked.seeds))

    def _build_matches(self, order: _Order, chosen: Sequence[tuple[int, float]]) -> list[SegmentMatch]:
        """Return the matches at some positions of an order, each with its score."""
        places = [order.places[at] for at, _ in chosen]
        carriers = self._find_carriers(order.view, order.walk, places, order.seeds)
        return [
            SegmentMatch(
                segment_id,
                float(score),
                {name: ranks[place] for name, ranks in order.ranks.items() if place in ranks},
                carried,
                float(order.walk.by_vector[place]),
                order.view.embeddings[place],
            )
            for segment_id, place, carried, (_, score) in zip(
                order.view.ids[places], places, carriers, chosen, strict=True
            )
        ]

    def _prepare(self, question: str, names: Mapping[str, str], vector: Vector, view: View) -> _Asked:
        """Return what a question with these names gives to the walks over a view."""
        terms = self.index.keywords.terms(question, view.rows)
        knowledge = self._scale.rate_kind(kind_of_text(question))
        word_weight = min(self.index.keywords.rate_known(question, view.rows) / KNOWN, 1.0)
        days = self.index.keywords.select_days(terms)
        on_day = (self.index.keywords.scores(days, view.rows) > 0).astype(np.float64)
        seeds = self._find_seed_columns(names, view)
        return _Asked(vector, terms, seeds, on_day, knowledge, word_weight)

    def _second_step(
        self, view: View, asked: _Asked, first: _Walk, lists: dict[str, _Places]
    ) -> tuple[list[int], list[float]]:
        """Walk again from the question and the best segment, and order the candidates of both walks.

        Add the two lists of this walk to ``lists``. The next fact of a chain is far from the question, but near to the
        question and the best segment together.
        """
        best = int(lists["graph"][0])
        farther = asked.vector + BEST_SEGMENT * view.embeddings[best]
        best_terms = self.index.keywords.select_words(self.index.keywords.row_terms(int(view.rows[best])))
        more_terms = np.union1d(asked.terms, best_terms).astype(np.int32)
        second = self._walk(view, replace(asked, vector=farther / np.linalg.norm(farther), terms=more_terms))
        near = {
            "vector": rank_places(second.by_vector, view),
            "keywords": rank_places(second.by_words, view, positive=True),
        }
        lists["second step"] = np.array([place for place, _ in _fuse_lists(near, view)])
        lists["second walk"] = rank_places(second.on_segments, view)
        weights = {"graph": 1.0, "second step": SECOND_LIST, "second walk": SECOND_WALK}
        fused = [place for place, _ in _fuse_lists({name: lists[name] for name in weights}, view, weights)]
        starts = (best, int(lists["graph"][min(1, len(lists["graph"]) - 1)]))
        candidates = np.array(list(dict.fromkeys([*starts, *fused]))[:CANDIDATES])
        titles = self.index.titles(view.rows[[*candidates, *starts]])
        start = Start(asked.terms, first.by_vector, second.on_segments, starts, asked.knowledge, asked.word_weight)
        figures = features(view, self.index.keywords, titles, start, candidates, scale=self._scale)
        meaning, by_words = (standard(each, view.weights)[candidates] for each in (first.by_vector, first.by_words))
        before = score_positions(len(candidates)) + DAY_LAST * asked.on_day[candidates]
        before += (1 - asked.knowledge) * WORDS_LAST * by_words
        before += (1 - asked.word_weight) * asked.knowledge * MEANING_LAST * meaning
        return _order_candidates(view, candidates, figures @ WEIGHTS + before)

    def find_speaker_mismatch(self, question: str, view: View) -> tuple[str, str] | None:
        """Return (speaker whom the question names, other speaker who says what it asks), if they differ.

        Return None if there is no such other speaker, if the question names no speaker, several or its own asker, if a
        machine speaks, or if a segment of the view has no speaker. The caller holds the index's lock.
        """
        if view.incidence.nnz or not len(view.rows) or not self.index.is_talk(view):
            return None
        speakers = self.index.said.speaker_names(view.rows)
        wanted = find_only_speaker(question, set(speakers))
        if wanted is None:
            return None
        vector = query_vectors(self._embedder, [question])[0]
        walk = self._walk(view, self._prepare(question, self.names(question), vector, view))
        probabilities = shares(self._turn_features(question, view, walk) @ (TURN_WEIGHTS * WHOEVER))
        other = find_other_speaker(wanted, speakers, probabilities)
        return (wanted, other) if other else None

    def _turn_features(self, question: str, view: View, walk: _Walk) -> NDArray[np.float64]:
        return turn_features(view, self.index.said, question, walk.by_vector, walk.by_words)

    def names(self, question: str) -> dict[str, str]:
        """Return the names in a question and the document titles that it holds: entity ids by normal form, in order.

        A name inside a longer name is returned, too. Only titles of documents in the index are known, without those of
        conversations. The store may have no entity with that id. The caller holds the index's lock.
        """
        return self._names(question, find_names_by_rules(question))

    def _names(self, question: str, named: Sequence[str]) -> dict[str, str]:
        ids = {name: entity_id(self._namespace, name) for name in [*named, *ngrams(question)]}
        titles = self.index.find_titles(ids.values())
        asked = f" {' '.join(words(question))} "
        places = {
            name: asked.find(f" {' '.join(words(name))} ") for name in ids if name in named or ids[name] in titles
        }
        return {name: ids[name] for name in sorted(places, key=places.__getitem__)}

    def _correct_names(self, question: str, named: Sequence[str], view: View) -> tuple[str, Sequence[str]]:
        """Return the question with corrected names, and the names in the corrected question.

        A long word of a name that no segment of the view holds is replaced by the nearest known word. In a question in
        lower case every word may be part of a name.
        """
        asked = question if question.islower() else " ".join(named)
        long_words = {bare_word for word in words(asked) if may_be_misspelt(bare_word := bare(word))}
        unknown = long_words - self.index.keywords.find_held(long_words, view.rows)
        if not unknown:
            return question, named
        meant = {}
        for word in unknown:
            known = frozenset(map(bare, self.index.keywords.vocabulary(view.rows, word[0])))
            meant[word] = "" if word in known else find_nearest_word(word, known)
        corrected = replace_words(question, meant)
        return corrected, named if corrected == question else find_names_by_rules(corrected)

    def _find_seed_columns(self, names: Mapping[str, str], view: View) -> list[int]:
        """Return the sorted columns of the named entities that segments of the view name."""
        columns = self.index.find_columns(names.values())
        known = {name: columns[each] for name, each in names.items() if each in columns}
        known = {name: column for name, column in known.items() if view.segments_with[column]}
        return sorted(known[name] for name in drop_nested_names(known))

    def _walk(self, view: View, asked: _Asked) -> _Walk:
        """Return the result of one walk. What the embedder does not know of the question, its words decide."""
        cosines = np.asarray(view.embeddings @ asked.vector).astype(np.float64)
        bm25 = self.index.keywords.scores(asked.terms, view.rows, view.weights)
        meaning, by_words = (standard(smooth(scores, view, NEIGHBOURS), view.weights) for scores in (cosines, bm25))
        keywords = asked.word_weight * (1 - asked.knowledge * (1 - KEYWORDS))
        score = asked.knowledge * meaning + keywords * by_words + DAY * asked.on_day
        reset = np.exp(SHARPNESS * (score - score.max()))
        reset /= reset.sum() if view.weights is None else reset @ view.weights
        rarity = {seed: 1.0 / float(view.segments_with[seed]) for seed in asked.seeds}
        whole = float(reset.sum()) + (ENTITIES if rarity else 0.0)
        seeds = {seed: ENTITIES * each / sum(rarity.values()) / whole for seed, each in rarity.items()}
        return _Walk(cosines, bm25, solve_pagerank(view, reset / whole, seeds, damping=_damping(view)), seeds)

    def _find_carriers(
        self, view: View, walk: _Walk, places: Sequence[int], seeds: Sequence[int]
    ) -> list[tuple[Carrier, ...]]:
        """Return for each place the three entities that passed the most mass to it, with their shares of its mass."""
        damping = _damping(view)
        all_masses = segment_entity_masses(view, walk.on_segments, places, walk.seeds, damping=damping)
        flows_by_place = []
        for place, masses in zip(places, all_masses, strict=True):
            entities, weights = row_edges(view.incidence, place)
            flows = damping[place] * weights * masses / view.entity_degrees[entities]
            shares = flows / max(walk.on_segments[place], np.finfo(float).tiny)
            best = np.lexsort((entities, -shares))[:3]
            flows_by_place.append(list(zip(entities[best].tolist(), shares[best].tolist(), strict=True)))
        carrying = sorted({entity for flows in flows_by_place for entity, _ in flows})
        ids = dict(zip(carrying, self.index.select_entity_ids(carrying), strict=True))
        sources = {
            (place, entity): source
            for place, flows in zip(places, flows_by_place, strict=True)
            for entity, _ in flows
            if entity not in seeds and (source := _find_source(view, walk, entity, place)) is not None
        }
        source_ids = dict(zip(sources, view.ids[[*sources.values()]], strict=True))
        return [
            tuple(
                Carrier(ids[entity], round(share, 6), entity in seeds, source_ids.get((place, entity), ""))
                for entity, share in flows
            )
            for place, flows in zip(places, flows_by_place, strict=True)
        ]


def _find_source(view: View, walk: _Walk, entity: int, place: int) -> int | None:
    """Return the place of the other segment that passed the most mass to the entity; None if no other one names it."""
    places, weights = view.entity_edges(entity)
    flows = np.where(places == place, -1.0, weights * walk.on_segments[places] / view.segment_degrees[places])
    most = int(np.argmax(flows))
    return None if flows[most] < 0 else int(places[most])


def _merge_kinds(kinds: Sequence[_Order], scale: CosineScale) -> list[tuple[int, int, float]]:
    """Return the segments of all kinds as (number of the kind, position in its order, score); ties by id.

    The score is 10 / (10 + position), times the square of the order's ``nearness``.
    """
    weighted = []
    for kind, order in enumerate(kinds):
        weight = order.nearness(scale) ** 2
        for at, segment_id in enumerate(order.view.ids[order.places]):
            score = weight * 10 / (10 + at)
            weighted.append((-round(score, 9), segment_id, kind, at, score))
    return [(kind, at, score) for _, _, kind, at, score in sorted(weighted)]


def _order_candidates(view: View, candidates: _Places, scores: Scores) -> tuple[list[int], list[float]]:
    """Return the candidates, best first, and their shares of 1; scores equal to nine digits are ordered by id."""
    order = np.lexsort((view.ids.number_by_id(candidates), -np.round(scores, 9)))
    return candidates[order].tolist(), shares(scores[order]).tolist()


def _rank_turns(view: View, turns: _Places, sums: Scores, *, count: int) -> tuple[list[int], list[float]]:
    """Return the best segment of each turn, best first, then the other segments, at most ``count``, and their scores.

    The scores of the best segments of turns are shares of 1; all other scores are 0. A long turn has several segments,
    but only one of them is in the first part.

    Args:
        turns: (n,) the number of each segment's turn.
        sums: (n,) the value by which segments are ordered.
    """
    worths = np.round(sums - sums.min() + 1.0, 9)
    order = np.lexsort((np.arange(len(worths)), -worths, turns))
    is_best = np.zeros(len(worths), bool)
    is_best[order[np.unique(turns[order], return_index=True)[1]]] = True
    places = rank_places(worths + is_best * worths.max(), view, count=count)
    probabilities = shares(sums[places[is_best[places]][:CANDIDATES]]).tolist()
    return places.tolist(), [*probabilities, *[0.0] * (len(places) - len(probabilities))]


def drop_nested_names(names: Iterable[str]) -> list[str]:
    """Return the names, in order, that are not part of a longer name: "Warsaw" is part of "My Cousin from Warsaw".

    Whole words are compared. Names with the same words are all kept.
    """
    framed = {name: f" {' '.join(words(name))} " for name in names}
    texts = set(framed.values())
    return [name for name, text in framed.items() if not any(text in other and text != other for other in texts)]


def _damping(view: View) -> Scores:
    return np.where(view.siblings <= SHORT, DAMPING, DAMPING_LONG)


def rank_places(scores: Scores, view: View, *, positive: bool = False, count: int = POOL) -> _Places:
    """Return the positions of the best scores of a view's segments, at most ``count``, best first.

    Scores that are equal to nine digits, relative to the largest score, are ordered by id. The view must not be empty.

    Args:
        positive: whether scores of 0 and below are left out.
    """
    largest = scores.max(initial=0.0)
    rounded = np.round(scores / largest, 9) if largest > 0 else scores
    count = min(count, len(scores))
    least = np.partition(rounded, len(rounded) - count)[len(rounded) - count]
    candidates = np.flatnonzero(rounded >= max(least, 1e-9) if positive else rounded >= least)
    if len(candidates) > 2 * count:  # many scores equal the last one: their ids decide
        is_tied = rounded[candidates] == least
        wanted = count - int((~is_tied).sum())
        heads = view.ids.heads[candidates]
        last = np.partition(heads[is_tied], wanted - 1)[wanted - 1]
        candidates = candidates[~is_tied | (heads <= last)]
    return candidates[np.lexsort((view.ids.number_by_id(candidates), -rounded[candidates]))][:count]


def _fuse_lists(
    lists: dict[str, _Places], view: View, weights: dict[str, float] | None = None
) -> list[tuple[int, float]]:
    places = np.concatenate([*lists.values()])
    numbers = view.ids.number_by_id(places)
    place_of = dict(zip(numbers.tolist(), places.tolist(), strict=True))
    ends = np.cumsum([*map(len, lists.values())])
    rankings = {name: part.tolist() for name, part in zip(lists, np.split(numbers, ends[:-1]), strict=True)}
    return [(place_of[number], score) for number, score in reciprocal_rank_fusion(rankings, weights=weights)]
