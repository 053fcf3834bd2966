"""Damage that somebody did to a real store, past this library: found, mended, found no more."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import pytest
from store_samples import (
    DIMENSION,
    EMBEDDER,
    MakeStore,
    entity_id,
    make_graph,
    make_question,
    make_relations,
    run_cypher,
)
from store_snapshot import whole_graph

from memgraph_rag.contracts import GraphStore
from memgraph_rag.stores import queries
from memgraph_rag.stores.ladybug_file import open_file
from memgraph_rag.types import DocumentGraph, Flaws, Vector

Harm = Callable[..., None]


@dataclass
class World:
    """A store with two documents that share names, and what it holds."""

    store: GraphStore
    place: dict[str, Any]
    first: DocumentGraph
    second: DocumentGraph

    @property
    def vectors(self) -> Mapping[str, Vector]:
        """Every embedding that was written, by id."""
        found: dict[str, Vector] = {}
        for graph in (self.first, self.second):
            found |= dict(zip((one.id for one in graph.segments), graph.segment_embeddings, strict=True))
            found |= dict(zip((one.id for one in graph.points), graph.point_embeddings, strict=True))
            found |= dict(zip((one.id for one in graph.relations), graph.relation_embeddings, strict=True))
            found |= dict(zip(graph.ends, graph.end_embeddings, strict=True))
        return found

    def harm(self, text: str, **parameters: Any) -> None:
        """Run a statement past the store."""
        given = {"namespace": self.store.namespace, **parameters}
        given = {name: value for name, value in given.items() if f"${name}" in text}
        if "user" in self.place:
            run_cypher(self.place, text, **given)
            return
        file = open_file(str(self.place["address"]))
        file.transaction(lambda execute: execute(text, given))
        file.close()

    def graph(self) -> Any:
        return whole_graph(self.store, self.place)


@pytest.fixture
def world(make_store: MakeStore, place: dict[str, Any]) -> World:
    store = make_store()
    near = np.zeros(DIMENSION, np.float32)
    near[0] = 1.0
    vectors = {"alice liddell": near, "alice": near}
    first = make_relations(
        store.namespace,
        make_graph(store.namespace, "first", ("Alice met Bob.", "Bob met Carol.", "Carol left Dan."), levels=(2, 1)),
        vectors=vectors,
    )
    second = make_relations(
        store.namespace,
        make_graph(store.namespace, "second", ("Liddell met Dan.", "Dan met Eve."), title="Eve", seed=5, levels=(1,)),
        names={"Liddell": "alice liddell"},
        vectors=vectors,
    )
    store.write_many([first, second])
    assert store.similar([entity_id(store.namespace, "alice")])
    return World(store, place, first, second)


def named(flaws: Flaws) -> dict[str, tuple[str, ...]]:
    """What is wrong."""
    return {one.name: getattr(flaws, one.name) for one in fields(flaws) if getattr(flaws, one.name)}


def test_nothing_is_wrong_with_what_this_library_wrote(world: World) -> None:
    version, before = world.store.version(), world.graph()
    assert not world.store.flaws()
    assert not world.store.mend({})
    assert (world.store.version(), world.graph()) == (version, before)
    world.store.forget(world.first.document.id)
    assert not world.store.flaws()


def test_an_empty_namespace_is_whole(make_store: MakeStore) -> None:
    store = make_store()
    assert not store.flaws()
    assert store.version() == 0


SET_NULL = "MATCH (n:{label} {{id: $id}}) SET n.embedding = NULL"

HARMS: dict[str, Callable[[World], tuple[str, dict[str, Any], dict[str, tuple[str, ...]]]]] = {
    "a segment that hangs on nothing": lambda world: (
        "MATCH (:Document)-[h:HAS_SEGMENT]->(s:Segment {id: $id}) DELETE h",
        {"id": world.first.segments[1].id},
        {"parted_segments": (world.first.segments[1].id,)},
    ),
    "a broken chain": lambda world: (
        "MATCH (:Segment {id: $id})-[n:NEXT]->(:Segment) DELETE n",
        {"id": world.first.segments[0].id},
        {"unchained": (world.first.document.id,)},
    ),
    "a chain with a link too many": lambda world: (
        "MATCH (a:Segment {id: $id}), (b:Segment {id: $other}) CREATE (a)-[:NEXT]->(b)",
        {"id": world.first.segments[0].id, "other": world.first.segments[2].id},
        {"unchained": (world.first.document.id,)},
    ),
    "a segment without embedding": lambda world: (
        SET_NULL.format(label="Segment"),
        {"id": world.first.segments[2].id},
        {"unembedded_segments": (world.first.segments[2].id,)},
    ),
    "a point without embedding": lambda world: (
        SET_NULL.format(label="InformationPoint"),
        {"id": world.first.points[0].id},
        {"unembedded_points": (world.first.points[0].id,)},
    ),
    "a relation without embedding": lambda world: (
        "MATCH (:Entity)-[r:RELATES_TO]->(:Entity) WHERE r.id = $id SET r.embedding = NULL",
        {"id": world.first.relations[0].id},
        {"unembedded_relations": (world.first.relations[0].id,)},
    ),
    "a name without embedding": lambda world: (
        SET_NULL.format(label="Entity"),
        {"id": entity_id(world.store.namespace, "dan")},
        {"unembedded_entities": (entity_id(world.store.namespace, "dan"),)},
    ),
    "an entity that nothing names": lambda world: (
        "CREATE (:Entity {id: $id, namespace: $namespace, normal: 'x', name: 'X', kinds: ['NAME'], surfaces: '[]'})",
        {"id": f"{world.store.namespace}-x"},
        {"lone_entities": (f"{world.store.namespace}-x",)},
    ),
    "an entity that says something else": lambda world: (
        "MATCH (e:Entity {id: $id}) SET e.surfaces = $surfaces, e.name = 'Bobby'",
        {"id": entity_id(world.store.namespace, "bob"), "surfaces": '[["Bobby", "NAME", 9]]'},
        {"miswritten": (entity_id(world.store.namespace, "bob"),)},
    ),
    "a segment of no document": lambda world: (
        "CREATE (:Segment {id: $id, namespace: $namespace, document_id: 'gone', `index`: 0, text: 'x', echo: false, "
        "embedding: $vector})",
        {"id": f"{world.store.namespace}-s", "vector": [1.0] * DIMENSION},
        {"lost_segments": (f"{world.store.namespace}-s",)},
    ),
    "a point of no document": lambda world: (
        "CREATE (:InformationPoint {id: $id, namespace: $namespace, document_id: 'gone', level: 1, `index`: 0, "
        "text: 'x', embedding: $vector})",
        {"id": f"{world.store.namespace}-p", "vector": [1.0] * DIMENSION},
        {"lost_points": (f"{world.store.namespace}-p",)},
    ),
    "a relation of no segment": lambda world: (
        "MATCH (a:Entity {id: $id}), (b:Entity {id: $other}) CREATE (a)-[:RELATES_TO {id: $relation, "
        "namespace: $namespace, document_id: 'gone', segment_id: 'gone', embedding: $vector}]->(b)",
        {
            "id": entity_id(world.store.namespace, "alice"),
            "other": entity_id(world.store.namespace, "eve"),
            "relation": f"{world.store.namespace}-r",
            "vector": [1.0] * DIMENSION,
        },
        {"lost_relations": (f"{world.store.namespace}-r",)},
    ),
}


@pytest.mark.parametrize("kind", HARMS)
def test_harm_is_found_and_undone(world: World, kind: str) -> None:
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


def test_all_of_it_at_once(world: World) -> None:
    before = world.graph()
    told: dict[str, set[str]] = {}
    for harm in HARMS.values():
        text, parameters, expected = harm(world)
        world.harm(text, **parameters)
        for name, ids in expected.items():
            told.setdefault(name, set()).update(ids)
    assert {name: set(ids) for name, ids in named(world.store.flaws()).items()} == told
    world.store.mend(world.vectors)
    assert not world.store.flaws()
    assert world.graph() == before


def test_a_question_of_which_a_read_is_gone_goes(world: World) -> None:
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
    assert [one.id for one in world.store.questions()] == [whole.id]
    assert not world.store.flaws()


def test_a_document_that_is_gone_takes_along_what_it_left(world: World) -> None:
    world.harm("MATCH (d:Document {id: $id}) DETACH DELETE d", id=world.second.document.id)
    found = named(world.store.flaws())
    assert set(found["lost_segments"]) == {one.id for one in world.second.segments}
    assert found["lost_points"] == (world.second.points[0].id,)

    world.store.mend({})
    mended = world.graph()
    assert not world.store.flaws()

    world.store.forget(world.first.document.id)
    assert not any(world.store.statistics().values())
    world.store.write(world.first)
    assert world.graph() == mended


def test_points_that_sum_up_nothing_go_and_are_built_again(world: World) -> None:
    world.harm("MATCH (p:InformationPoint {id: $id})-[r:SUMMARIZES]->() DELETE r", id=world.first.points[0].id)
    assert named(world.store.flaws()) == {"loose_points": (world.first.document.id,)}

    world.store.mend({})

    assert not world.store.flaws()
    (record,) = world.store.documents([world.first.document.id])
    assert "points" not in record.layers
    assert world.store.top_nodes([record.id]) == list(world.first.segments)
    assert world.store.documents([world.second.document.id])[0].layers == world.second.document.layers


def test_a_document_without_one_of_its_segments_stays_found(world: World) -> None:
    world.harm("MATCH (s:Segment {id: $id}) DETACH DELETE s", id=world.first.segments[1].id)
    found = named(world.store.flaws())
    assert found["incomplete"] == (world.first.document.id,)
    assert "lost_relations" in found

    world.store.mend(world.vectors)

    assert named(world.store.flaws()) == {"incomplete": (world.first.document.id,)}
    world.store.forget(world.first.document.id)
    world.store.write(world.first)
    assert not world.store.flaws()


def test_without_vectors_what_has_none_stays_found(world: World) -> None:
    world.harm(SET_NULL.format(label="Segment"), id=world.first.segments[0].id)
    world.store.mend({})
    assert named(world.store.flaws()) == {"unembedded_segments": (world.first.segments[0].id,)}


def test_another_namespace_is_left_alone(world: World, make_store: MakeStore) -> None:
    other = make_store()
    theirs = make_graph(other.namespace, "theirs", levels=(1,))
    other.write(theirs)
    world.harm(SET_NULL.format(label="Segment"), id=theirs.segments[0].id)
    assert not world.store.flaws()
    world.store.mend({theirs.segments[0].id: theirs.segment_embeddings[0]})
    assert other.flaws().unembedded_segments == (theirs.segments[0].id,)


def test_indexes_of_a_database_are_made_again(engine: str, world: World) -> None:
    if engine == "ladybug":
        assert world.store.flaws().indexes == (), "it has none"
        return
    dropped = ("segment_text", "segment_embedding", "document_key", "relation_embedding")
    for name in dropped:
        run_cypher(world.place, f"DROP INDEX {name}")
    run_cypher(world.place, "DROP CONSTRAINT entity_id")

    assert set(world.store.flaws().indexes) == {*dropped, "entity_id"}
    assert world.store.nearest(world.first.segment_embeddings[0], k=1), "exactly, meanwhile"
    world.store.mend({})

    assert not world.store.flaws()
    states = run_cypher(world.place, "SHOW INDEXES YIELD name, state")
    assert {row["state"] for row in states} == {"ONLINE"}
    assert world.store.matching("Alice", k=1)
    assert world.store.nearest(world.first.segment_embeddings[0], k=1)
    world.store.migrate(embedder=EMBEDDER, dimension=DIMENSION)


@pytest.mark.parametrize("dialect", queries.DIALECTS)
def test_what_a_step_makes_is_read_from_it(dialect: queries.Dialect) -> None:
    made = {step.made for step in queries.migrations(dialect).values()} - {""}
    assert made == set() if dialect == "ladybug" else {"segment_text", "document_id", "relation_embedding"} <= made
