"""Converts relations and near-synonyms to rows of a database and back.

The module knows no engine. A row that is read is a mapping by column name; rows to store are columns, which each engine
takes in its own form. Invariant: a decoded record equals the encoded one, field by field.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

import numpy as np

from memgraph_rag.stores.shared.rows import Columns, Row, field_columns
from memgraph_rag.types import DocumentGraph, Matrix, Neighbour, Relation, Similar, Vector


def relation_columns(graphs: Sequence[DocumentGraph]) -> Columns:
    """Return the relations of these graphs, with their embeddings, as columns of RELATES_TO edges to store."""
    owned = [(graph.document.id, relation) for graph in graphs for relation in graph.relations]
    relations = [relation for _, relation in owned]
    return field_columns(relations, "id", "source_id", "target_id", "segment_id", "description") | {
        "document_id": [document_id for document_id, _ in owned],
        "embedding": _stack([row for graph in graphs if graph.relations for row in graph.relation_embeddings]),
    }


def make_embedding_columns(entity_ids: Sequence[str], vectors: Sequence[Vector]) -> Columns:
    """Return ids of nodes or relations and their vectors as the columns ``id`` and ``embedding`` to store."""
    return {"id": list(entity_ids), "embedding": _stack(vectors)}


def drop_relations(graph: DocumentGraph, known: Collection[str]) -> DocumentGraph:
    """Return a copy of a graph without the relations with the ids ``known`` and the embeddings that only they need.

    Mentions stay. Unknown ids are ignored.
    """
    places = [place for place, relation in enumerate(graph.relations) if relation.id not in known]
    fewer = replace(graph, relations=tuple(graph.relations[place] for place in places))
    left = set(fewer.ends)
    ends = [place for place, end in enumerate(graph.ends) if end in left]
    return replace(
        fewer, relation_embeddings=graph.relation_embeddings[places], end_embeddings=graph.end_embeddings[ends]
    )


def decode_neighbours(rows: Iterable[Row], k: int) -> list[Neighbour]:
    """Return the k best of the neighbours (a relation, its two entities, a score) in rows, one each, best first."""
    neighbours = [
        Neighbour(
            Relation(row["id"], row["source_id"], row["target_id"], row["description"], row["segment_id"]),
            row["source"],
            row["target"],
            row["score"],
        )
        for row in rows
    ]
    return sorted(neighbours, key=lambda neighbour: (-neighbour.score, neighbour.relation.id))[:k]


def decode_similar(rows: Iterable[Row]) -> list[Similar]:
    """Return pairs of near-synonyms, each once, from rows of SIMILAR_TO edges: ``id``, ``other_id`` and ``score``.

    A row whose ``other_id`` is None has no edge and is skipped.
    """
    pairs = {
        Similar(min(row["id"], row["other_id"]), max(row["id"], row["other_id"]), row["score"])
        for row in rows
        if row["other_id"] is not None
    }
    return sorted(pairs, key=lambda pair: (pair.source_id, pair.target_id))


def _stack(vectors: Sequence[Vector]) -> Matrix:
    return np.stack(vectors).astype(np.float32) if len(vectors) else np.zeros((0, 0), np.float32)
