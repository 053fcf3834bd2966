"""The searches of HippoRAG 1 and 2: personalised PageRank from the names, or the facts, of a question.

It calls no language model: the caller passes the model's results (the names of the question, the relevant facts).
Invariants, as for ``search.graph``: equal questions give equal orders; a search of some documents gives the same result
as if the memory held no other documents.

If nothing of a question is known, or if a model says that no fact is relevant, segments are ordered by the cosine
alone, as in HippoRAG 2 (HippoRAG 1 would then use one order for all questions). Segments that no name leads to come
last, by the cosine.

Sources: HippoRAG (2405.14831), sections 2.2 and 2.3; HippoRAG 2 (2502.14802), sections 3.2 to 3.4. Difference from the
released code: names that the recognizer finds stand for facts in segments without triples and relations.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from memgraph_rag.contracts import Embedder, EntityRecognizer, query_vectors
from memgraph_rag.lexical.names import find_names, normalise
from memgraph_rag.search.graph import SegmentMatch, rank_places
from memgraph_rag.search.pagerank import Scores, pagerank
from memgraph_rag.search.segment_index import SegmentIndex, View, row_edges
from memgraph_rag.systems.hipporag.name_graph import Edges, NameGraph, name_graph
from memgraph_rag.systems.hipporag.phrases import phrase_form, phrase_id
from memgraph_rag.systems.hipporag.relation_index import RelationIndex
from memgraph_rag.types import Carrier, Relation, Vector, entity_id

DAMPING = 0.5  # of both papers' scripts
CANDIDATE_FACTS = 5
"""Facts nearest to the question that a model may choose from."""

_MOST_NAMES = 5  # that facts lead to (HippoRAG 2)
_PASSAGES = 0.05  # weight of the cosine among the passages, beside names (HippoRAG 2)
_CARRIERS = 3


class HippoSearch:
    """The HippoRAG searches of one namespace.

    Args:
        index: the segments of the namespace.
        relations: the relations of the namespace; each search refreshes them.
        namespace: the name of the namespace, from which entity ids are computed.
        embedder: embeds questions and names.
        recognizer: finds the names in a question.
    """

    def __init__(
        self,
        index: SegmentIndex,
        relations: RelationIndex,
        *,
        namespace: str,
        embedder: Embedder,
        recognizer: EntityRecognizer,
    ) -> None:
        self._index = index
        self.relations = relations
        self._namespace = namespace
        self._embedder = embedder
        self._recognizer = recognizer
        self._last: tuple[View, int, Edges, NameGraph] | None = None

    def rank_names(
        self, question: str, view: View, *, k: int, names: Sequence[str] | None = None, edges: Edges = "released"
    ) -> list[SegmentMatch]:
        """Return the k best segments of the view for the names of the question, best first (HippoRAG).

        Each name of the question is matched to the same stored name, or else to the nearest name, by the cosine, among
        names that facts join. The walk starts at each match with weight 1 / (number of segments
        about the name), its node specificity. The score of a segment is the sum, over its facts, of the mass of their
        names. Segments that the walk does not reach come last, by the cosine, with score 0. Without a match all
        segments are ordered by the cosine. The caller must hold the lock of the index.

        Args:
            names: the names in the question; by default the recognizer finds them.
        """
        graph, cosines = self._graph(view, edges), self._cosines(question, view)
        seeds = self._nearest(find_names(question, self._recognizer) if names is None else names, graph)
        if not seeds:
            return _rank_by_cosine(cosines, view, k)
        mass = pagerank(graph.among_names, self._weigh_specific(dict.fromkeys(seeds, 1.0), graph), damping=DAMPING)
        return self._matches(graph.facts_about @ mass, cosines, mass, seeds, graph, view, k)

    def rank_facts(
        self,
        question: str,
        view: View,
        *,
        k: int,
        relations: Collection[str] | None = None,
        edges: Edges = "released",
    ) -> list[SegmentMatch]:
        """Return the k best segments of the view for the facts nearest to the question, best first (HippoRAG 2).

        A walk over names and segments starts at the names of the five nearest facts. The start weight of a name is the
        mean score of its facts / (number of segments about the name); only the five largest count. The start weight of
        a segment is its cosine, scaled to 0 to 1, × 0.05. A name of the question that no triple joins takes part with
        a mean score of 1. Without any start name, segments are ordered by the cosine. The caller must hold the lock of
        the index.

        Args:
            relations: ids of the facts that are relevant to the question (recognition memory); by default all five.
                Ids of other facts are ignored. If none is left, segments are ordered by the cosine.
        """
        graph, vector = self._graph(view, edges), self._embed_question(question)
        cosines = _cosines(view, vector)
        seeds: dict[int, float] = {}
        if relations is None or len(relations):
            chosen = {place: score for place, score in _nearest_facts(graph, vector).items()
                      if relations is None or graph.facts.items[place].id in relations}  # fmt: skip
            seeds = _choose_best_names(chosen, graph)
            if relations is None or chosen:
                seeds |= dict.fromkeys(self._list_unjoined_names(question, graph), 1.0)
        if not seeds:
            return _rank_by_cosine(cosines, view, k)
        reset = np.concatenate([_PASSAGES * _scale(cosines), self._weigh_specific(seeds, graph)])
        mass = pagerank(graph.with_segments, reset, damping=DAMPING)
        on_segments, on_names = mass[: len(view.rows)], mass[len(view.rows) :]
        return self._matches(on_segments, cosines, on_names, seeds, graph, view, k)

    def facts(self, question: str, view: View, *, edges: Edges = "released") -> list[Relation]:
        """Return the five facts of the view nearest to a question, best first; fewer if the view has fewer."""
        graph = self._graph(view, edges)
        places = _nearest_facts(graph, self._embed_question(question)) if len(graph.facts) else ()
        return [graph.facts.items[place] for place in places]

    def _graph(self, view: View, edges: Edges) -> NameGraph:
        """Return the graph of a view. The last graph is cached."""
        self.relations.refresh()
        key = view, self.relations.version, edges
        if self._last is None or self._last[0] is not view or self._last[1:3] != key[1:]:
            self._last = *key, name_graph(view, self._index, self.relations, edges)
        return self._last[3]

    def _embed_question(self, question: str) -> Vector:
        return query_vectors(self._embedder, [question])[0]

    def _cosines(self, question: str, view: View) -> Scores:
        return _cosines(view, self._embed_question(question))

    def _nearest(self, names: Sequence[str], graph: NameGraph) -> list[int]:
        """Return the columns of the stored names that equal these names or are nearest to them, ascending."""
        forms = {form: name for name in names if (form := phrase_form(name) or normalise(name))}
        same = {form: self._column(form, name, graph) for form, name in forms.items()}
        columns = {column for column in same.values() if column is not None}
        others = [form for form, column in same.items() if column is None]
        embedded, vectors = graph.embedded
        if others and len(embedded):
            near = np.round(self._embedder.embed(others) @ vectors.T, 9)
            columns |= {int(embedded[place]) for place in near.argmax(axis=1)}
        return sorted(columns)

    def _column(self, form: str, name: str, graph: NameGraph) -> int | None:
        """Return the column of the phrase of this form, else of the entity of this name; None if there is neither."""
        phrase = graph.find_column(phrase_id(self._namespace, form))
        return graph.find_column(entity_id(self._namespace, normalise(name))) if phrase is None else phrase

    def _list_unjoined_names(self, question: str, graph: NameGraph) -> list[int]:
        """Return the columns of the question's names that no triple joins."""
        ids = [entity_id(self._namespace, name) for name in find_names(question, self._recognizer)]
        known = [column for name in ids if (column := graph.find_column(name)) is not None]
        return [column for column in known if not graph.in_relations[column]]

    def _weigh_specific(self, scores: Mapping[int, float], graph: NameGraph) -> Scores:
        """(m,) each name's score times its node specificity."""
        reset = np.zeros(len(graph.segments_with))
        for column, score in scores.items():
            reset[column] = score / graph.segments_with[column]
        return reset

    def _matches(
        self,
        scores: Scores,
        cosines: Scores,
        on_names: Scores,
        seeds: Collection[int],
        graph: NameGraph,
        view: View,
        k: int,
    ) -> list[SegmentMatch]:
        """Return the k best segments by score, then by cosine, with the names that led to them."""
        walked = [int(place) for place in rank_places(scores, view, positive=True, count=len(scores))[:k]]
        near = {int(place): rank for rank, place in enumerate(rank_places(cosines, view, count=len(cosines)), 1)}
        there = set(walked)
        places = [*walked, *[place for place in near if place not in there][: k - len(walked)]]
        return [
            SegmentMatch(
                segment_id,
                float(scores[place]) if place in there else 0.0,
                ({"relations" if graph.has_relations[place] else "names": rank} if place in there else {})
                | {"vector": near[place]},
                self._find_carriers(graph, on_names, place, seeds) if place in there else (),
                float(cosines[place]),
            )
            for rank, (place, segment_id) in enumerate(zip(places, view.ids[places], strict=True), 1)
        ]

    def _find_carriers(
        self, graph: NameGraph, on_names: Scores, place: int, seeds: Collection[int]
    ) -> tuple[Carrier, ...]:
        """Return up to three start names that a segment is about, with their shares of the segment's mass."""
        columns, weights = row_edges(graph.facts_about, place)
        flows = weights * on_names[columns]
        total = max(float(flows.sum()), np.finfo(float).tiny)
        best = [at for at in np.lexsort((columns, -flows)) if int(columns[at]) in seeds][:_CARRIERS]
        ids = {column: name for name, column in graph.columns.items()} if best else {}
        return tuple(Carrier(ids[int(columns[at])], round(float(flows[at]) / total, 6), True, "") for at in best)


