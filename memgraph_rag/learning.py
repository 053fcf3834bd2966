"""What a question makes the memory learn: relations that bear on it, found in segments that were read, and kept.

It holds no algorithm; it knows the order of the work. Invariants: all model work is done before anything is written;
what is learned belongs to the document that states it, so that ``forget`` takes it along; a document that went
meanwhile is passed over.

Source: QRMeM, section 3.5 (the question-directed part of the memory).
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import numpy as np

from memgraph_rag.contracts import GraphStore, Models, SplitDocument
from memgraph_rag.errors import DocumentNotFound
from memgraph_rag.ingestion import with_relation_vectors
from memgraph_rag.layers.relations import RelationsLayer
from memgraph_rag.types import DocumentGraph, Relation, Segment

__all__ = ["Learning"]


class Learning:
    """The ``Extract`` of one store."""

    def __init__(self, store: GraphStore, models: Models, layer: RelationsLayer) -> None:
        self._store = store
        self._models = models
        self._layer = layer

    def __call__(self, question: str, segments: Sequence[Segment]) -> list[Relation]:
        """Look in these segments for what bears on the question, and store it; the relations found."""
        records = self._store.documents(sorted({segment.document_id for segment in segments}))
        read = [
            SplitDocument(record.id, record.title, tuple(one for one in segments if one.document_id == record.id))
            for record in records
        ]
        found = self._layer.extract(question, read, namespace=self._store.namespace, models=self._models)
        graphs = [
            DocumentGraph(
                document=record,
                segments=tuple(self._store.segments_of(record.id)),
                segment_embeddings=np.zeros((0, 0), np.float32),
                mentions=rows.mentions,
                relations=rows.relations,
            )
            for record, rows in zip(records, found, strict=True)
            if rows.relations
        ]
        learned: list[Relation] = []
        for graph in with_relation_vectors(graphs, self._store, self._models.embedder):
            with suppress(DocumentNotFound):
                self._store.learn(graph)
                learned += graph.relations
        return learned
