"""Damage that somebody did to a real store, past this library: found, mended, found no more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from harms import HARMS, SET_NULL, World, named
from past_the_store import run_cypher
from tables import table

from memgraph_rag.errors import StoreError
from memgraph_rag.stores.shared import integrity, queries
from memgraph_rag.testing.sample_graphs import (
    DIMENSION,
    EMBEDDER,
    MakeStore,
    entity_id,
    make_graph,
    make_question,
)
from memgraph_rag.testing.store_suite.clusters import with_clusters


def test_graph_of_this_library_has_no_flaws(world: World) -> None:
    version, before = world.store.version(), world.graph()
    assert not world.store.flaws()
    assert not world.store.mend({})
    assert (world.store.version(), world.graph()) == (version, before)
    world.store.forget(world.first.document.id)
    assert not world.store.flaws()


def test_empty_namespace_has_no_flaws(make_store: MakeStore) -> None:
    store = make_store()
    assert not store.flaws()
    assert store.version() == 0


@pytest.mark.parametrize("kind", HARMS)
def test_repair_finds_and_undoes_harm(world: World, kind: str) -> None:
    before, version = world.graph(), world.store.version()
    text, parameters, expected = HARMS[kind](world)
    world.harm(text, **parameters)
    assert world.graph() != before

    assert named(world.store.flaws()) == expected
    assert named(world.store.mend(world.vectors)) == expected

    assert named(world.store.flaws()) == {}
    assert world.graph() == before
    assert world.store.version() == version + 1, "so that indexes in memory look again"
    world.store.forget(world.first.document.id)
    world.store.forget(world.second.document.id)
    assert not any(world.store.statistics().values())


def test_repair_undoes_all_harm_at_once(world: World) -> None:
    before = world.graph()
    flawed_ids: dict[str, set[str]] = {}
    for harm in HARMS.values():
        text, parameters, expected = harm(world)
        world.harm(text, **parameters)
        for name, ids in expected.items():
            flawed_ids.setdefault(name, set()).update(ids)
    assert {name: set(ids) for name, ids in named(world.store.flaws()).items()} == flawed_ids
    world.store.mend(world.vectors)
    assert not world.store.flaws()
    assert world.graph() == before


def test_repair_deletes_question_without_read_node(world: World) -> None:
    whole, torn = (
        make_question(world.store.namespace, nodes, text)
        for nodes, text in ((world.second.segments, "Who met Dan?"), (world.first.segments, "Who met Bob?"))
    )
    world.store.keep(whole)
    world.store.keep(torn)
    assert not world.store.flaws()

    text = "MATCH (:Question {id: $id})-[r:READ]->(:Segment {id: $segment}) DELETE r"
    world.harm(text, id=torn.id, segment=world.first.segments[1].id)

    assert named(world.store.flaws()) == {"torn_questions": (torn.id,)}
    world.store.mend({})
    assert [question.id for question in world.store.questions()] == [whole.id]
    assert not world.store.flaws()


def test_stale_question_of_stored_document_is_no_flaw(world: World) -> None:
    kept = make_question(world.store.namespace, world.first.segments)
    world.store.keep(kept)
    world.store.write(make_graph(world.store.namespace, "first", ("Bob slept.",)))
    assert not world.store.flaws()

    world.harm("MATCH (q:Question {id: $id}) SET q.documents = $documents", id=kept.id, documents=["gone"])

    assert named(world.store.flaws()) == {"torn_questions": (kept.id,)}
    world.store.mend({})
    assert world.store.questions() == []
    assert not world.store.flaws()


def test_deleting_points_makes_their_questions_stale(world: World) -> None:
    kept = make_question(world.store.namespace, [*world.first.segments, *world.first.points])
    world.store.keep(kept)
    world.harm("MATCH (p:InformationPoint {id: $id})-[r:SUMMARIZES]->() DELETE r", id=world.first.points[0].id)

    world.store.mend({})

    (stale,) = world.store.questions()
    assert [(change.document_key, change.reads) for change in stale.changes] == [("first", 3)]
    assert [step.node for step in stale.answer.trace] == list(world.first.segments)
    assert not world.store.flaws()


def test_repair_deletes_leftovers_of_missing_document(world: World) -> None:
    world.harm("MATCH (d:Document {id: $id}) DETACH DELETE d", id=world.second.document.id)
    flaws = named(world.store.flaws())
    assert set(flaws["lost_segments"]) == {segment.id for segment in world.second.segments}
    assert flaws["lost_points"] == (world.second.points[0].id,)

    world.store.mend({})
    mended = world.graph()
    assert not world.store.flaws()

    world.store.forget(world.first.document.id)
    assert not any(world.store.statistics().values())
    world.store.write(world.first)
    assert world.graph() == mended


def test_points_without_targets_are_deleted_and_rebuilt(world: World) -> None:
    world.harm("MATCH (p:InformationPoint {id: $id})-[r:SUMMARIZES]->() DELETE r", id=world.first.points[0].id)
    assert named(world.store.flaws()) == {"loose_points": (world.first.document.id,)}

    world.store.mend({})

    assert not world.store.flaws()
    (record,) = world.store.documents([world.first.document.id])
    assert "points" not in record.layers
    assert world.store.top_nodes([record.id]) == list(world.first.segments)
    assert world.store.documents([world.second.document.id])[0].layers == world.second.document.layers


def test_clusters_without_targets_are_deleted_and_points_stay(world: World) -> None:
    graph = with_clusters(world.store.namespace, world.first)
    world.store.write(graph)
    points = [point for point in graph.points if point.layer == "points"]
    world.harm("MATCH (p:InformationPoint {id: $id})-[r:SUMMARIZES]->() DELETE r", id=graph.points[-2].id)
    assert named(world.store.flaws()) == {"loose_points": (graph.document.id,)}

    world.store.mend({})

    assert not world.store.flaws()
    (mended,) = world.store.read_graphs([graph.document.id])
    assert list(mended.points) == points
    assert mended.document.layers == world.first.document.layers


def test_document_with_missing_segment_keeps_its_flaw(world: World) -> None:
    world.harm("MATCH (s:Segment {id: $id}) DETACH DELETE s", id=world.first.segments[1].id)
    flaws = named(world.store.flaws())
    assert flaws["incomplete"] == (world.first.document.id,)
    assert "lost_relations" in flaws

    world.store.mend(world.vectors)

    assert named(world.store.flaws()) == {"incomplete": (world.first.document.id,)}
    world.store.forget(world.first.document.id)
    world.store.write(world.first)
    assert not world.store.flaws()


def test_missing_embedding_without_vector_keeps_its_flaw(world: World) -> None:
    world.harm(SET_NULL.format(label="Segment"), id=world.first.segments[0].id)
    world.store.mend({})
    assert named(world.store.flaws()) == {"unembedded_segments": (world.first.segments[0].id,)}


def test_segment_without_embedding_matches_words_only(world: World) -> None:
    store, gone = world.store, world.first.segments[1]
    everywhere, vector = [world.first.document.id, world.second.document.id], world.first.segment_embeddings[1]
    there = {segment.id for graph in (world.first, world.second) for segment in graph.segments} - {gone.id}
    points = {point.id for graph in (world.first, world.second) for point in graph.points} - {world.first.points[1].id}
    world.harm(SET_NULL.format(label="Segment"), id=gone.id)
    world.harm(SET_NULL.format(label="InformationPoint"), id=world.first.points[1].id)

    for documents in (None, everywhere):
        assert {hit.node_id for hit in store.find_nearest(vector, k=99, documents=documents)} == there
    assert {hit.node_id for hit in store.similarities(vector, documents=everywhere)} == there | points
    bob = entity_id(store.namespace, "bob")
    naming = [hit.node_id for hit in store.segments_naming([bob], vector=vector, k=1)]
    assert naming == [world.first.segments[0].id]
    assert gone.id in {hit.node_id for hit in store.find_matching("Carol", k=9)}
    indexed = {segment.id: segment.embedding for segment in store.list_indexed_segments(since=-1)}
    assert indexed.keys() == there | {gone.id}
    for segment_id, embedding in indexed.items():
        np.testing.assert_allclose(
            embedding, world.vectors[segment_id] if segment_id in there else np.zeros(DIMENSION), atol=1e-6
        )


def test_relation_without_embedding_needs_no_vector(world: World) -> None:
    store, (gone, *others) = world.store, world.first.relations
    there = {edge.id for edge in (*others, *world.second.relations)}
    ends, vector = [*world.first.ends, *world.second.ends], world.first.relation_embeddings[0]
    everywhere = [world.first.document.id, world.second.document.id]
    world.harm(f"MATCH {world.embedded_relation} WHERE r.id = $id SET r.embedding = NULL", id=gone.id)

    for documents in (None, everywhere):
        near = store.expand(ends, vector=vector, k=99, documents=documents)
        listed = store.expand(ends, vector=None, k=99, documents=documents)
        for neighbours, expected in ((near, there), (listed, there | {gone.id})):
            assert {neighbour.relation.id for neighbour in neighbours} == expected


@table("kind", [harm for harm in HARMS if "embedding" in harm])
def test_reader_refuses_document_without_embedding(world: World, kind: str) -> None:
    text, parameters, _ = HARMS[kind](world)
    asked = world.first.document.id
    sound = world.store.write(make_graph(world.store.namespace, "sound", named=False)).document_id
    world.harm(text, **parameters)
    with pytest.raises(StoreError, match=r"'first'.*memgraph-rag doctor --repair") as raised:
        world.store.read_graphs([sound, asked])
    assert raised.value.facts["document_id"] == asked
    world.store.mend(world.vectors)
    assert [graph.document.id for graph in world.store.read_graphs([sound, asked])] == [sound, asked]


@table("surfaces", ["{", "7", "[1]", '["abc"]', '[["Alice", "NAME", "x"]]', '[["Alice", "NAME"]]'])
def test_writer_of_damaged_entity_gets_error(world: World, surfaces: str) -> None:
    world.store.write(world.first)
    alice = entity_id(world.store.namespace, "alice")
    world.harm("MATCH (e:Entity {id: $id}) SET e.surfaces = $surfaces", id=alice, surfaces=surfaces)
    assert named(world.store.flaws()) == {"miswritten": (alice,)}
    for ask in (lambda: world.store.forget(world.first.document.id), lambda: world.store.entity_counts(alice)):
        with pytest.raises(StoreError, match=rf"{alice}.*memgraph-rag doctor --repair"):
            ask()
    world.store.mend({})
    assert world.store.entity_counts(alice)
    world.store.forget(world.first.document.id)


@table("metadata", ["{", "7", "[1]"])
def test_error_names_document_with_damaged_metadata(world: World, metadata: str) -> None:
    document = world.second.document
    world.store.write(world.second)
    world.harm("MATCH (d:Document {id: $id}) SET d.metadata = $metadata", id=document.id, metadata=metadata)
    with pytest.raises(StoreError, match=r"'second'.*forget") as caught:
        world.store.documents()
    assert caught.value.document_id == document.id
    assert not world.store.flaws()
    world.store.forget(document.id)
    assert [record.key for record in world.store.documents()] == ["first"]


@table("citations", ["{", "7", "[1]", '[["Alice"]]'])
def test_damaged_question_is_named_and_can_be_forgotten(world: World, citations: str) -> None:
    kept = make_question(world.store.namespace, world.first.segments)
    world.store.keep(kept)
    world.harm("MATCH (q:Question {id: $id}) SET q.citations = $citations", id=kept.id, citations=citations)
    with pytest.raises(StoreError, match=f"forget --question {kept.id}"):
        world.store.questions()
    world.store.forget_question(kept.id)
    assert world.store.questions() == []


@table("changes", ["{", "7", "[1]", '[["a", "b", "replaced", "", "x"]]', '[["a", "b", "x", "", 1]]'])
def test_damaged_changes_are_named_and_can_be_forgotten(world: World, changes: str) -> None:
    kept = make_question(world.store.namespace, world.first.segments)
    edited = make_graph(world.store.namespace, "first", ("Bob slept.",))
    for forget in (world.store.forget_question, lambda _: world.store.forget(world.first.document.id)):
        world.store.write(world.first)
        world.store.keep(kept)
        world.harm("MATCH (q:Question {id: $id}) SET q.changes = $changes", id=kept.id, changes=changes)
        for read in (world.store.questions, lambda: world.store.write(edited)):
            with pytest.raises(StoreError, match=f"forget --question {kept.id}"):
                read()
        forget(kept.id)
        assert world.store.questions() == []


def test_repair_leaves_other_namespace_alone(world: World, make_store: MakeStore) -> None:
    other = make_store()
    theirs = make_graph(other.namespace, "theirs", levels=(1,))
    other.write(theirs)
    world.harm(SET_NULL.format(label="Segment"), id=theirs.segments[0].id)
    assert not world.store.flaws()
    world.store.mend({theirs.segments[0].id: theirs.segment_embeddings[0]})
    assert other.flaws().unembedded_segments == (theirs.segments[0].id,)


class Lonely(dict[str, Any]):
    """A row that is never compared with another one: to compare all with all is quadratic."""

    __hash__ = None

    def __eq__(self, other: object) -> bool:
        raise AssertionError("rows were compared")


def survey_of(relations: Sequence[Mapping[str, Any]]) -> Any:
    """A namespace of two documents, each of one segment of its id, and of entities a and b."""
    entities = {entity: {"id": entity, "normal": entity, "surfaces": f'[["{entity}", "NAME", 1]]'} for entity in "ab"}
    return integrity._Survey(
        documents={document_id: {"id": document_id, "segments": 1} for document_id in ("first", "second")},
        segments={
            document_id: {"id": document_id, "document_id": document_id, "index": 0}
            for document_id in ("first", "second")
        },
        owned=frozenset({("first", "first"), ("second", "second")}),
        next=Counter(),
        points=[],
        annotations=[],
        sections=[],
        overviews=[],
        entities=entities,
        writings={entity: Counter({(entity, "NAME"): 1}) for entity in "ab"},
        relations=relations,
        similar=[],
        questions=[],
        squared_lengths=dict.fromkeys(["first", "second", "a", "b", *(row["id"] for row in relations)], 1.0),
    )


def relation(relation_id: str, document_id: str, segment_id: str) -> Lonely:
    ends = {"source_id": "a", "target_id": "b"}
    return Lonely(id=relation_id, document_id=document_id, segment_id=segment_id, **ends)


def test_repair_reads_relations_once() -> None:
    survey = survey_of([
        *(relation(f"{number}", "first", "first") for number in range(9)),
        relation("lost-1", "first", "gone"),
        relation("lost-2", "second", "gone"),
        relation("lost-3", "gone", "gone"),
    ])  # fmt: skip
    flaws = integrity._find_flaws(survey)
    assert named(flaws) == {"lost_relations": ("lost-1", "lost-2", "lost-3")}

    deleted: list[dict[str, Any]] = []

    def run(_: str, /, **parameters: Any) -> list[dict[str, Any]]:
        deleted.append(parameters)
        return []

    integrity._delete_relations(run, survey, flaws)
    lost = {"document_ids": ["first", "gone", "second"], "relation_ids": ["lost-1", "lost-2", "lost-3"]}
    assert deleted == [lost]


def test_repair_recreates_indexes(engine: str, world: World) -> None:
    if engine == "ladybug":
        assert world.store.flaws().indexes == (), "it has none"
        return
    dropped = ["segment_words", "segment_embedding", "document_key"]
    dropped += ["relation_embedding"] if engine == "neo4j-2026" else []
    for name in dropped:
        run_cypher(world.place, f"DROP INDEX {name}")
    run_cypher(world.place, "DROP CONSTRAINT entity_id")

    assert set(world.store.flaws().indexes) == {*dropped, "entity_id"}
    assert world.store.find_nearest(world.first.segment_embeddings[0], k=1), "exactly, meanwhile"
    world.store.mend({})

    assert not world.store.flaws()
    states = run_cypher(world.place, "SHOW INDEXES YIELD name, state")
    assert {row["state"] for row in states} == {"ONLINE"}
    assert world.store.find_matching("Alice", k=1)
    assert world.store.find_nearest(world.first.segment_embeddings[0], k=1)
    world.store.migrate(embedder=EMBEDDER, dimension=DIMENSION)


@table("dialect", queries.DIALECTS)
def test_statement_names_index_that_it_creates(dialect: queries.Dialect) -> None:
    made = {step.created_index for step in queries.migrations(dialect).values()} - {""}
    assert made == set() if dialect == "ladybug" else {"segment_words", "document_id", "entity_embedding"} <= made
    assert ("relation_embedding" in made) == (dialect == "neo4j_2026")
