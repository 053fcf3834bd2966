"""Extract entities and relations that are relevant to a question from segments, and store them.

It holds no algorithm and no prompt. Invariant: a relation belongs to the document and the segment that state it, and
is removed together with them. Stored rows do not change.

Source: QRMeM, update of the graph during navigation (``update_graph``).
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from itertools import groupby

import numpy as np

from memgraph_rag.contracts import GraphStore, LearningLayer, Models, SplitDocument
from memgraph_rag.errors import DocumentNotFound, StoreError
from memgraph_rag.ingestion.graph_building import embed_relations, list_unnamed_ends
from memgraph_rag.ingestion.layer_building import extract_rows
from memgraph_rag.ingestion.planning import find_summaries
from memgraph_rag.lexical.names import normalise
from memgraph_rag.types import DocumentGraph, DocumentRecord, Relation, Segment

logger = logging.getLogger(__name__)


class Learning:
    """A function that extracts relations for a question from segments, and stores them (the contract ``Extract``)."""

    def __init__(self, store: GraphStore, models: Models, layer: LearningLayer) -> None:
        self._store = store
        self._models = models
        self._layer = layer

    def __call__(self, question: str, segments: Sequence[Segment]) -> list[Relation]:
        """Extract relations from segments, store them, and return them, including relations that were stored before.

        A document is skipped if it lacks a layer that this layer requires (relations need entities), if it was
        replaced or forgotten meanwhile, or if the store refuses its relations.

        Raises:
            StoreError: the store cannot be read.
            LayerError: the layer failed, or returned something else than rows.
        """
        in_order = sorted(
            {segment.id: segment for segment in segments}.values(),
            key=lambda segment: (segment.document_id, segment.index),
        )
        segments_of = {key: tuple(group) for key, group in groupby(in_order, key=lambda segment: segment.document_id)}
        required = {*self._layer.requires}
        records = [record for record in self._store.documents(list(segments_of)) if required <= {*record.layers}]
        documents = self._split_documents(records, segments_of)
        rows = extract_rows(self._layer, question, documents, namespace=self._store.namespace, models=self._models)
        none = np.zeros((0, self._models.embedder.dimension), np.float32)
        graphs = [
            DocumentGraph(record, document.segments, none, mentions=found_rows.mentions, relations=found_rows.relations)
            for record, document, found_rows in zip(records, documents, rows, strict=True)
            if found_rows.mentions or found_rows.relations
        ]
        names = {entity.id: normalise(entity.name) for entity in self._store.entities(list_unnamed_ends(graphs))}
        with_vectors = embed_relations(graphs, names, self._models.embedder)
        return [relation for graph in with_vectors if self._is_stored(graph) for relation in graph.relations]

    def _split_documents(
        self, records: Sequence[DocumentRecord], segments_of: Mapping[str, tuple[Segment, ...]]
    ) -> list[SplitDocument]:
        """Return the documents with these segments, with their sections and the texts of their top-level points."""
        sections = self._store.list_sections_by_document([record.id for record in records])
        with_points = [record.id for record in records if "points" in record.layers]
        summaries = find_summaries(self._store, with_points)
        return [
            SplitDocument(
                record.id, record.title, segments_of[record.id], tuple(sections[record.id]),
                summaries.get(record.id, ""),
            )
            for record in records
        ]  # fmt: skip

    def _is_stored(self, graph: DocumentGraph) -> bool:
        """Store the relations of a document and return True; return False if the store refuses, and log a warning."""
        try:
            self._store.learn(graph)
        except (DocumentNotFound, StoreError) as error:
            logger.warning("the relations of one document cannot be stored: %s", type(error).__name__)
            return False
        return True
