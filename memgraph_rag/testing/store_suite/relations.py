"""Tests of relations and near-synonyms, after every order of writes."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest

from memgraph_rag.contracts import GraphStore
from memgraph_rag.errors import DocumentError, StoreError
from memgraph_rag.lexical.name_similarity import least_cosine
from memgraph_rag.testing.sample_graphs import DIMENSION, MakeStore, entity_id, make_graph, make_relations, unit
from memgraph_rag.types import OPEN_KIND, DocumentGraph, Neighbour, make_id

MEETING = ("Alice met Bob.", "Bob saw Eve.", "Eve, Alice and Ann left.")


def make_related(namespace: str, key: str = "a", texts: tuple[str, ...] = MEETING, **options: Any) -> DocumentGraph:
    """Return a document with a relation between each capitalised word and the next, other one in a segment."""
    return make_relations(namespace, make_graph(namespace, key, texts, **options))


def ids(store: GraphStore, *names: str) -> list[str]:
    return [entity_id(store.namespace, name) for name in names]


def near(graph: DocumentGraph, vector: np.ndarray, names: set[str]) -> list[tuple[str, float]]:
    """Return the relations that an expansion from these entities should find, as (relation id, cosine), best first."""
    pairs = [
        (relation.id, float(row @ vector))
        for relation, row in zip(graph.relations, graph.relation_embeddings, strict=True)
        if names & {relation.source_id, relation.target_id}
    ]
    return sorted(pairs, key=lambda pair: (-pair[1], pair[0]))


def relation_ids(neighbours: list[Neighbour]) -> list[str]:
    return [neighbour.relation.id for neighbour in neighbours]


def test_relations_are_read_as_they_were_written(store: GraphStore) -> None:
    graph = make_related(store.namespace)

    receipt = store.write(graph)

    assert receipt.counts["RELATES_TO"] == len(graph.relations) == 4
    assert store.count_by_document([graph.document.id]) == {graph.document.id: receipt.counts}
    assert store.list_relations(graph.document.id) == sorted(graph.relations, key=lambda relation: relation.id)
    statistics = store.statistics()
    assert (statistics["RELATES_TO"], statistics["Entity"]) == (4, 4)
    assert store.list_mentioned_entities([graph.segments[2].id, "x", graph.segments[0].id]) == {
        graph.segments[2].id: sorted(ids(store, "eve", "alice", "ann")),
        graph.segments[0].id: sorted(ids(store, "alice", "bob")),
    }


def test_an_expansion_finds_the_nearest_relations_of_entities(store: GraphStore) -> None:
    graph = make_related(store.namespace, texts=tuple(f"Alice met Name{n} and Other{n}." for n in range(40)))
    store.write(graph)
    vector = unit(0.2, -0.4, 0.7, 0.1)

    for names in (["alice"], ["name3", "other3"], ["alice", "name7", "nobody"]):
        expected = near(graph, vector, set(ids(store, *names)))
        neighbours = store.expand(ids(store, *names), vector=vector, k=7)
        assert relation_ids(neighbours) == [relation_id for relation_id, _ in expected[:7]]
        assert [neighbour.score for neighbour in neighbours] == pytest.approx(
            [score for _, score in expected[:7]], abs=1e-6
        )
    first = store.expand(ids(store, "name3"), vector=None, k=9)
    assert relation_ids(first) == sorted(relation_ids(first))
    assert [
        (neighbour.source, neighbour.target, neighbour.score) for neighbour in first if neighbour.target == "Name3"
    ] == [("Alice", "Name3", 0)]
    by_id = {relation.id: relation for relation in graph.relations}
    assert all(neighbour.relation == by_id[neighbour.relation.id] for neighbour in neighbours)
    everywhere = store.expand(list(graph.ends), vector=vector, k=5)
    assert [neighbour.score for neighbour in everywhere] == pytest.approx(
        [score for _, score in near(graph, vector, set(graph.ends))[:5]], abs=1e-6
    )


def test_an_expansion_compares_all_relations_of_many_names(store: GraphStore) -> None:
    hubs = [f"Hub{number}" for number in range(12)]
    graph = make_related(store.namespace, texts=tuple(f"{hub} met Name{n}." for n in range(200) for hub in hubs))
    store.write(graph)
    vector = unit(0.2, -0.4, 0.7, 0.1)
    expected = near(graph, vector, set(ids(store, *map(str.lower, hubs))))[:10]

    neighbours = store.expand(ids(store, *map(str.lower, hubs)), vector=vector, k=10)

    assert relation_ids(neighbours) == [relation_id for relation_id, _ in expected]
    assert [neighbour.score for neighbour in neighbours] == pytest.approx([score for _, score in expected], abs=1e-6)


def test_relations_of_equal_cosine_go_by_id(store: GraphStore) -> None:
    graph = make_related(store.namespace, texts=tuple(f"Alice met Name{n}." for n in range(150)))
    graph = replace(graph, relation_embeddings=np.tile(unit(1, 1), (150, 1)))
    store.write(graph)
    expected = sorted(relation.id for relation in graph.relations)[:6]

    assert relation_ids(store.expand(ids(store, "alice"), vector=unit(1), k=6)) == expected
    assert relation_ids(store.expand(ids(store, "alice"), vector=None, k=6)) == expected
    assert relation_ids(store.expand(list(graph.ends), vector=unit(1), k=6)) == expected


def test_expansion_stays_within_documents(store: GraphStore) -> None:
    graphs = [make_related(store.namespace, key, seed=seed) for seed, key in enumerate("abc")]
    store.write_many(graphs)
    alice, documents = ids(store, "alice"), [graphs[0].document.id, graphs[2].document.id]
    own = {relation.id for graph in (graphs[0], graphs[2]) for relation in graph.relations}

    assert set(relation_ids(store.expand(alice, vector=unit(1), k=99, documents=documents))) < own
    assert set(relation_ids(store.expand(alice, vector=None, k=99, documents=documents))) < own
    ends = sorted({end for graph in graphs for end in graph.ends})
    assert set(relation_ids(store.expand(ends, vector=unit(1), k=99, documents=documents))) == own
    naming = store.segments_naming(alice, vector=unit(1), k=99, documents=documents)
    assert {hit.node_id for hit in naming} == {graph.segments[n].id for graph in (graphs[0], graphs[2]) for n in (0, 2)}
    assert store.expand(alice, vector=None, k=9, documents=[]) == []
    assert store.expand(ends, vector=unit(1), k=9, documents=[]) == []
    assert store.segments_naming(alice, vector=unit(1), k=9, documents=[]) == []


def test_segments_that_name_entities_come_by_cosine(store: GraphStore) -> None:
    graph = make_related(store.namespace, texts=tuple(f"Alice met Alice and Name{n}." for n in range(60)))
    store.write(graph)
    cosines = graph.segment_embeddings @ unit(1)
    best = sorted(range(60), key=lambda place: -cosines[place])[:9]

    hits = store.segments_naming(ids(store, "alice", "name5", "nobody"), vector=unit(1), k=9)

    assert [hit.node_id for hit in hits] == [graph.segments[place].id for place in best]
    assert np.allclose([hit.score for hit in hits], cosines[best], atol=1e-6)
    assert store.segments_naming(ids(store, "nobody"), vector=unit(1), k=9) == []


def test_expansion_without_relations_is_empty(store: GraphStore) -> None:
    store.write(make_graph(store.namespace))

    for entities in ([], ["x"], ids(store, "alice")):
        assert store.expand(entities, vector=None, k=3) == store.expand(entities, vector=unit(1), k=3) == []
        assert store.list_similar(entities) == []
    assert store.list_relations("x") == []
    assert store.list_mentioned_entities([]) == store.list_mentioned_entities(["x"]) == {}
    assert store.segments_naming([], vector=unit(1), k=3) == []
    with pytest.raises(StoreError, match="finite"):
        store.expand(ids(store, "alice"), vector=np.zeros(DIMENSION, np.float32), k=1)


def test_near_synonyms_need_names_and_cosines(store: GraphStore) -> None:
    vectors = {  # to Darcy: 0.7 is enough for a variant, and for no other
        "darcy": unit(1),
        "mrdarcy": unit(0.7, np.sqrt(1 - 0.49)),
        "pemberley": unit(0.7, 0, np.sqrt(1 - 0.49)),
        "fitzwilliam": unit(0.9, 0, 0, np.sqrt(1 - 0.81)),
    }
    names = {"Mrdarcy": "mr. darcy"}
    graph = make_relations(
        store.namespace,
        make_graph(store.namespace, "a", ("Darcy knew Mrdarcy of Pemberley and Fitzwilliam.",)),
        names=names,
        vectors={names.get(name.capitalize(), name): vector for name, vector in vectors.items()},
    )
    store.write(graph)
    darcy, mr_darcy, fitzwilliam = ids(store, "darcy", "mr. darcy", "fitzwilliam")

    pairs = store.list_similar([darcy])

    assert {(pair.source_id, pair.target_id): round(pair.score, 5) for pair in pairs} == {
        (min(darcy, mr_darcy), max(darcy, mr_darcy)): 0.7,
        (min(darcy, fitzwilliam), max(darcy, fitzwilliam)): 0.9,
    }
    assert store.list_similar([mr_darcy, darcy]) == store.list_similar([darcy])
    assert store.statistics()["SIMILAR_TO"] == 2


def test_an_expansion_reaches_near_synonyms(store: GraphStore) -> None:
    vectors = {name: unit(1, place / 10) for place, name in enumerate(["darcy", "fitzwilliam"])}
    graph = make_relations(
        store.namespace,
        make_graph(store.namespace, "a", ("Darcy met Bob.", "Fitzwilliam met Eve.", "Ann met Joe.")),
        vectors=vectors,
    )
    store.write(graph)

    assert len(store.list_similar(ids(store, "darcy"))) == 1
    for vector in (None, unit(1)):
        neighbours = {neighbour.relation.id for neighbour in store.expand(ids(store, "darcy"), vector=vector, k=9)}
        assert neighbours == {relation.id for relation in graph.relations[:2]}
    assert len(store.expand(ids(store, "darcy", "fitzwilliam", "bob"), vector=unit(1), k=9)) == 2


def test_near_synonyms_are_found_among_many(make_store: MakeStore) -> None:
    store, other = make_store(), make_store()
    rng = np.random.default_rng(3)
    names = [f"Name{chr(97 + n // 26)}{chr(97 + n % 26)}" for n in range(400)]
    rows = rng.normal(size=(400, DIMENSION)).astype(np.float32)  # in 8 dimensions many are near
    vectors = dict(zip(map(str.casefold, names), rows / np.linalg.norm(rows, axis=1, keepdims=True), strict=True))
    graphs = [
        make_relations(each.namespace, make_graph(each.namespace, f"{n}", (f"{a} met {b}.",)), vectors=vectors)
        for each in (store, other)
        for n, (a, b) in enumerate(pairwise(names))
    ]

    store.write_many(graphs[:200])
    other.write_many(graphs[399:])
    for start in range(200, 399, 40):
        store.write_many(graphs[start : min(start + 40, 399)])

    expected = {
        tuple(sorted(ids(store, first, second)))
        for first, second in combinations(vectors, 2)
        if vectors[first] @ vectors[second] >= least_cosine(first, second)
    }
    pairs = store.list_similar(ids(store, *vectors))
    assert len(expected) > 300
    assert {(pair.source_id, pair.target_id) for pair in pairs} == expected


def with_open_mentions(graph: DocumentGraph) -> DocumentGraph:
    """Return a copy of a document whose mentions all belong to the layer ``relations``."""
    return replace(graph, mentions=tuple(replace(mention, kind=OPEN_KIND) for mention in graph.mentions))


def test_relations_of_another_model_keep_points(store: GraphStore) -> None:
    graph = make_graph(store.namespace, "a", MEETING, levels=(2,))
    store.write(graph)
    given_graph = with_open_mentions(make_related(store.namespace, "a"))
    record = replace(graph.document, layers=("entities", "points", "relations"), model="large")

    receipt = store.extend(replace(given_graph, document=record), layers=["relations"])

    assert (receipt.counts["InformationPoint"], receipt.counts["RELATES_TO"], receipt.counts["MENTIONS"]) == (2, 4, 14)


def make_broken_graphs(namespace: str) -> dict[str, DocumentGraph]:
    graph = make_related(namespace)
    first, *others = graph.relations

    def with_first(**changes: Any) -> DocumentGraph:
        return replace(graph, relations=(replace(first, **changes), *others))

    def with_rows(matrix: np.ndarray, name: str = "relation_embeddings") -> DocumentGraph:
        return replace(graph, **{name: matrix})

    rows, ends = graph.relation_embeddings, graph.end_embeddings
    return {
        "a segment of another document": with_first(segment_id=make_id(namespace, "segment", "z", 0)),
        "an end that is not mentioned there": with_first(target_id=entity_id(namespace, "eve")),
        "an end that is mentioned nowhere": replace(graph, mentions=graph.mentions[1:]),
        "an end of another namespace": with_first(target_id=entity_id(namespace + "x", "bob")),
        "one entity twice": with_first(target_id=first.source_id),
        "no description": with_first(description=" "),
        "an id twice": with_first(id=others[0].id),
        "half a surrogate pair": with_first(description="\ud800"),
        "too few embeddings": with_rows(rows[1:]),
        "embeddings of another width": with_rows(rows[:, 1:]),
        "no number": with_rows(rows * np.nan),
        "no direction": with_rows(rows * 0),
        "too few names embedded": with_rows(ends[1:], "end_embeddings"),
        "names without direction": with_rows(ends * 0, "end_embeddings"),
    }


def test_invalid_relation_is_refused(store: GraphStore) -> None:
    for case, graph in make_broken_graphs(store.namespace).items():
        with pytest.raises((StoreError, DocumentError), match=r"[Ee]xpected"):
            store.write(graph)
        assert not any(store.statistics().values()), case


HOSTILE = (
    'it\'s {x} $y `z` \\back "quoted"',
    "'}) DETACH DELETE n //",
    "Шура и 東京 met شكرا",
    "nul\x00l \u2028 \U0010ffff",
)


def test_hostile_relations_are_read_unchanged(store: GraphStore) -> None:
    graph = make_related(store.namespace, texts=tuple(f"Alice met Bob{n}." for n in range(len(HOSTILE))))
    relations = tuple(
        replace(relation, description=text) for relation, text in zip(graph.relations, HOSTILE, strict=True)
    )
    names = tuple(
        replace(mention, normal=HOSTILE[0], entity_id=entity_id(store.namespace, HOSTILE[0]))
        if mention.normal == "bob0"
        else mention
        for mention in graph.mentions
    )
    first = replace(relations[0], target_id=entity_id(store.namespace, HOSTILE[0]))
    graph = replace(graph, relations=(first, *relations[1:]), mentions=names)
    store.write(graph)

    assert store.list_relations(graph.document.id) == sorted(graph.relations, key=lambda relation: relation.id)
    assert {
        neighbour.relation.description for neighbour in store.expand(ids(store, "alice"), vector=unit(1), k=9)
    } == set(HOSTILE)
    for text in HOSTILE:
        assert store.expand([text], vector=unit(1), k=1, documents=[text]) == []


def test_entity_may_have_many_segments(store: GraphStore) -> None:
    texts = tuple(f"Everybody met Name{n % 40}." for n in range(250))
    group = [make_related(store.namespace, f"{n}", texts, seed=n) for n in range(40)]
    for start in range(0, len(group), 4):
        store.write_many(group[start : start + 4])
    vector, everybody = unit(0.3, 0.3, -0.2), ids(store, "everybody")

    neighbours = store.expand(everybody, vector=vector, k=20)
    naming = store.segments_naming(everybody, vector=vector, k=20)

    cosines = np.concatenate([graph.relation_embeddings for graph in group]) @ vector
    best = np.sort(cosines)[::-1][:20]
    assert np.allclose([neighbour.score for neighbour in neighbours], best, atol=1e-6)
    cosines = np.concatenate([graph.segment_embeddings for graph in group]) @ vector
    assert np.allclose([hit.score for hit in naming], np.sort(cosines)[::-1][:20], atol=1e-6)
    assert len(store.expand(everybody, vector=None, k=20)) == 20

    few = ids(store, "name7")  # 280 relations, of which few are among the nearest of all
    near_pairs = [pair for graph in group for pair in near(graph, vector, set(few))]
    expected = sorted(near_pairs, key=lambda pair: (-pair[1], pair[0]))[:20]
    assert relation_ids(store.expand(few, vector=vector, k=20)) == [relation_id for relation_id, _ in expected]
    assert {neighbour.relation.id for neighbour in neighbours} == set(
        relation_ids(store.expand(everybody + few, vector=vector, k=20))
    )
