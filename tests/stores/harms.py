"""A graph of two documents, and ways to harm it past the store: what each is, and what is then found to be wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import pytest
from past_the_store import run_cypher
from store_snapshot import whole_graph

from memgraph_rag.contracts import GraphStore
from memgraph_rag.stores.ladybug.file import open_file
from memgraph_rag.testing.sample_graphs import (
    DIMENSION,
    MakeStore,
    entity_id,
    make_graph,
    make_relations,
)
from memgraph_rag.types import DocumentGraph, Flaws, Vector


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
        embeddings: dict[str, Vector] = {}
        for graph in (self.first, self.second):
            embeddings |= dict(zip((segment.id for segment in graph.segments), graph.segment_embeddings, strict=True))
            embeddings |= dict(zip((point.id for point in graph.points), graph.point_embeddings, strict=True))
            embeddings |= dict(
                zip((relation.id for relation in graph.relations), graph.relation_embeddings, strict=True)
            )
            embeddings |= dict(zip(graph.ends, graph.end_embeddings, strict=True))
        return embeddings

    @property
    def embedded_relation(self) -> str:
        """What holds the embedding of a relation, as a pattern of r."""
        return "(:Entity)-[r:RELATES_TO]->(:Entity)" if "user" in self.place else "(r:RelationEmbedding)"

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
    assert store.list_similar([entity_id(store.namespace, "alice")])
    return World(store, place, first, second)


def named(flaws: Flaws) -> dict[str, tuple[str, ...]]:
    """What is wrong."""
    return {field.name: getattr(flaws, field.name) for field in fields(flaws) if getattr(flaws, field.name)}


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
        f"MATCH {world.embedded_relation} WHERE r.id = $id SET r.embedding = NULL",
        {"id": world.first.relations[0].id},
        {"unembedded_relations": (world.first.relations[0].id,)},
    ),
    "a name without embedding": lambda world: (
        SET_NULL.format(label="Entity"),
        {"id": entity_id(world.store.namespace, "dan")},
        {"unembedded_entities": (entity_id(world.store.namespace, "dan"),)},
    ),
    "a segment with a long embedding": lambda world: (
        "MATCH (n:Segment {id: $id}) SET n.embedding = $vector",
        {"id": world.first.segments[2].id, "vector": [3e38] * DIMENSION},
        {"unembedded_segments": (world.first.segments[2].id,)},
    ),
    "a point with an embedding of zeros": lambda world: (
        "MATCH (n:InformationPoint {id: $id}) SET n.embedding = $vector",
        {"id": world.first.points[0].id, "vector": [0.0] * DIMENSION},
        {"unembedded_points": (world.first.points[0].id,)},
    ),
    "a relation with a long embedding": lambda world: (
        f"MATCH {world.embedded_relation} WHERE r.id = $id SET r.embedding = $vector",
        {"id": world.first.relations[0].id, "vector": [1.0] * DIMENSION},
        {"unembedded_relations": (world.first.relations[0].id,)},
    ),
    "a name with a long embedding": lambda world: (
        "MATCH (n:Entity {id: $id}) SET n.embedding = $vector",
        {"id": entity_id(world.store.namespace, "dan"), "vector": [1.0] * DIMENSION},
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
    "an entity of which it cannot be read what it says": lambda world: (
        "MATCH (e:Entity {id: $id}) SET e.surfaces = $surfaces",
        {"id": entity_id(world.store.namespace, "carol"), "surfaces": '[["Carol'},
        {"miswritten": (entity_id(world.store.namespace, "carol"),)},
    ),
    "an entity that says nothing": lambda world: (
        "MATCH (e:Entity {id: $id}) SET e.surfaces = NULL",
        {"id": entity_id(world.store.namespace, "eve")},
        {"miswritten": (entity_id(world.store.namespace, "eve"),)},
    ),
    "a segment of no document": lambda world: (
        "CREATE (:Segment {id: $id, namespace: $namespace, document_id: 'gone', `index`: 0, text: 'x', echo: false, "
        "embedding: $vector})",
        {"id": f"{world.store.namespace}-s", "vector": [1.0] * DIMENSION},
        {"lost_segments": (f"{world.store.namespace}-s",)},
    ),
    "an annotation of no document": lambda world: (
        "CREATE (:Annotation {id: $id, namespace: $namespace, document_id: 'gone', layer: 'own', `index`: 0, kind: '', "
        "text: 't', properties: '{}', segments: 0})",
        {"id": f"{world.store.namespace}-a", "namespace": world.store.namespace},
        {"lost_annotations": (f"{world.store.namespace}-a",)},
    ),
    "a section of no document": lambda world: (
        "CREATE (:Section {id: $id, namespace: $namespace, document_id: 'gone', `index`: 0, level: 1, title: 't', "
        "start: 0, `end`: 1, parent_id: '', is_abstract: false, parts: 0})",
        {"id": f"{world.store.namespace}-o", "namespace": world.store.namespace},
        {"lost_sections": (f"{world.store.namespace}-o",)},
    ),
    "a point of no document": lambda world: (
        "CREATE (:InformationPoint {id: $id, namespace: $namespace, document_id: 'gone', level: 1, `index`: 0, "
        "text: 'x', embedding: $vector})",
        {"id": f"{world.store.namespace}-p", "vector": [1.0] * DIMENSION},
        {"lost_points": (f"{world.store.namespace}-p",)},
    ),
    "a relation of no segment": lambda world: (
        "MATCH (a:Entity {id: $id}), (b:Entity {id: $other}) CREATE (a)-[:RELATES_TO {id: $relation, "
        "namespace: $namespace, document_id: 'gone', segment_id: 'gone'}]->(b)",
        {
            "id": entity_id(world.store.namespace, "alice"),
            "other": entity_id(world.store.namespace, "eve"),
            "relation": f"{world.store.namespace}-r",
        },
        {"lost_relations": (f"{world.store.namespace}-r",)},
    ),
}
