"""Relations and near-synonyms: on every engine, after every order of writes."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from store_samples import DIMENSION, MakeStore, entity_id, make_graph, make_relations, name_vectors, unit
from store_snapshot import is_as_written_once, whole_graph

from memgraph_rag.contracts import GraphStore
from memgraph_rag.errors import DocumentError, DocumentNotFound, StoreError
from memgraph_rag.lexical.name_similarity import least_cosine
from memgraph_rag.stores.layer_rows import layers_in
from memgraph_rag.stores.neo4j_connection import Execute, Neo4jConnection
from memgraph_rag.types import OPEN_KIND, Action, DocumentGraph, Neighbour, make_id

MEETING = ("Alice met Bob.", "Bob saw Eve.", "Eve, Alice and Ann left.")


def related(namespace: str, key: str = "a", texts: tuple[str, ...] = MEETING, **options: Any) -> DocumentGraph:
    """A document in whose segments each capitalised word is said to be with the next."""
    return make_relations(namespace, make_graph(namespace, key, texts, **options))


def ids(store: GraphStore, *names: str) -> list[str]:
    return [entity_id(store.namespace, name) for name in names]


def near(graph: DocumentGraph, vector: np.ndarray, names: set[str]) -> list[tuple[str, float]]:
    """What an expansion from these entities should find: relation ids by cosine."""
    found = [
        (relation.id, float(row @ vector))
        for relation, row in zip(graph.relations, graph.relation_embeddings, strict=True)
        if names & {relation.source_id, relation.target_id}
    ]
    return sorted(found, key=lambda pair: (-pair[1], pair[0]))


def told(found: list[Neighbour]) -> list[str]:
    return [one.relation.id for one in found]


# ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_relations_are_read_as_they_were_written(store: GraphStore) -> None:
    graph = related(store.namespace)

    receipt = store.write(graph)

    assert receipt.counts["RELATES_TO"] == len(graph.relations) == 4
    assert receipt.counts == store.counts(graph.document.id)
    assert store.relations_of(graph.document.id) == sorted(graph.relations, key=lambda one: one.id)
    statistics = store.statistics()
    assert (statistics["RELATES_TO"], statistics["Entity"]) == (4, 4)
    assert store.entities_of([graph.segments[2].id, "x", graph.segments[0].id]) == {
        graph.segments[2].id: sorted(ids(store, "eve", "alice", "ann")),
        graph.segments[0].id: sorted(ids(store, "alice", "bob")),
    }


def test_an_expansion_finds_the_nearest_relations_of_entities(store: GraphStore) -> None:
    graph = related(store.namespace, texts=tuple(f"Alice met Name{n} and Other{n}." for n in range(40)))
    store.write(graph)
    vector = unit(0.2, -0.4, 0.7, 0.1)

    for names in (["alice"], ["name3", "other3"], ["alice", "name7", "nobody"]):
        expected = near(graph, vector, set(ids(store, *names)))
        found = store.expand(ids(store, *names), vector=vector, k=7)
        assert told(found) == [one for one, _ in expected[:7]]
        assert [one.score for one in found] == pytest.approx([score for _, score in expected[:7]], abs=1e-6)
    first = store.expand(ids(store, "name3"), vector=None, k=9)
    assert told(first) == sorted(told(first))
    assert [(one.source, one.target, one.score) for one in first if one.target == "Name3"] == [("Alice", "Name3", 0)]
    by_id = {relation.id: relation for relation in graph.relations}
    assert all(one.relation == by_id[one.relation.id] for one in found)
    everywhere = store.expand(list(graph.ends), vector=vector, k=5)
    assert [round(neighbour.score, 5) for neighbour in everywhere] == [
        round(score, 5) for _, score in near(graph, vector, set(graph.ends))[:5]
    ]


def test_an_expansion_compares_all_relations_of_many_names(store: GraphStore) -> None:
    hubs = [f"Hub{number}" for number in range(12)]
    graph = related(store.namespace, texts=tuple(f"{hub} met Name{n}." for n in range(200) for hub in hubs))
    store.write(graph)
    vector = unit(0.2, -0.4, 0.7, 0.1)
    expected = near(graph, vector, set(ids(store, *map(str.lower, hubs))))[:10]

    found = store.expand(ids(store, *map(str.lower, hubs)), vector=vector, k=10)

    assert told(found) == [one for one, _ in expected]
    assert [one.score for one in found] == pytest.approx([score for _, score in expected], abs=1e-6)


def test_ties_go_by_id(store: GraphStore) -> None:
    graph = related(store.namespace, texts=tuple(f"Alice met Name{n}." for n in range(150)))
    graph = replace(graph, relation_embeddings=np.tile(unit(1, 1), (150, 1)))
    store.write(graph)
    expected = sorted(relation.id for relation in graph.relations)[:6]

    assert told(store.expand(ids(store, "alice"), vector=unit(1), k=6)) == expected
    assert told(store.expand(ids(store, "alice"), vector=None, k=6)) == expected
    assert told(store.expand(list(graph.ends), vector=unit(1), k=6)) == expected


def test_reads_within_documents(store: GraphStore) -> None:
    graphs = [related(store.namespace, key, seed=seed) for seed, key in enumerate("abc")]
    store.write_many(graphs)
    alice, documents = ids(store, "alice"), [graphs[0].document.id, graphs[2].document.id]
    own = {relation.id for graph in (graphs[0], graphs[2]) for relation in graph.relations}

    assert set(told(store.expand(alice, vector=unit(1), k=99, documents=documents))) < own
    assert set(told(store.expand(alice, vector=None, k=99, documents=documents))) < own
    ends = sorted({end for graph in graphs for end in graph.ends})
    assert set(told(store.expand(ends, vector=unit(1), k=99, documents=documents))) == own
    naming = store.segments_naming(alice, vector=unit(1), k=99, documents=documents)
    assert {hit.node_id for hit in naming} == {graph.segments[n].id for graph in (graphs[0], graphs[2]) for n in (0, 2)}
    assert store.expand(alice, vector=None, k=9, documents=[]) == []
    assert store.expand(ends, vector=unit(1), k=9, documents=[]) == []
    assert store.segments_naming(alice, vector=unit(1), k=9, documents=[]) == []


def test_segments_that_name_entities_come_by_cosine(store: GraphStore) -> None:
    graph = related(store.namespace, texts=tuple(f"Alice met Alice and Name{n}." for n in range(60)))
    store.write(graph)
    cosines = graph.segment_embeddings @ unit(1)
    best = sorted(range(60), key=lambda place: -cosines[place])[:9]

    found = store.segments_naming(ids(store, "alice", "name5", "nobody"), vector=unit(1), k=9)

    assert [hit.node_id for hit in found] == [graph.segments[place].id for place in best]
    assert np.allclose([hit.score for hit in found], cosines[best], atol=1e-6)
    assert store.segments_naming(ids(store, "nobody"), vector=unit(1), k=9) == []


def test_where_nothing_is_related(store: GraphStore) -> None:
    store.write(make_graph(store.namespace))

    for entities in ([], ["x"], ids(store, "alice")):
        assert store.expand(entities, vector=None, k=3) == store.expand(entities, vector=unit(1), k=3) == []
        assert store.similar(entities) == []
    assert store.relations_of("x") == []
    assert store.entities_of([]) == store.entities_of(["x"]) == {}
    assert store.segments_naming([], vector=unit(1), k=3) == []
    with pytest.raises(StoreError, match="finite"):
        store.expand(ids(store, "alice"), vector=np.zeros(DIMENSION, np.float32), k=1)


# ── near-synonyms ────────────────────────────────────────────────────────────────────────────────────────────


def test_near_synonyms_go_by_names_and_cosines(store: GraphStore) -> None:
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

    found = store.similar([darcy])

    assert {(one.source_id, one.target_id): round(one.score, 5) for one in found} == {
        (min(darcy, mr_darcy), max(darcy, mr_darcy)): 0.7,
        (min(darcy, fitzwilliam), max(darcy, fitzwilliam)): 0.9,
    }
    assert store.similar([mr_darcy, darcy]) == store.similar([darcy])
    assert store.statistics()["SIMILAR_TO"] == 2


def test_an_expansion_reaches_near_synonyms(store: GraphStore) -> None:
    vectors = {name: unit(1, place / 10) for place, name in enumerate(["darcy", "fitzwilliam"])}
    graph = make_relations(
        store.namespace,
        make_graph(store.namespace, "a", ("Darcy met Bob.", "Fitzwilliam met Eve.", "Ann met Joe.")),
        vectors=vectors,
    )
    store.write(graph)

    assert len(store.similar(ids(store, "darcy"))) == 1
    for vector in (None, unit(1)):
        found = {one.relation.id for one in store.expand(ids(store, "darcy"), vector=vector, k=9)}
        assert found == {relation.id for relation in graph.relations[:2]}
    assert len(store.expand(ids(store, "darcy", "fitzwilliam", "bob"), vector=unit(1), k=9)) == 2


def test_near_synonyms_are_found_among_many(make_store: MakeStore) -> None:
    store, other = make_store(), make_store()
    rng = np.random.default_rng(3)
    names = [f"Name{chr(97 + n // 26)}{chr(97 + n % 26)}" for n in range(400)]
    rows = rng.normal(size=(400, DIMENSION)).astype(np.float32)  # in 8 dimensions many are near
    vectors = dict(zip(map(str.casefold, names), rows / np.linalg.norm(rows, axis=1, keepdims=True), strict=True))
    graphs = [
        make_relations(one.namespace, make_graph(one.namespace, f"{n}", (f"{a} met {b}.",)), vectors=vectors)
        for one in (store, other)
        for n, (a, b) in enumerate(pairwise(names))
    ]

    store.write_many(graphs[:200])
    other.write_many(graphs[399:])
    for start in range(200, 399, 40):
        store.write_many(graphs[start : min(start + 40, 399)])

    expected = {
        tuple(sorted(ids(store, one, two)))
        for one, two in combinations(vectors, 2)
        if vectors[one] @ vectors[two] >= least_cosine(one, two)
    }
    found = store.similar(ids(store, *vectors))
    assert len(expected) > 300
    assert {(one.source_id, one.target_id) for one in found} == expected


# ── what follows from what ───────────────────────────────────────────────────────────────────────────────────


def test_a_write_replaces_relations(store: GraphStore, place: dict[str, Any]) -> None:
    second = related(store.namespace, texts=("Bob saw Zoe.",))
    store.write(second)
    expected = whole_graph(store, place)
    store.write(related(store.namespace))

    receipt = store.write(second)

    assert (receipt.action, receipt.counts["RELATES_TO"]) == (Action.REPLACED, 1)
    assert whole_graph(store, place) == expected


def test_forgetting_takes_relations_and_what_follows(store: GraphStore, place: dict[str, Any]) -> None:
    first, second = related(store.namespace, "a"), related(store.namespace, "b", ("Alice met Alicia, Bob and Zoe.",))
    store.write(first)
    before = whole_graph(store, place)
    store.write(second)

    receipt = store.forget(second.document.id)

    assert receipt.counts["RELATES_TO"] == 3
    assert whole_graph(store, place) == before
    store.forget(first.document.id)
    assert whole_graph(store, place) == ([], [])
    assert not any(store.statistics().values())


def test_an_entity_that_is_only_mentioned_has_no_embedding(store: GraphStore, place: dict[str, Any]) -> None:
    bare = make_graph(store.namespace, "a", ("Alice met Bob.",))
    store.write(bare)
    before = whole_graph(store, place)
    other = related(store.namespace, "b", ("Alice met Bob.",))
    store.write(other)
    assert any("embedding" in line for line in whole_graph(store, place)[0] if '"Entity"' in line)

    store.forget(other.document.id)

    assert whole_graph(store, place) == before


def open_mentions(graph: DocumentGraph) -> DocumentGraph:
    """The same with all mentions those of the relations layer."""
    return replace(graph, mentions=tuple(replace(one, kind=OPEN_KIND) for one in graph.mentions))


def test_layers_leave_each_others_mentions(store: GraphStore, place: dict[str, Any]) -> None:
    named = make_graph(store.namespace, "a", MEETING)
    opened = open_mentions(related(store.namespace, "a"))
    opened = replace(opened, document=replace(opened.document, layers=("entities", "relations")))
    store.write(replace(opened, mentions=(*named.mentions, *opened.mentions)))
    both = whole_graph(store, place)

    assert store.extend(replace(named, document=opened.document), layers=["entities"]).counts["MENTIONS"] == 14
    assert whole_graph(store, place) == both
    assert store.extend(opened, layers=["relations"]).counts["MENTIONS"] == 14
    assert whole_graph(store, place) == both
    nothing = replace(named, mentions=(), document=replace(opened.document, recognizer="another"))
    without = store.extend(nothing, layers=["entities"])
    assert (without.counts["MENTIONS"], without.counts["RELATES_TO"]) == (7, 4)
    fewer = related(store.namespace, "a", ("Alice met Bob.", *MEETING[1:]))
    fewer = replace(fewer, relations=fewer.relations[:1], relation_embeddings=fewer.relation_embeddings[:1])
    fewer = replace(fewer, end_embeddings=name_vectors(fewer, {}), document=opened.document)
    assert store.extend(open_mentions(fewer), layers=["relations"]).counts["RELATES_TO"] == 1


def test_points_stay_where_relations_come_of_another_model(store: GraphStore) -> None:
    graph = make_graph(store.namespace, "a", MEETING, levels=(2,))
    store.write(graph)
    given_graph = open_mentions(related(store.namespace, "a"))
    record = replace(graph.document, layers=("entities", "points", "relations"), model="large")

    receipt = store.extend(replace(given_graph, document=record), layers=["relations"])

    assert (receipt.counts["InformationPoint"], receipt.counts["RELATES_TO"], receipt.counts["MENTIONS"]) == (2, 4, 14)


def test_relations_go_whose_ends_are_mentioned_no_more(store: GraphStore, place: dict[str, Any]) -> None:
    graph = related(store.namespace, "a")
    fewer = replace(graph, mentions=tuple(one for one in graph.mentions if one.normal != "bob"))
    kept = [place for place, one in enumerate(graph.relations) if "Bob" not in one.description]
    fewer = replace(
        fewer,
        relations=tuple(graph.relations[place] for place in kept),
        relation_embeddings=graph.relation_embeddings[kept],
    )
    fewer = replace(fewer, end_embeddings=name_vectors(fewer, {}))
    store.write(fewer)
    expected = whole_graph(store, place)
    store.write(graph)

    names_only = replace(fewer, relations=(), relation_embeddings=np.zeros((0, 0), np.float32))
    receipt = store.extend(names_only, layers=["entities"])

    assert receipt.counts["RELATES_TO"] == 2
    assert whole_graph(store, place) == expected


def test_what_is_learned_comes_beside_what_is_there(store: GraphStore, place: dict[str, Any]) -> None:
    full = related(store.namespace, "a")
    store.write(full)
    expected = whole_graph(store, place)
    bare = replace(
        full,
        mentions=full.mentions[:2],
        relations=(),
        relation_embeddings=np.zeros((0, 0), np.float32),
        end_embeddings=np.zeros((0, 0), np.float32),
    )
    store.write(bare)
    version = store.version()

    store.learn(replace(full, segment_embeddings=np.zeros((0, DIMENSION), np.float32)))

    assert whole_graph(store, place) == expected
    assert store.version() == version + 1
    assert {row.document_id for row in store.indexed_segments(since=version)} == {full.document.id}
    store.learn(full)
    assert whole_graph(store, place) == expected
    with pytest.raises(DocumentNotFound):
        store.learn(replace(full, document=replace(full.document, sha256="1" * 64)))
    store.forget(full.document.id)
    with pytest.raises(DocumentNotFound):
        store.learn(full)
    assert whole_graph(store, place) == ([], [])


# ── what is refused ──────────────────────────────────────────────────────────────────────────────────────────


def broken(namespace: str) -> dict[str, DocumentGraph]:
    graph = related(namespace)
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


@pytest.mark.parametrize("case", broken("n"))
def test_a_relation_that_does_not_hold_is_refused(store: GraphStore, case: str) -> None:
    graph = broken(store.namespace)[case]

    with pytest.raises((StoreError, DocumentError), match=r"[Ee]xpected"):
        store.write(graph)
    assert not any(store.statistics().values())


@pytest.mark.parametrize("verb", ["extend", "learn"])
def test_an_end_that_nothing_stored_mentions_is_refused(store: GraphStore, place: dict[str, Any], verb: str) -> None:
    full = related(store.namespace, "a")
    stored = make_graph(store.namespace, "a", MEETING)
    store.write(replace(stored, mentions=stored.mentions[1:]))
    before = whole_graph(store, place), store.version()
    record = replace(full.document, layers=("entities", "relations"))
    nameless = replace(full, document=record, mentions=(), titles=())

    with pytest.raises(StoreError, match="mention"):
        lay_over(store, verb, nameless)

    assert (whole_graph(store, place), store.version()) == before
    store.write(stored)
    lay_over(store, verb, nameless)
    assert store.statistics()["RELATES_TO"] == 4


HOSTILE = (
    'it\'s {x} $y `z` \\back "quoted"',
    "'}) DETACH DELETE n //",
    "Шура и 東京 met شكرا",
    "nul\x00l \u2028 \U0010ffff",
)


def test_hostile_relations_come_back_as_they_were(store: GraphStore) -> None:
    graph = related(store.namespace, texts=tuple(f"Alice met Bob{n}." for n in range(len(HOSTILE))))
    relations = tuple(replace(one, description=text) for one, text in zip(graph.relations, HOSTILE, strict=True))
    names = tuple(
        replace(one, normal=HOSTILE[0], entity_id=entity_id(store.namespace, HOSTILE[0]))
        if one.normal == "bob0"
        else one
        for one in graph.mentions
    )
    first = replace(relations[0], target_id=entity_id(store.namespace, HOSTILE[0]))
    graph = replace(graph, relations=(first, *relations[1:]), mentions=names)
    store.write(graph)

    assert store.relations_of(graph.document.id) == sorted(graph.relations, key=lambda one: one.id)
    assert {one.relation.description for one in store.expand(ids(store, "alice"), vector=unit(1), k=9)} == set(HOSTILE)
    for text in HOSTILE:
        assert store.expand([text], vector=unit(1), k=1, documents=[text]) == []


def test_two_namespaces_never_see_each_others_relations(make_store: MakeStore, place: dict[str, Any]) -> None:
    mine, yours = make_store(), make_store()
    graphs = [related(store.namespace, texts=("Alice met Alicia.", *MEETING)) for store in (mine, yours)]
    yours.write(graphs[1])
    before = whole_graph(yours, place)
    foreign, document = list(graphs[1].ends), graphs[1].document.id

    assert mine.expand(foreign, vector=unit(1), k=99) == []
    assert mine.expand(foreign, vector=unit(1), k=99, documents=[document]) == []
    mine.write(graphs[0])
    own = {relation.id for relation in graphs[0].relations}
    assert set(told(mine.expand([*foreign, *graphs[0].ends], vector=unit(1), k=99))) == own
    assert mine.expand(foreign, vector=unit(1), k=99) == mine.expand(foreign, vector=None, k=99) == []
    assert mine.segments_naming(foreign, vector=unit(1), k=99) == mine.similar(foreign) == []
    assert mine.relations_of(document) == []
    assert mine.expand(list(graphs[0].ends), vector=unit(1), k=9, documents=[document]) == []
    assert mine.entities_of([graphs[1].segments[0].id]) == {}
    assert mine.statistics()["SIMILAR_TO"] == yours.statistics()["SIMILAR_TO"]
    mine.forget(graphs[0].document.id)
    assert whole_graph(yours, place) == before


def test_an_entity_in_very_many_segments(store: GraphStore) -> None:
    texts = tuple(f"Everybody met Name{n % 40}." for n in range(250))
    group = [related(store.namespace, f"{n}", texts, seed=n) for n in range(40)]
    for start in range(0, len(group), 4):
        store.write_many(group[start : start + 4])
    vector, everybody = unit(0.3, 0.3, -0.2), ids(store, "everybody")

    found = store.expand(everybody, vector=vector, k=20)
    naming = store.segments_naming(everybody, vector=vector, k=20)

    cosines = np.concatenate([graph.relation_embeddings for graph in group]) @ vector
    best = np.sort(cosines)[::-1][:20]
    assert np.allclose([one.score for one in found], best, atol=1e-6)
    cosines = np.concatenate([graph.segment_embeddings for graph in group]) @ vector
    assert np.allclose([hit.score for hit in naming], np.sort(cosines)[::-1][:20], atol=1e-6)
    assert len(store.expand(everybody, vector=None, k=20)) == 20

    few = ids(store, "name7")  # 280 relations, of which few are among the nearest of all
    told_of = [one for graph in group for one in near(graph, vector, set(few))]
    expected = sorted(told_of, key=lambda pair: (-pair[1], pair[0]))[:20]
    assert told(store.expand(few, vector=vector, k=20)) == [one for one, _ in expected]
    assert {one.relation.id for one in found} == set(told(store.expand(everybody + few, vector=vector, k=20)))


@pytest.mark.parametrize("engine", ["neo4j-5.26", "neo4j-2026"], indirect=True)
def test_an_expansion_is_one_transaction(store: GraphStore, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = (*(f"Everybody met Name{n}." for n in range(300)), *("Everybody met Somebody." for _ in range(300)))
    store.write(related(store.namespace, texts=texts))
    store.write(make_graph(store.namespace, "b", ("Zoe left.",)))
    asked: list[str] = []
    read = Neo4jConnection.read

    def noted(connection: Neo4jConnection, operation: str, work: Callable[[Execute], object]) -> object:
        asked.append(operation)
        return read(connection, operation, work)

    monkeypatch.setattr(Neo4jConnection, "read", noted)
    for names, count in ((["zoe"], 0), (["nobody"], 0), (["name7"], 1), (["everybody", "name7"], 9), (["somebody"], 9)):
        for vector in (unit(1), None):
            asked.clear()
            assert len(store.expand(ids(store, *names), vector=vector, k=9)) == count
            assert len(asked) == 1


@pytest.mark.parametrize("engine", ["neo4j-5.26", "neo4j-2026"], indirect=True)
def test_what_has_no_edge_is_not_taken_for_torn(store: GraphStore, caplog: pytest.LogCaptureFixture) -> None:
    """A null is what a statement gives of something that was deleted under it, and is asked for again."""
    caplog.set_level(logging.DEBUG, "memgraph_rag")
    graph = make_graph(store.namespace, "b", ("nobody left.", "Zoe left."))
    store.write(graph)

    named = store.entities_of([one.id for one in graph.segments])

    assert list(named.values()) == [[], ids(store, "zoe")]
    assert store.similar(ids(store, "zoe")) == []
    assert not [record for record in caplog.records if "will be retried" in record.getMessage()]


# ── the decisive property ────────────────────────────────────────────────────────────────────────────────────

WORDS = ("Alice", "Alicia", "Bob", "Bobby", "Eve")
SENTENCE = " ".join(WORDS) + " "
KEYS = "abc"


@dataclass(frozen=True)
class Turn:
    """One thing done to the document of a key."""

    verb: str
    key: str
    pairs: tuple[tuple[int, int], ...]
    are_open: bool


TURNS = st.lists(
    st.builds(
        Turn,
        verb=st.sampled_from(["write", "write", "forget", "extend", "learn"]),
        key=st.sampled_from(KEYS),
        pairs=st.lists(
            st.tuples(st.integers(0, len(WORDS) - 1), st.integers(0, len(WORDS) - 1)).filter(
                lambda pair: pair[0] != pair[1]
            ),
            max_size=4,
            unique=True,
        ).map(tuple),
        are_open=st.booleans(),
    ),
    max_size=8,
)

NAMES = {  # cosines from 0.6 to 0.95
    name.casefold(): unit(*row)
    for name, row in zip(WORDS, ((1, 0), (1, 0.5), (0.6, 0.8), (0.3, 1), (0.9, 0.1, 0.4)), strict=True)
}


def as_graph(namespace: str, turn: Turn) -> DocumentGraph:
    """A document of one segment that states these pairs of words, and mentions those only."""
    graph = make_graph(namespace, turn.key, (SENTENCE,), seed=1)
    wanted = {WORDS[place].casefold() for pair in turn.pairs for place in pair}
    kind = OPEN_KIND if turn.are_open else "NAME"
    mentions = tuple(replace(one, kind=kind) for one in graph.mentions if one.normal in wanted)
    record = replace(graph.document, recognizer="same", layers=("entities", "relations"))
    pairs = [(WORDS[one], WORDS[two]) for one, two in turn.pairs]
    return make_relations(namespace, replace(graph, mentions=mentions, document=record), pairs=pairs, vectors=NAMES)


def joined(one: DocumentGraph, other: DocumentGraph) -> DocumentGraph:
    """The first with the relations and mentions that only the second has."""
    new = [place for place, relation in enumerate(other.relations) if relation not in one.relations]
    rows = [matrix for matrix in (one.relation_embeddings, other.relation_embeddings[new]) if len(matrix)]
    both = replace(
        one,
        mentions=tuple(dict.fromkeys((*one.mentions, *other.mentions))),
        relations=(*one.relations, *(other.relations[place] for place in new)),
        relation_embeddings=np.concatenate(rows) if rows else np.zeros((0, 0), np.float32),
    )
    return replace(both, end_embeddings=name_vectors(both, NAMES))


def kept(graph: DocumentGraph, *, are_open: bool) -> DocumentGraph:
    """What of a document stays where one layer is built again: no relation whose ends are not mentioned any more."""
    mentions = tuple(one for one in graph.mentions if (one.kind == OPEN_KIND) != are_open)
    named = {one.entity_id for one in mentions}
    places = [
        place for place, one in enumerate(graph.relations) if {one.source_id, one.target_id} <= named and not are_open
    ]
    left = replace(
        graph,
        mentions=mentions,
        relations=tuple(graph.relations[place] for place in places),
        relation_embeddings=graph.relation_embeddings[places],
    )
    return replace(left, end_embeddings=name_vectors(left, NAMES))


def laid_over(held: DocumentGraph, graph: DocumentGraph) -> DocumentGraph:
    """What a document is after ``graph`` was laid over it: relations come with it, so that layer is given."""
    if graph.relations:
        held = kept(held, are_open=True)
    if any(one.kind != OPEN_KIND for one in graph.mentions):
        held = kept(held, are_open=False)
    return joined(held, graph)


def lay_over(store: GraphStore, verb: str, graph: DocumentGraph) -> None:
    """Let a store extend a document, or learn of it."""
    if verb == "learn":
        store.learn(graph)
    else:
        store.extend(graph, layers=sorted(layers_in(graph)))


def only_what_follows(store: GraphStore, place: dict[str, Any], turns: list[Turn], order: str) -> None:
    expected: dict[str, DocumentGraph] = {}
    for turn in turns:
        graph, held = as_graph(store.namespace, turn), expected.get(turn.key)
        if turn.verb == "write":
            expected[turn.key] = graph
            store.write(graph)
        elif held and turn.verb == "forget":
            store.forget(expected.pop(turn.key).document.id)
        elif held:
            expected[turn.key] = joined(held, graph) if turn.verb == "learn" else laid_over(held, graph)
            lay_over(store, turn.verb, graph)
    is_as_written_once(store, place, expected, order)


IN_A_FIXTURE = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]


@pytest.mark.parametrize("engine", ["ladybug"], indirect=True)
@settings(max_examples=40, deadline=None, suppress_health_check=IN_A_FIXTURE)
@given(turns=TURNS, order=st.permutations(KEYS).map("".join))
def test_only_what_follows_is_there(store: GraphStore, place: dict[str, Any], turns: list[Turn], order: str) -> None:
    only_what_follows(store, place, turns, order)


@pytest.mark.parametrize("engine", ["neo4j-5.26", "neo4j-2026"], indirect=True)
@settings(max_examples=12, deadline=None, suppress_health_check=IN_A_FIXTURE)
@given(turns=TURNS, order=st.permutations(KEYS).map("".join))
def test_only_what_follows_is_there_on_a_server(
    store: GraphStore, place: dict[str, Any], turns: list[Turn], order: str
) -> None:
    only_what_follows(store, place, turns, order)
