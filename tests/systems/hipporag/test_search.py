"""HippoRAG 1 and 2 against plain references on random memories, and where there is next to nothing to go by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tables import table

from memgraph_rag.contracts import GraphStore
from memgraph_rag.errors import SearchMemoryExceeded
from memgraph_rag.search.segments import SegmentSearch
from memgraph_rag.stores import open_store
from memgraph_rag.systems.hipporag import FactWalk, NameWalk
from memgraph_rag.systems.hipporag.name_graph import Edges
from memgraph_rag.systems.hipporag.phrases import read_facts
from memgraph_rag.systems.hipporag.relation_index import RelationIndex
from memgraph_rag.testing import FakeEmbedder, FakeRecognizer
from memgraph_rag.testing.sample_graphs import DIMENSION, EMBEDDER, NAME, entity_id, make_graph
from memgraph_rag.types import Annotation, DocumentGraph, Extent, Matrix, Relation, annotation_id

NAMES = ("Ann", "Bob", "Eve", "Zoe", "Joe")


class ApartEmbedder(FakeEmbedder):
    """Random vectors, the same for the same text, of which no two are equally near to a third."""

    def embed(self, texts: Sequence[str]) -> Matrix:
        rows = [np.random.default_rng(list(text.encode())).normal(size=DIMENSION) for text in texts]
        return np.array([row / np.linalg.norm(row) for row in rows], np.float32).reshape(-1, DIMENSION)


EMBED = ApartEmbedder(DIMENSION, name=EMBEDDER)
HIPPO: tuple[str, ...] = ("hipporag", "hipporag2")

documents_drawn = st.lists(
    st.tuples(st.lists(st.lists(st.sampled_from(NAMES), max_size=3), min_size=1, max_size=3), st.booleans()),
    min_size=1,
    max_size=5,
)


@cache
def in_memory() -> GraphStore:
    store = open_store(":memory:", namespace="n")
    store.migrate(embedder=EMBEDDER, dimension=DIMENSION)
    return store


def opened(namespace: str = "n") -> GraphStore:
    """The one store of this module, with nothing in that namespace."""
    store = in_memory().bind_namespace(namespace)
    for document_id in store.document_ids():
        store.forget(document_id)
    return store


def document(key: str, texts: Sequence[str], *, related: bool, namespace: str = "n") -> DocumentGraph:
    """A document that nobody says, with a triple for each pair of names beside one another if they are related."""
    graph = make_graph(namespace, key, tuple(texts), seed=sum(key.encode()))
    segments = tuple(replace(segment, speaker="") for segment in graph.segments)
    graph = replace(graph, segments=segments, annotations=())
    pairs = [
        (segment.id, name, other)
        for segment in segments
        for name, other in pairwise(NAME.findall(segment.text))
        if related and name != other
    ]
    triples = tuple(
        Annotation(
            f"{name} is with {other}.",
            (segment_id,),
            properties={"subject": name, "relation": "is with", "object": other},
            id=annotation_id(namespace, graph.document.id, "triples", index),
            document_id=graph.document.id,
            layer="triples",
            index=index,
        )
        for index, (segment_id, name, other) in enumerate(pairs)
    )
    layers = (*graph.document.layers, "triples")
    return replace(graph, document=replace(graph.document, layers=layers), annotations=triples)


def list_ends(relation: Relation) -> tuple[str, str]:
    return relation.source_id, relation.target_id


def search_of(store: GraphStore) -> SegmentSearch:
    return SegmentSearch(store, EMBED, FakeRecognizer())


def list_nearest_relations(search: SegmentSearch, query: str) -> list[Relation]:
    """The facts from which HippoRAG 2 starts."""
    seen: list[Relation] = []

    def choose(facts: Sequence[Relation]) -> None:
        seen.extend(facts)

    search.find(query, k=1, mode=FactWalk(choose))
    return seen


def memory_of(drawn: Sequence[tuple[list[list[str]], bool]]) -> tuple[SegmentSearch, list[DocumentGraph]]:
    store, graphs = opened(), []
    for number, (segments, related) in enumerate(drawn):
        texts = [f"{' met '.join(names)} on day {number} {place}. " for place, names in enumerate(segments)]
        graphs.append(document(f"d{number}", texts, related=related))
        store.write(graphs[-1])
    return search_of(store), graphs


# ── plain references ─────────────────────────────────────────────────────────────────────────────────────────


class Plain:
    """A memory as dictionaries: facts of each segment, synonyms, and a dense solution of PageRank."""

    def __init__(self, graphs: Sequence[DocumentGraph], question: str) -> None:
        self.question = EMBED.embed([question])[0].astype(float)
        self.cosine = {s.id: float(row @ self.question) for g in graphs
                       for s, row in zip(g.segments, g.segment_embeddings, strict=True)}  # fmt: skip
        facts = sorted(read_facts([item for g in graphs for item in g.annotations], "n"), key=lambda f: f.relation.id)
        self.relations = [(fact.relation, EMBED.embed([fact.text])[0]) for fact in facts]
        self.facts: dict[str, list[tuple[str, str]]] = {name: [] for name in self.cosine}
        for relation, _ in self.relations:
            self.facts[relation.segment_id].append((relation.source_id, relation.target_id))
        self.named: dict[str, set[str]] = {name: set() for name in self.cosine}
        for mention in (mention for graph in graphs for mention in graph.mentions):
            if not self.facts[mention.segment_id]:
                self.named[mention.segment_id].add(mention.entity_id)
        self.joined = {end for pairs in self.facts.values() for pair in pairs for end in pair}
        forms = {form: end for fact in facts for form, end in zip(fact.phrases, list_ends(fact.relation), strict=True)}
        self.vectors = {end: EMBED.embed([form])[0] for form, end in forms.items()}
        self.synonyms = [
            (first, second, cosine)
            for first, second in combinations(sorted(self.vectors), 2)
            if (cosine := float(self.vectors[first] @ self.vectors[second])) >= 0.8
        ]
        self.names = sorted(self.joined.union(*self.named.values()))

    def about(self, name: str) -> int:
        return sum(
            any(name in pair for pair in self.facts[segment]) or name in self.named[segment] for segment in self.cosine
        )

    def edges_among_names(self, edges: Edges) -> list[tuple[str, str, float]]:
        weights: dict[tuple[str, str], float] = {}
        for pair in (pair for pairs in self.facts.values() for pair in pairs):
            weights[min(pair), max(pair)] = weights.get((min(pair), max(pair)), 0.0) + 1
        for first, second, cosine in self.synonyms:
            pair = min(first, second), max(first, second)
            weights[pair] = cosine + (weights.get(pair, 0.0) if edges == "once" else 0.0)
        return [(*pair, weight) for pair, weight in weights.items()]

    def spread(self, nodes: Sequence[str], edges: Sequence[tuple[str, str, float]], reset: dict[str, float]) -> dict:
        place, matrix = {node: at for at, node in enumerate(nodes)}, np.zeros((len(nodes), len(nodes)))
        for first, second, weight in edges:
            matrix[place[first], place[second]] += weight
            matrix[place[second], place[first]] += weight
        start = np.array([reset.get(node, 0.0) for node in nodes])
        start /= start.sum()
        steps = np.array([row / row.sum() if row.any() else start for row in matrix])
        mass = np.linalg.solve(np.eye(len(nodes)) - 0.5 * steps.T, 0.5 * start)
        return dict(zip(nodes, mass, strict=True))

    def rank_names(self, names: Sequence[str], edges: Edges) -> dict[str, float] | None:
        seeds = {node for node in (entity_id("n", name) for name in names) if node in self.names}
        for name in names:
            if entity_id("n", name) not in self.names and self.joined:
                vector = EMBED.embed([name.casefold()])[0]
                seeds.add(max(sorted(self.joined), key=lambda end: round(float(self.vectors[end] @ vector), 9)))
        if not seeds:
            return None
        reset = {name: 1 / self.about(name) for name in seeds}
        together = [(a, b, 1.0) for names in self.named.values() for a in names for b in names if a < b]
        mass = self.spread(self.names, self.edges_among_names(edges) + together, reset)
        return {
            segment: sum(mass[end] for pair in self.facts[segment] for end in pair)
            + sum(mass[name] for name in self.named[segment])
            for segment in self.cosine
        }

    def rank_facts(self, names: Sequence[str], edges: Edges) -> dict[str, float] | None:
        scores = [float(row @ self.question) for _, row in self.relations]
        scaled = [
            1.0 if max(scores) == min(scores) else (s - min(scores)) / (max(scores) - min(scores)) for s in scores
        ]
        same: dict[tuple[str, str, str], int] = {}
        for at in sorted(range(len(scaled)), key=lambda at: -round(scaled[at], 9)):
            relation = self.relations[at][0]
            same.setdefault((relation.source_id, relation.target_id, relation.description.casefold()), at)
        best = list(same.values())[:5]
        of_name: dict[str, list[float]] = {}
        for at in best:
            for end in (self.relations[at][0].source_id, self.relations[at][0].target_id):
                of_name.setdefault(end, []).append(scaled[at])
        weights = {name: sum(of) / len(of) / self.about(name) for name, of in of_name.items()}
        reset = {
            name: weights[name] for name in sorted(weights, key=lambda name: -weights[name])[:5] if weights[name] > 0
        }
        reset |= {node: 1 / self.about(node) for node in (entity_id("n", name) for name in names)
                  if node in self.names and node not in self.joined}  # fmt: skip
        if not reset:
            return None
        low, high = min(self.cosine.values()), max(self.cosine.values())
        reset |= {s: 0.05 * (1 if high == low else (c - low) / (high - low)) for s, c in self.cosine.items()}
        held = [
            (segment, name, 1.0) for segment in self.cosine for name in self.named[segment].union(*self.facts[segment])
        ]
        nodes = [*self.cosine, *self.names]
        times = 2 if edges == "released" else 1
        among = [(first, second, times * weight) for first, second, weight in self.edges_among_names(edges)]
        mass = self.spread(nodes, among + held, reset)
        return {segment: mass[segment] for segment in self.cosine}


@given(
    documents_drawn,
    st.lists(st.sampled_from((*NAMES, "Mia")), max_size=2, unique=True),
    st.sampled_from(("released", "once")),
)
@settings(max_examples=60)
def test_both_modes_equal_reference_code(
    drawn: list[tuple[list[list[str]], bool]], asked: list[str], edges: Edges
) -> None:
    search, graphs = memory_of(drawn)
    question = f"whom did {' and '.join(asked)} see on day 1?"
    plain = Plain(graphs, question)
    modes = NameWalk(edges=edges), FactWalk(edges=edges)
    for mode, expected in zip(modes, (plain.rank_names(asked, edges), plain.rank_facts(asked, edges)), strict=True):
        found = search.find(question, k=100, mode=mode)
        assert {item.segment.id for item in found} == set(plain.cosine)
        scores = [item.score for item in found]
        if expected is None:
            assert scores == pytest.approx([plain.cosine[item.segment.id] for item in found], abs=5e-5)
            assert all(list(item.why) == ["vector"] for item in found)
        else:
            assert scores == pytest.approx([expected[item.segment.id] for item in found], abs=5e-5)
        assert all(after <= before + 1e-9 for before, after in pairwise(scores))  # those that differ by less are equal


# ── where there is next to nothing ───────────────────────────────────────────────────────────────────────────


@table("mode", HIPPO)
def test_an_empty_memory_and_one_segment(mode: str) -> None:
    store = opened()
    assert search_of(store).find("Who met Bob?", k=5, mode=mode) == []
    assert list_nearest_relations(search_of(store), "Who met Bob?") == []
    store.write(document("a", ["Ann met Bob."], related=True))
    (only,) = search_of(store).find("Who met Bob?", k=5, mode=mode)
    assert (only.segment.text, set(only.why)) == ("Ann met Bob.", {"relations", "vector"})
    assert only.score > 0


@table("mode", HIPPO)
def test_why_names_the_lists_that_hold_a_segment(mode: str) -> None:
    store = opened()
    store.write(document("a", ["Ann met Bob.", "Nothing came of it."], related=True))
    store.write(document("b", ["Zoe met Ann."], related=False))
    found = {item.segment.text: item for item in search_of(store).find("Where did Ann meet Zoe?", k=5, mode=mode)}
    assert "relations" in found["Ann met Bob."].why
    assert "names" in found["Zoe met Ann."].why
    assert "relations" not in found["Nothing came of it."].why
    assert [carrier.entity for carrier in found["Zoe met Ann."].path if carrier.named]


def test_a_question_without_a_known_name_goes_by_the_cosine() -> None:
    store = opened()
    store.write(document("a", ["Ann met Bob.", "it rained on the bridge."], related=False))
    by_cosine = [item.segment.id for item in search_of(store).find("did it rain?", k=2, mode="vector")]
    for mode in HIPPO:
        found = search_of(store).find("did it rain?", k=2, mode=mode)
        assert [item.segment.id for item in found] == by_cosine
        assert all(list(item.why) == ["vector"] for item in found)


def test_facts_that_a_model_dropped_lead_nowhere() -> None:
    store = opened()
    store.write(document("a", ["Ann met Bob.", "Eve met Zoe.", "it rained."], related=True))
    search = search_of(store)
    facts = list_nearest_relations(search, "Ann met whom?")
    assert {fact.description for fact in facts} == {"Ann is with Bob.", "Eve is with Zoe."}
    kept = search.find("Ann met whom?", k=3, mode=FactWalk(lambda _: (facts[0].id,)))
    assert kept[0].segment.id == facts[0].segment_id
    assert all(facts[1].segment_id != item.segment.id for item in kept if item.path)
    for nothing in ((), ("no such relation",)):
        dense = search.find("Ann met whom?", k=3, mode=FactWalk(lambda _, kept=nothing: kept))
        assert all(list(item.why) == ["vector"] for item in dense)


def test_names_of_a_model_take_the_place_of_the_recognizers() -> None:
    store = opened()
    store.write(document("a", ["Ann met Bob.", "Eve met Zoe."], related=True))
    found = search_of(store).find("what of Ann?", k=1, mode=NameWalk(["eve"]))
    assert [item.segment.text for item in found] == ["Eve met Zoe."]


@table("mode", HIPPO)
def test_other_documents_and_namespaces_play_no_part(mode: str) -> None:
    store, other = opened(), opened("m")
    for key, texts in {"a": ["Ann met Bob.", "Bob met Eve."], "b": ["Eve met Zoe."]}.items():
        store.write(document(key, texts, related=True))
    alone = [(item.segment.id, item.score) for item in search_of(store).find("Ann?", k=9, mode=mode)]
    ids = store.document_ids()
    store.write(document("c", ["Ann met Zoe.", "Ann met Joe."], related=True))
    other.write(document("a", ["Ann met Joe."], related=True, namespace="m"))
    found = search_of(store).find("Ann?", k=9, mode=mode, extent=Extent(ids))
    assert [item.segment.id for item in found] == [segment_id for segment_id, _ in alone]
    assert [item.score for item in found] == pytest.approx([score for _, score in alone], abs=1e-9)


@table("mode", HIPPO)
def test_a_search_sees_what_was_written_and_forgotten_since(mode: str) -> None:
    store = opened()
    kept, gone = document("a", ["Ann met Bob."], related=True), document("b", ["Bob met Eve."], related=True)
    store.write(kept)
    search = search_of(store)
    assert len(search.find("Ann?", k=9, mode=mode)) == 1
    store.write(gone)
    assert len(search.find("Ann?", k=9, mode=mode)) == 2
    assert len(search._kept["hipporag"].relations.relations) == 2
    store.write(
        replace(document("a", ["Ann met Zoe."], related=True), document=replace(kept.document, sha256="1" * 64))
    )
    store.forget(gone.document.id)
    (only,) = search.find("Ann?", k=9, mode=mode)
    assert (only.segment.text, [item.description for item in search._kept["hipporag"].relations.relations.items]) == (
        "Ann met Zoe.",
        ["Ann is with Zoe."],
    )
    assert set(search._kept["hipporag"].relations.names) == {entity_id("n", "Ann"), entity_id("n", "Zoe")}


def test_triples_beyond_the_memory_are_refused() -> None:
    store = opened()
    store.write(document("a", ["Ann met Bob. Eve met Zoe. Joe met Ann."], related=True))
    least = 2_000  # enough for the segment alone
    search = SegmentSearch(store, EMBED, FakeRecognizer(), most_bytes=least)
    assert search.find("Ann?", k=1)
    with pytest.raises(SearchMemoryExceeded, match="triples"):
        search.find("Ann?", k=1, mode="hipporag")


def test_triples_that_are_in_memory_count_once() -> None:
    store = opened()
    store.write(document("a", ["Ann met Bob."], related=True))
    index = RelationIndex(store, EMBED, most_bytes=2_000)
    index.refresh()
    store.write(document("b", ["Eve met Zoe."], related=False))
    index.refresh()
    assert (index.version, len(index.relations)) == (store.version(), 1)
