"""Other embeddings in place of all there are, on every engine; an embedder is a whole store's."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from past_the_store import run_cypher
from store_snapshot import whole_graph

from memgraph_rag.contracts import GraphStore
from memgraph_rag.errors import SchemaMismatch, StoreError
from memgraph_rag.stores import open_store
from memgraph_rag.testing.sample_graphs import DIMENSION, EMBEDDER, MakeStore, make_graph, make_question, make_relations
from memgraph_rag.types import DocumentGraph, Matrix

NEW = "another"


def vectors(texts: list[str], dimension: int) -> Matrix:
    """Of each text one that only it and its length say."""
    rows = [np.random.default_rng([*text.encode(), dimension]).normal(size=dimension) for text in texts]
    matrix = np.array(rows, np.float32).reshape(len(texts), dimension)
    return (matrix / np.linalg.norm(matrix, axis=1, keepdims=True)).astype(np.float32)


def again(graph: DocumentGraph, dimension: int) -> DocumentGraph:
    """The document as the other embedder embeds it."""
    return replace(
        graph,
        segment_embeddings=vectors([segment.text for segment in graph.segments], dimension),
        point_embeddings=vectors([point.text for point in graph.points], dimension),
        relation_embeddings=vectors([relation.description for relation in graph.relations], dimension),
        end_embeddings=vectors(list(graph.ends), dimension),
    )


def documents(namespace: str) -> list[DocumentGraph]:
    first = make_graph(namespace, "first", ("Alice met Bob.", "Bob met Carol.", "It rained."), levels=(2, 1))
    second = make_graph(namespace, "second", ("Carol met Dan.", "Dan left."), title="Eve", levels=(1,), seed=9)
    return [make_relations(namespace, first), make_relations(namespace, second)]


@pytest.fixture
def stores(make_store: MakeStore, place: dict[str, Any]) -> Iterator[list[GraphStore]]:
    """Two namespaces with the same documents; afterwards the database takes the tests' embedder again."""
    if "user" in place:
        if "NEO4J_URI" in os.environ:
            pytest.skip("an embedder is a whole database's, and this one is not the tests' own")
        run_cypher(place, "MATCH (n) WHERE NOT n:Schema DETACH DELETE n")
    made = [make_store(), make_store()]
    for store in made:
        store.write_many(documents(store.namespace))
    yield made
    if "user" in place:
        run_cypher(place, "MATCH (n) DETACH DELETE n")
        for row in run_cypher(place, "SHOW VECTOR INDEXES YIELD name"):
            run_cypher(place, f"DROP INDEX {row['name']}")


def test_kept_questions_stay(stores: list[GraphStore]) -> None:
    held = documents(stores[0].namespace)[0]
    question = make_question(stores[0].namespace, [*held.segments, *held.points])
    stores[0].keep(question)

    stores[0].reembed(embedder=NEW, dimension=DIMENSION, again=lambda graph: again(graph, DIMENSION))

    stores[0].migrate(embedder=NEW, dimension=DIMENSION)
    assert stores[0].questions([question.id]) == [question]


@pytest.mark.parametrize("dimension", [DIMENSION, 5])
def test_reembedded_graph_equals_graph_of_other_embedder(
    stores: list[GraphStore], make_store: MakeStore, place: dict[str, Any], dimension: int
) -> None:
    store = stores[0]
    versions = [each_store.version() for each_store in stores]

    store.reembed(embedder=NEW, dimension=dimension, again=lambda graph: again(graph, dimension))

    for each_store, version in zip(stores, versions, strict=True):
        with pytest.raises(SchemaMismatch, match="embedded anew"):
            each_store.find_nearest(vectors(["x"], DIMENSION)[0], k=1)
        with pytest.raises(SchemaMismatch):
            each_store.version()
        with pytest.raises(SchemaMismatch):
            each_store.write(documents(each_store.namespace)[0])
        with pytest.raises(SchemaMismatch, match=NEW):
            each_store.migrate(embedder=EMBEDDER, dimension=DIMENSION)
        each_store.migrate(embedder=NEW, dimension=dimension)
        assert each_store.schema["dimension"] == dimension
        assert each_store.version() > version, "so that indexes in memory look again"
        assert len(each_store.list_indexed_segments(since=version)) == 5
        assert not each_store.flaws()
    graphs = [whole_graph(each_store, place) for each_store in stores]
    wanted = again(documents(store.namespace)[0], dimension)
    for vector, segment in zip(wanted.segment_embeddings, wanted.segments, strict=True):
        (hit,) = store.find_nearest(vector, k=1)
        assert (hit.node_id, round(hit.score, 4)) == (segment.id, 1.0)
    nearest = store.expand(list(wanted.ends), vector=wanted.relation_embeddings[0], k=1)
    assert nearest[0].relation == wanted.relations[0]

    for each_store in stores:
        for document in each_store.documents():
            each_store.forget(document.id)
        each_store.write_many([again(graph, dimension) for graph in documents(each_store.namespace)])
    assert [whole_graph(each_store, place) for each_store in stores] == graphs


