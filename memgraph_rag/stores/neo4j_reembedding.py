"""New vectors for a namespace of a Neo4j database, gathered from its documents and put in place by statements.

It knows no connection: its caller begins and commits. Invariant: near-synonyms follow from the new vectors alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from memgraph_rag.contracts import GraphStore
from memgraph_rag.stores import relating, relation_rows
from memgraph_rag.stores.reading import Run
from memgraph_rag.stores.relating import FindNear
from memgraph_rag.stores.rows import Columns, Create
from memgraph_rag.types import DocumentGraph, Vector

__all__ = ["Vectors", "pairs_among", "replace_vectors", "vectors_of"]

ROWS_AT_ONCE = 1000


@dataclass(frozen=True, slots=True)
class Vectors:
    """The new vectors of a namespace, by id; of relations with the entity from which they lead."""

    documents: list[str] = field(default_factory=list)
    segments: dict[str, Vector] = field(default_factory=dict)
    points: dict[str, Vector] = field(default_factory=dict)
    relations: dict[str, tuple[str, Vector]] = field(default_factory=dict)
    names: dict[str, Vector] = field(default_factory=dict)


def vectors_of(store: GraphStore, again: Callable[[DocumentGraph], DocumentGraph]) -> Vectors:
    """Those of all documents, one after another."""
    found = Vectors()
    for document_id in store.document_ids():
        stored = store.graph_of(document_id)
        if stored is None:
            continue
        graph = again(stored)
        found.documents.append(document_id)
        found.segments.update(zip((one.id for one in graph.segments), graph.segment_embeddings, strict=True))
        found.points.update(zip((one.id for one in graph.points), graph.point_embeddings, strict=False))
        for relation, vector in zip(graph.relations, graph.relation_embeddings, strict=False):
            found.relations[relation.id] = relation.source_id, vector
        found.names.update(zip(graph.ends, graph.end_embeddings, strict=False))
    return found


def replace_vectors(run: Run, create: Create, find_among: FindNear, vectors: Vectors) -> None:
    """Store them, and tie near-synonyms by them."""
    for name, of_nodes in (("write/embed_segments", vectors.segments), ("write/embed_points", vectors.points)):
        create(name, relation_rows.embedded_columns(list(of_nodes), list(of_nodes.values())))
    sources, of_relations = [], []
    for source, vector in vectors.relations.values():
        sources.append(source)
        of_relations.append(vector)
    columns = relation_rows.embedded_columns(list(vectors.relations), of_relations)
    create("write/embed_relations", columns | {"source_id": sources})
    if vectors.names:
        run("write/delete_similar", entity_ids=list(vectors.names))
        relating.embed_names(run, create, find_among, sorted(vectors.names), vectors.names)
    run("write/touch_documents", document_ids=vectors.documents)


def pairs_among(columns: Columns) -> set[tuple[str, str]]:
    """The pairs of rows with a cosine that near-synonyms may have, some rows at a time."""
    matrix, ids = np.asarray(columns["embedding"]), [str(one) for one in columns["id"]]
    unit = matrix / np.linalg.norm(matrix, axis=1, keepdims=True) if len(ids) else matrix
    pairs: set[tuple[str, str]] = set()
    for start in range(0, len(ids), ROWS_AT_ONCE):
        cosines = unit[start : start + ROWS_AT_ONCE] @ unit.T
        for one, other in zip(*np.nonzero(cosines >= relating.LOWEST_COSINE), strict=True):
            if start + one < other:
                pairs.add((ids[start + one], ids[other]))
    return pairs
