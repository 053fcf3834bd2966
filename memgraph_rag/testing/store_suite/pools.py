"""Tests of the part of a namespace that is read for one question: linked segments, their neighbours, and a sample."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from memgraph_rag.contracts import GraphStore
from memgraph_rag.testing.sample_graphs import MakeStore, entity_id, make_graph
from memgraph_rag.testing.store_suite.entities import name_graph
from memgraph_rag.types import DocumentGraph, Hit

NAMES = ("Alice", "Bob", "Cheshire", "Dinah")


def note(store: GraphStore, key: str, *texts: str, titles: tuple[str, ...] = (), **options: Any) -> DocumentGraph:
    """Return a document that is no conversation and mentions the words of NAMES in its texts."""
    graph = make_graph(store.namespace, key, texts, named=False, **options)
    graph = replace(graph, segments=tuple(replace(segment, speaker="") for segment in graph.segments))
    names = [(place, name, "PERSON") for place, text in enumerate(texts) for name in NAMES if name in text]
    return name_graph(store.namespace, key, names, titles=titles, graph=graph)


def test_neighbours_come_with_the_segments(store: GraphStore) -> None:
    long = note(store, "long", "Alice.", "Bob.", "Cheshire.", "Dinah and Dinah.", "Bob.", titles=("Alice", "Bob"))
    short = note(store, "short", "Dinah.", time="2024-05-01")
    store.write_many([long, short, note(store, "other", "Bob.")])
    asked = [long.segments[3].id, short.segments[0].id, long.segments[3].id, "of nobody"]

    around = store.segments_around(asked)

    expected = sorted(
        [*((long, place) for place in (2, 3, 4)), (short, 0)], key=lambda item: (item[0].document.id, item[1])
    )
    assert [(segment.id, segment.siblings) for segment in around] == [
        (graph.segments[place].id, len(graph.segments)) for graph, place in expected
    ]
    whole = {segment.id: segment for segment in store.list_indexed_segments(since=-1)}
    for segment in around:
        same = whole[segment.id]
        assert np.array_equal(segment.embedding, same.embedding)
        assert replace(segment, siblings=0, embedding=same.embedding) == same
    assert store.segments_around([]) == []


def scores_by_key(store: GraphStore, hits: list[Hit]) -> dict[str, float]:
    """Return the scores by document key; for a document with several hits, the score of the last one."""
    documents = {segment.id: segment.document_id for segment in store.list_indexed_segments(since=-1)}
    keys = {record.id: record.key for record in store.documents()}
    return {keys[documents[hit.node_id]]: hit.score for hit in hits}


def test_shared_names_pass_mass(store: GraphStore) -> None:
    seed, second = note(store, "seed", "Alice, Bob and Bob."), note(store, "second", "Cheshire.")
    notes = {"rare": "Alice once.", "common": "Bob once.", "both": "Bob, then Alice.", "more": "Bob.", "none": "Dinah."}
    store.write_many([seed, second, *(note(store, key, text) for key, text in notes.items())])
    masses = {seed.segments[0].id: 0.6, second.segments[0].id: 0.2, "of nobody": 9.0}

    hits = store.find_linked_segments(masses, k=9)

    by_alice, by_bob = 0.3 / 3, 0.3 / 4  # each of the names of the seed has half of its mass
    expected = {"second": 0.2, "seed": by_alice + by_bob, "both": by_alice + by_bob, "rare": by_alice}
    assert scores_by_key(store, hits) == pytest.approx(expected | {"common": by_bob, "more": by_bob})
    assert hits == sorted(hits, key=lambda hit: (-hit.score, hit.node_id))
    assert store.find_linked_segments(masses, k=2) == hits[:2]
    assert store.find_linked_segments({}, k=9) == []


def test_an_edge_of_a_title_weighs_four_mentions(store: GraphStore) -> None:
    seed = note(store, "seed", "Alice met Dinah.")
    titled = note(store, "titled", "Alice was here.", "Bob left.", titles=("Alice",))
    store.write_many([seed, titled])

    to_titled = store.find_linked_segments({seed.segments[0].id: 1.0}, k=9)
    from_titled = store.find_linked_segments({titled.segments[1].id: 1.0}, k=9)

    scores = {hit.node_id: hit.score for hit in to_titled}
    on_titled = 0.5 * 4 / 9
    expected = [on_titled, on_titled, 0.5 / 9 + 0.5]
    assert [scores[segment.id] for segment in (*titled.segments, *seed.segments)] == pytest.approx(expected)
    assert {hit.node_id: hit.score for hit in from_titled}[seed.segments[0].id] == pytest.approx(0.8 / 9)


def test_named_entities_share_a_mass_by_how_rare_they_are(store: GraphStore) -> None:
    store.write_many(
        [note(store, "a", "Alice."), note(store, "b", "Bob.", titles=("Bob",)), note(store, "c", "Alice.")]
    )
    ids = {name: entity_id(store.namespace, name) for name in NAMES}

    hits = store.find_linked_segments({}, entity_ids=[ids["Alice"]], entity_mass=0.8, k=9)
    assert scores_by_key(store, hits) == pytest.approx({"a": 0.4, "c": 0.4})
    hits = store.find_linked_segments({}, title_ids=[ids["Alice"], ids["Bob"], ids["Dinah"]], entity_mass=0.8, k=9)
    assert scores_by_key(store, hits) == pytest.approx({"b": 0.8})
    hits = store.find_linked_segments({}, entity_ids=[ids["Alice"]], title_ids=[ids["Bob"]], entity_mass=0.9, k=9)
    assert scores_by_key(store, hits) == pytest.approx({"b": 0.6, "a": 0.15, "c": 0.15})


def test_links_leave_out_conversations(store: GraphStore) -> None:
    seed, other = note(store, "seed", "Alice."), note(store, "other", "Alice too.")
    said = make_graph(store.namespace, "said", ("Alice said so.",), named=False)
    echo = note(store, "echo", "As was answered.", titles=("Alice",))
    echoes = tuple(replace(segment, echo=True) for segment in echo.segments)
    echo = replace(echo, document=replace(echo.document, echoes=1), segments=echoes)
    store.write_many([seed, other, name_graph(store.namespace, "said", [(0, "Alice", "PERSON")], graph=said), echo])
    masses = {seed.segments[0].id: 1.0}

    assert scores_by_key(store, store.find_linked_segments(masses, k=9)) == pytest.approx({"seed": 0.5, "other": 0.5})
    assert store.find_linked_segments({said.segments[0].id: 1.0}, k=9) == []
    within = store.find_linked_segments(masses, k=9, documents=[other.document.id])
    assert scores_by_key(store, within) == pytest.approx({"other": 1.0})
    assert store.find_linked_segments(masses, k=9, documents=[]) == []


def test_segments_that_name_an_entity_are_counted(store: GraphStore) -> None:
    store.write_many([note(store, "a", "Alice and Alice.", "Alice.", "Bob."), note(store, "b", "Bob."),
                      note(store, "c", *(f"Cheshire {place}." for place in range(30)))])  # fmt: skip
    ids = [entity_id(store.namespace, name) for name in ("Bob", "Dinah", "Alice", "Bob", "Cheshire")]
    assert store.count_naming_segments(ids) == [2, 0, 2, 2, 30]
    assert store.count_naming_segments([]) == []


def test_times_come_from_segment_or_document(store: GraphStore) -> None:
    dated, other = note(store, "dated", "Alice.", time="2024-05-01T10:00:00+00:00"), note(store, "other", "Bob.")
    store.write_many([dated, other])
    ids = [dated.segments[0].id, other.segments[0].id]
    assert store.list_segment_times([*ids, "of nobody"]) == dict(
        zip(ids, ("2024-05-01T10:00:00+00:00", other.document.added_at), strict=True)
    )


def test_pool_holds_only_its_namespace(make_store: MakeStore) -> None:
    store, other = make_store(), make_store()
    mine, theirs = note(store, "a", "Alice."), note(other, "a", "Alice.", titles=("Alice",))
    store.write(mine)
    other.write(theirs)
    foreign, foreign_names = [theirs.segments[0].id], [entity_id(other.namespace, "Alice")]

    assert store.segments_around(foreign) == []
    assert (
        store.find_linked_segments(
            dict.fromkeys(foreign, 1.0), entity_ids=foreign_names, title_ids=foreign_names, entity_mass=1.0, k=9
        )
        == []
    )
    assert store.count_naming_segments(foreign_names) == [0]
    assert store.list_segment_times(foreign) == {}
    assert store.first_segment_ids(k=9) == [mine.segments[0].id]


def test_sample_keeps_first_segments(store: GraphStore) -> None:
    graph = note(store, "a", *(f"Text {place}." for place in range(20)))
    store.write(graph)
    ids = sorted(segment.id for segment in graph.segments)
    assert store.first_segment_ids(k=5) == ids[:5]

    store.write(note(store, "b", "Alice."))
    kept = [segment_id for segment_id in store.first_segment_ids(k=5) if segment_id in ids]
    assert kept == ids[: len(kept)]
    assert len(kept) >= 4
    store.forget(graph.document.id)
    assert len(store.first_segment_ids(k=5)) == 1
