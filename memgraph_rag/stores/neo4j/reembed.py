"""The new vectors of a namespace, and the pairs of near names among them.

The module knows no connection and runs no statement.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from memgraph_rag.contracts import GraphStore
from memgraph_rag.stores.shared.document_reader import iterate_graphs
from memgraph_rag.stores.shared.embedding_updates import Vectors
from memgraph_rag.stores.shared.rows import Columns
from memgraph_rag.types import DocumentGraph

ROWS_AT_ONCE = 1000


def read_new_vectors(store: GraphStore, again: Callable[[DocumentGraph], DocumentGraph]) -> Vectors:
    """Embed all documents of a store anew by ``again``, and return their new vectors.

    ``again`` returns a copy of a document's graph with new vectors; it is called once for each document.
    """
    vectors = Vectors()
    for graph in map(again, iterate_graphs(store, store.document_ids())):
        vectors.documents.append(graph.document.id)
        vectors.segments.update(zip((segment.id for segment in graph.segments), graph.segment_embeddings, strict=True))
        vectors.points.update(zip((segment.id for segment in graph.points), graph.point_embeddings, strict=False))
        for relation, vector in zip(graph.relations, graph.relation_embeddings, strict=False):
            vectors.relations[relation.id] = relation.source_id, vector
        vectors.names.update(zip(graph.ends, graph.end_embeddings, strict=False))
    return vectors


def find_near_pairs(columns: Columns, least: float) -> set[tuple[str, str]]:
    """Return the pairs of ids whose embeddings have a cosine of at least ``least``, each once, the earlier id first.

    Args:
        columns: the columns ``id`` and ``embedding``; an embedding need not have length 1.
    """
    matrix, ids = np.asarray(columns["embedding"]), [str(row) for row in columns["id"]]
    unit = matrix / np.linalg.norm(matrix, axis=1, keepdims=True) if len(ids) else matrix
    pairs: set[tuple[str, str]] = set()
    for start in range(0, len(ids), ROWS_AT_ONCE):
        cosines = unit[start : start + ROWS_AT_ONCE] @ unit.T
        for row, other in zip(*np.nonzero(cosines >= least), strict=True):
            if start + row < other:
                pairs.add((ids[start + row], ids[other]))
    return pairs