def test_reembedding_changes_nothing_before_switch(stores: list[GraphStore], place: dict[str, Any]) -> None:
    store = stores[0]
    before = [whole_graph(each_store, place) for each_store in stores]
    keys = []

    def cut_off(graph: DocumentGraph) -> DocumentGraph:
        if len(keys) == 3:
            raise KeyboardInterrupt
        keys.append(graph.document.key)
        assert store.find_nearest(graph.segment_embeddings[0], k=1)
        return again(graph, 5)

    with pytest.raises(KeyboardInterrupt):
        store.reembed(embedder=NEW, dimension=5, again=cut_off)

    assert [whole_graph(each_store, place) for each_store in stores] == before
    assert store.schema["embedder"] == EMBEDDER
    assert store.find_nearest(vectors(["x"], DIMENSION)[0], k=1)
    store.write(make_graph(store.namespace, "third"))
    store.forget(make_graph(store.namespace, "third").document.id)
    store.reembed(embedder=NEW, dimension=5, again=lambda graph: again(graph, 5))
    store.migrate(embedder=NEW, dimension=5)
    assert not store.flaws()


def test_document_written_during_reembedding_is_embedded_too(stores: list[GraphStore], place: dict[str, Any]) -> None:
    store, other = stores
    late = make_graph(other.namespace, "late", ("A late one.",))
    written: list[threading.Thread] = []

    def write() -> None:
        with suppress(SchemaMismatch):
            other.write(late)

    def slowly(graph: DocumentGraph) -> DocumentGraph:
        if not written:
            written.append(threading.Thread(target=write))
            written[0].start()
            written[0].join(0.5)
        return again(graph, DIMENSION)

    try:
        store.reembed(embedder=NEW, dimension=DIMENSION, again=slowly)
    finally:
        written[0].join()

    with closing(open_store(**place, namespace=other.namespace)) as opened:
        opened.migrate(embedder=NEW, dimension=DIMENSION)
        keys = {record.key for record in opened.documents()}
        assert keys in ({"first", "second", "late"}, {"first", "second"}), "before it, or refused after it"
        if "late" in keys:
            (hit,) = opened.find_nearest(vectors(["A late one."], DIMENSION)[0], k=1)
            assert round(hit.score, 4) == 1.0
        assert not opened.flaws()


@pytest.mark.parametrize("engine", ["neo4j-5.26", "neo4j-2026"], indirect=True)
def test_a_namespace_that_is_begun_while_all_is_switched_is_embedded_too(
    stores: list[GraphStore], make_store: MakeStore, place: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its first write has seen the old embedder, and is not committed yet."""
    fresh = make_store()
    check, runner = fresh._check_embedder, stores[0]._runner  # type: ignore[attr-defined]
    at_the_switch = threading.Event()
    switching = threading.Thread(
        target=stores[0].reembed,
        kwargs={"embedder": NEW, "dimension": DIMENSION, "again": lambda graph: again(graph, DIMENSION)},
    )

    def checked(run: Any) -> None:
        check(run)
        if not switching.ident:
            switching.start()
            assert at_the_switch.wait(60)
            switching.join(2)

    def telling(execute: Any) -> Any:
        run = runner(execute)

        def told(name: str, /, **parameters: Any) -> Any:
            if name == "write/save_schema":
                at_the_switch.set()
            return run(name, **parameters)

        return told

    monkeypatch.setattr(fresh, "_check_embedder", checked)
    monkeypatch.setattr(stores[0], "_runner", telling)
    fresh.write(make_graph(fresh.namespace, "late", ("A late one.",)))
    switching.join()

    with closing(open_store(**place, namespace=fresh.namespace)) as opened:
        opened.migrate(embedder=NEW, dimension=DIMENSION)
        (hit,) = opened.find_nearest(vectors(["A late one."], DIMENSION)[0], k=1)
        assert round(hit.score, 4) == 1.0


def test_damaged_document_stops_reembedding_before_change(stores: list[GraphStore], place: dict[str, Any]) -> None:
    store = stores[0]

    def wrong(graph: DocumentGraph) -> DocumentGraph:
        return replace(again(graph, 5), segment_embeddings=np.full((len(graph.segments), 5), np.nan, np.float32))

    if "user" not in place:
        with pytest.raises(StoreError):
            store.reembed(embedder=NEW, dimension=5, again=wrong)
    assert store.schema["embedder"] == EMBEDDER
    assert store.find_nearest(vectors(["x"], DIMENSION)[0], k=1)


def test_vectors_are_searched_exactly_between_switch_and_indexes(
    engine: str, stores: list[GraphStore], place: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    if engine == "ladybug":
        return  # it has no index
    store = stores[0]

    def cut_off(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(type(store), "_recreate", cut_off)
        with pytest.raises(KeyboardInterrupt):
            store.reembed(embedder=NEW, dimension=5, again=lambda graph: again(graph, 5))
    wanted = again(documents(store.namespace)[0], 5)
    with closing(open_store(**place, namespace=store.namespace, read_only=True)) as reader:
        reader.migrate(embedder=NEW, dimension=5)
        of_relations = ["relation_embedding"] if engine == "neo4j-2026" else []
        assert reader.flaws().indexes == ("entity_embedding", *of_relations, "segment_embedding")
        assert reader.find_nearest(wanted.segment_embeddings[0], k=1)[0].node_id == wanted.segments[0].id
        nearest = reader.expand(list(wanted.ends), vector=wanted.relation_embeddings[0], k=1)
        assert nearest[0].relation == wanted.relations[0]
    store.migrate(embedder=NEW, dimension=5)
    assert not store.flaws()
    assert store.find_nearest(wanted.segment_embeddings[0], k=1)[0].node_id == wanted.segments[0].id


def test_a_graph_in_memory_only_is_refused() -> None:
    with closing(open_store(":memory:", namespace="n")) as store:
        store.migrate(embedder=EMBEDDER, dimension=DIMENSION)
        with pytest.raises(StoreError, match="Expected a file"):
            store.reembed(embedder=NEW, dimension=5, again=lambda graph: graph)