def _nearest_facts(graph: NameGraph, vector: Vector) -> dict[int, float]:
    """Return the places of the five facts nearest to the question, best first, with cosines scaled to 0 to 1.

    Of the same fact in several segments the first place is returned.
    """
    if not len(graph.facts):
        return {}
    scores = np.round(_scale(np.asarray(graph.facts.vectors @ vector, np.float64)), 9)
    nearest: dict[tuple[int, int, str], int] = {}
    for place in map(int, np.argsort(-scores, kind="stable")):  # facts are by id: so are ties
        first, second = map(int, graph.ends[place])
        nearest.setdefault((first, second, phrase_form(graph.facts.items[place].description)), place)
        if len(nearest) == CANDIDATE_FACTS:
            break
    return {place: float(scores[place]) for place in nearest.values()}


def _choose_best_names(facts: Mapping[int, float], graph: NameGraph) -> dict[int, float]:
    """Return the mean score of each name's facts, for the five names with the largest mean × specificity above 0."""
    of_name: dict[int, list[float]] = {}
    for place, score in facts.items():
        for column in graph.ends[place]:
            of_name.setdefault(int(column), []).append(score)
    means = {column: sum(scores) / len(scores) for column, scores in of_name.items()}
    weights = {column: round(mean / graph.segments_with[column], 9) for column, mean in means.items()}
    best = sorted(weights, key=lambda column: (-weights[column], column))[:_MOST_NAMES]
    return {column: means[column] for column in best if weights[column] > 0}


def _cosines(view: View, vector: Vector) -> Scores:
    return np.asarray(view.embeddings @ vector).astype(np.float64)


def _scale(scores: Scores) -> Scores:
    """Return the scores scaled to 0 … 1; all 1 if they are equal."""
    low, high = scores.min(initial=np.inf), scores.max(initial=-np.inf)
    return (scores - low) / (high - low) if high > low else np.ones(len(scores))


def _rank_by_cosine(cosines: Scores, view: View, k: int) -> list[SegmentMatch]:
    places = rank_places(cosines, view, count=max(k, 1))[:k]
    return [
        SegmentMatch(segment_id, float(cosines[place]), {"vector": rank}, cosine=float(cosines[place]))
        for rank, (place, segment_id) in enumerate(zip(places, view.ids[places], strict=True), 1)
    ]
