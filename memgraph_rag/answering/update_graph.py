"""What a question adds to the graph: entities and relations that bear on it, extracted from segments and stored.

It holds no algorithm and no prompt. Invariant: what is learnt belongs to the document and the segment that state it, so
that it goes when they go; nothing that is stored already is changed.

Source: QRMeM, update of the graph during navigation (``update_graph``).
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from itertools import groupby

import numpy as np

from memgraph_rag.contracts import GraphStore, LearningLayer, Models, SplitDocument
from memgraph_rag.errors import DocumentNotFound, StoreError
from memgraph_rag.ingestion.graph_building import embed_relations, unnamed_ends
from memgraph_rag.ingestion.layer_building import extract_rows
from memgraph_rag.lexical.names import normalise
from memgraph_rag.types import DocumentGraph, Relation, Segment

__all__ = ["Learning"]

logger = logging.getLogger(__name__)


class Learning:
    """An ``Extract``: finds relations that bear on a question, and stores them."""

    def __init__(self, store: GraphStore, models: Models, layer: LearningLayer) -> None:
        self._store = store
        self._models = models
        self._layer = layer

    def __call__(self, question: str, segments: Sequence[Segment]) -> list[Relation]:
        """The relations found in these segments and stored, new ones and known ones.

        Documents without a layer that this one requires teach nothing: relations without entities would have no ends.
        Nor does one that was replaced or forgotten meanwhile, or whose relations the store refuses: the question goes
        on without them.

        Raises:
            StoreError: the store cannot be read.
            LayerError: the layer failed, or gave what is no row.
        """
        in_order = sorted(
            {segment.id: segment for segment in segments}.values(),
            key=lambda segment: (segment.document_id, segment.index),
        )
        segments_of = {key: tuple(group) for key, group in groupby(in_order, key=lambda segment: segment.document_id)}
        required = {*self._layer.requires}
        records = [record for record in self._store.documents(list(segments_of)) if required <= {*record.layers}]
        documents = [SplitDocument(record.id, record.title, segments_of[record.id]) for record in records]
        rows = extract_rows(self._layer, question, documents, namespace=self._store.namespace, models=self._models)
        none = np.zeros((0, self._models.embedder.dimension), np.float32)
        graphs = [
            DocumentGraph(record, document.segments, none, mentions=found_rows.mentions, relations=found_rows.relations)
            for record, document, found_rows in zip(records, documents, rows, strict=True)
            if found_rows.mentions or found_rows.relations
        ]
        names = {entity.id: normalise(entity.name) for entity in self._store.entities(unnamed_ends(graphs))}
        with_vectors = embed_relations(graphs, names, self._models.embedder)
        return [relation for graph in with_vectors if self._is_stored(graph) for relation in graph.relations]

    def _is_stored(self, graph: DocumentGraph) -> bool:
        """Whether what a document taught is stored now; an answer is worth telling where it cannot be."""
        try:
            self._store.learn(graph)
        except (DocumentNotFound, StoreError) as error:
            logger.warning("what a question taught is not kept of one document: %s", type(error).__name__)
            return False
        return True
