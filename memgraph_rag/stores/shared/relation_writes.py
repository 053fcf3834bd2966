"""Stores relations, and what follows from them: the embeddings of names, and near-synonyms.

The module knows no engine; the caller gives a function that finds near names. Invariant: after a write an entity has
the embedding of its name if and only if a relation joins it. A SIMILAR_TO edge joins two such entities if the cosine of
their names is at least ``name_similarity.least_cosine``. Neither depends on other content, so the order of writes does
not matter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import chain

from memgraph_rag.display import show
from memgraph_rag.errors import StoreError
from memgraph_rag.lexical.name_similarity import LEAST_COSINE, least_cosine
from memgraph_rag.stores.shared import relation_rows
from memgraph_rag.stores.shared.graph_reads import Run, read_relations
from memgraph_rag.stores.shared.rows import Columns, Create, field_columns
from memgraph_rag.types import CosineScale, DocumentGraph, Relation, Similar, Vector, list_ends

FindNear = Callable[[Run, Columns], list[Similar]]
"""Returns the pairs of an entity of these rows (``id``, ``embedding``) and another embedded entity with near names.

The rows are stored already. The score of a pair is the reading of the engine's exact cosine, at least
``LOWEST_COSINE``.
A pair may be returned twice.
"""

LOWEST_COSINE = LEAST_COSINE - 0.001
"""The least cosine of a candidate pair. It is a little lower, because an engine may round a cosine differently."""


def delete_relations(run: Run, document_ids: Sequence[str], relations: Sequence[Relation] | None = None) -> set[str]:
    """Delete the given relations of documents, by default all; return the ids of the entities at their ends."""
    if relations is None:
        relations = list(chain.from_iterable(read_relations(run, document_ids).values()))
    if relations:
        run("write/delete_relations", document_ids=document_ids, relation_ids=[relation.id for relation in relations])
    return set(list_ends(relations))


def save_relations(
    run: Run, create: Create, find_near: FindNear, graphs: Sequence[DocumentGraph], gone: set[str]
) -> None:
    """Store the relations of the graphs, then update embeddings of names and near-synonyms of all affected entities.

    Args:
        gone: ids of the entities that deleted relations joined.
    """
    vectors = {end: row for graph in graphs for end, row in zip(graph.ends, graph.end_embeddings, strict=False)}
    create("write/link_relations", relation_rows.relation_columns(graphs))
    touched = sorted(gone | vectors.keys())
    count_rows = run("read/count_relations", entity_ids=touched) if touched else []
    idle = sorted(row["id"] for row in count_rows if row["is_embedded"] and not row["count"])
    if idle:
        run("write/delete_similar", entity_ids=idle)
        run("write/clear_entities", entity_ids=idle)
    joined = sorted(row["id"] for row in count_rows if row["count"] and not row["is_embedded"])
    if joined:
        embed_names(run, create, find_near, joined, vectors)


def embed_names(
    run: Run, create: Create, find_near: FindNear, entity_ids: Sequence[str], vectors: Mapping[str, Vector]
) -> None:
    """Store the embeddings of these entities' names, and link the entities to their near-synonyms by SIMILAR_TO.

    Existing links stay. ``vectors`` holds the vector of each of the names, by entity id.
    """
    rows = relation_rows.make_embedding_columns(entity_ids, [vectors[entity_id] for entity_id in entity_ids])
    create("write/embed_entities", rows)
    link_names(run, create, find_near, rows)


def link_names(run: Run, create: Create, find_near: FindNear, rows: Columns) -> None:
    """Find the near-synonyms of stored entities, and store a SIMILAR_TO edge to each.

    Args:
        rows: columns ``id`` and ``embedding`` of the entities; the embeddings are stored already.
    """
    near = _select_near_synonyms(run, find_near(run, rows))
    create("write/link_similar", field_columns(near, "source_id", "target_id", "score"))


def _select_near_synonyms(run: Run, pairs: Sequence[Similar]) -> list[Similar]:
    """Return the pairs whose names are near-synonymous, each once, from the smaller id to the larger."""
    both = {(min(pair.source_id, pair.target_id), max(pair.source_id, pair.target_id)): pair.score for pair in pairs}
    ids = sorted({entity_id for pair in both for entity_id in pair})
    entity_rows = run("read/find_entities", entity_ids=ids) if ids else []
    normal = {row["id"]: row["normal"] for row in entity_rows}
    return [
        Similar(source, target, score)
        for (source, target), score in sorted(both.items())
        if score >= least_cosine(normal[source], normal[target])
    ]


def read_scores(pairs: Sequence[Similar], scale: CosineScale) -> list[Similar]:
    """Return pairs of names with each score, a cosine, replaced by its reading on the embedder's scale."""
    return [replace(pair, score=scale.read_names(pair.score)) for pair in pairs]


def check_mentions(graph: DocumentGraph, named: set[tuple[str, str]]) -> None:
    """Check that the segment of each relation of a graph mentions both of the relation's entities.

    Args:
        named: (segment id, entity id) of all mentions.

    Raises:
        StoreError: the segment of a relation does not mention one of its entities.
    """
    for relation in graph.relations:
        for end in (relation.source_id, relation.target_id):
            if (relation.segment_id, end) not in named:
                raise StoreError(
                    f"Expected relations between entities that their segment mentions, in document "
                    f"{show(graph.document.key)}, got {show(relation.description)} with the entity {end}, which its "
                    "segment does not mention. Add the mention.",
                    relation=relation,
                )
