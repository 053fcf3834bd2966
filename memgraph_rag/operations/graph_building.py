"""The graphs of documents: layers are built and everything is embedded, the documents of a group together.

All model work of ingestion is here; nothing is written. Invariant: the rows and graphs are in the order of the
documents.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np

from memgraph_rag.contracts import (
    Embedder,
    GraphReader,
    Layer,
    Models,
    NodeReader,
    Progress,
    SplitDocument,
    WillingLayer,
)
from memgraph_rag.lexical.names import normalise
from memgraph_rag.operations.layer_building import build_layer
from memgraph_rag.operations.planning import PendingDocument
from memgraph_rag.operations.unit_vectors import units
from memgraph_rag.stores.layer_rows import SECTIONS
from memgraph_rag.text.context import in_context, with_neighbours
from memgraph_rag.types import CONTEXT, DocumentGraph, DocumentRecord, LayerRows, Matrix

__all__ = ["BuiltDocument", "GraphBuilder", "embed_relations"]


@dataclass(frozen=True, slots=True)
class BuiltDocument:
    """A document whose layers are built: its plan, what they made, and the graph that is to be stored."""

    pending: PendingDocument
    rows: LayerRows
    graph: DocumentGraph


class GraphBuilder:
    """Builds the graphs of documents.

    Args:
        reader: knows what other layers stored earlier: the names of entities, outlines.
        layers: in the order in which they are built.
    """

    def __init__(
        self, reader: GraphReader, models: Models, layers: Sequence[Layer], *, progress: Progress | None = None
    ) -> None:
        self._reader = reader
        self._models = models
        self._layers = layers
        self._progress = progress

    def build(self, documents: Sequence[PendingDocument]) -> list[BuiltDocument]:
        """The documents with their graphs; segments are embedded while their names are looked for.

        Not while the language model writes: the two would only take each other's cores.
        """
        rows = [LayerRows() for _ in documents]
        first, writing = _phases(self._layers)
        with ThreadPoolExecutor(1) as beside:
            texts = [
                in_context(document.record.title, document.segments)
                if document.is_new and not _waits_for_context(document)
                else []
                for document in documents
            ]
            total = sum(map(len, texts))
            self._report("embedding", 0, total)
            embedding = beside.submit(embed_grouped, texts, self._models.embedder)
            self._build_layers(documents, rows, first)
            segment_vectors = [
                units(with_neighbours(vectors, document.segments)) if len(vectors) else vectors
                for document, vectors in zip(documents, embedding.result(), strict=True)
            ]
            self._report("embedding", total, total)
        self._build_layers(documents, rows, writing)
        segment_vectors = self._in_context(documents, rows, segment_vectors)
        points = [[point.text for point in document_rows.points] for document_rows in rows]
        point_vectors = embed_grouped(points, self._models.embedder)
        graphs = [
            DocumentGraph(
                document=self._record(document, document_rows),
                segments=document.segments,
                segment_embeddings=of_segments,
                points=document_rows.points,
                point_embeddings=of_points,
                summarizes=document_rows.summarizes,
                mentions=document_rows.mentions,
                titles=document_rows.titles,
                relations=document_rows.relations,
                annotations=document_rows.annotations,
                sections=document_rows.sections,
            )
            for document, document_rows, of_segments, of_points in zip(
                documents, rows, segment_vectors, point_vectors, strict=True
            )
        ]
        with_vectors = embed_relations(graphs, self._reader, self._models.embedder)
        return [BuiltDocument(*parts) for parts in zip(documents, rows, with_vectors, strict=True)]

    def _in_context(
        self, documents: Sequence[PendingDocument], rows: Sequence[LayerRows], vectors: Sequence[Matrix]
    ) -> list[Matrix]:
        """These vectors, and new ones for the segments of documents that get the layer ``context``."""
        texts = [
            in_context(document.record.title, document.segments, document_rows.annotations)
            if _waits_for_context(document)
            else []
            for document, document_rows in zip(documents, rows, strict=True)
        ]
        if not any(texts):
            return list(vectors)
        return [
            units(with_neighbours(new, document.segments)) if _waits_for_context(document) else old
            for document, old, new in zip(documents, vectors, embed_grouped(texts, self._models.embedder), strict=True)
        ]

    def _build_layers(
        self, documents: Sequence[PendingDocument], rows: list[LayerRows], layers: Sequence[Layer]
    ) -> None:
        """Build those of these layers that documents lack; what each makes is added to the document's rows."""
        for layer in layers:
            places = [place for place, document in enumerate(documents) if layer in document.missing_layers]
            if not places:
                continue
            built = build_layer(
                layer,
                [self._evidence(documents[place], rows[place], layer) for place in places],
                namespace=self._reader.namespace,
                models=self._models,
                progress=self._progress,
            )
            for place, layer_rows in zip(places, built, strict=True):
                rows[place] += layer_rows

    def _evidence(self, document: PendingDocument, rows: LayerRows, layer: Layer) -> SplitDocument:
        """What a layer may see of a document; with its outline, built just now or stored, where it takes that."""
        evidence = document.evidence
        if SECTIONS.layer not in {*layer.requires, *getattr(layer, "uses", ())}:
            return evidence
        return replace(evidence, sections=rows.sections or tuple(self._reader.sections(document.record.id)))

    def _record(self, document: PendingDocument, rows: LayerRows) -> DocumentRecord:
        """The document's record; the model is named where only a layer that can do without one asked it."""
        record = document.record
        if record.model or not rows.usage.model_calls:
            return record
        return replace(record, model=self._models.language.name)

    def _report(self, what: str, done: int, total: int) -> None:
        if self._progress is not None and total:
            self._progress(what, done, total)


def _phases(layers: Sequence[Layer]) -> tuple[list[Layer], list[Layer]]:
    """Layers that ask no language model, and those that may, with what requires one of these."""
    first: list[Layer] = []
    writing: list[Layer] = []
    for layer in layers:
        waits = not {*layer.requires}.isdisjoint(item.name for item in writing)
        is_writing = waits or layer.needs_language or isinstance(layer, WillingLayer)
        (writing if is_writing else first).append(layer)
    return first, writing


def _waits_for_context(document: PendingDocument) -> bool:
    """Whether its segments are embedded under what the layer ``context`` says, once that is built."""
    return any(layer.name == CONTEXT for layer in document.missing_layers)


def embed_relations(graphs: Sequence[DocumentGraph], reader: NodeReader, embedder: Embedder) -> list[DocumentGraph]:
    """These graphs with the vectors of their relations' descriptions and of the normalised names of their ends.

    The name of an end that another layer stored earlier is read from the graph.
    """
    descriptions = [[relation.description for relation in graph.relations] for graph in graphs]
    relation_vectors = embed_grouped(descriptions, embedder)
    names = {mention.entity_id: mention.normal for graph in graphs for mention in graph.mentions}
    unnamed = sorted({end for graph in graphs for end in graph.ends} - names.keys())
    names |= {entity.id: normalise(entity.name) for entity in (reader.entities(unnamed) if unnamed else ())}
    end_vectors = embed_grouped([[names[end] for end in graph.ends] for graph in graphs], embedder)
    return [
        replace(graph, relation_embeddings=of_relations, end_embeddings=of_ends)
        for graph, of_relations, of_ends in zip(graphs, relation_vectors, end_vectors, strict=True)
    ]


def embed_grouped(texts: Sequence[Sequence[str]], embedder: Embedder) -> list[Matrix]:
    """The vectors of each document's texts; all are embedded in one call."""
    vectors = units(embedder.embed(list(chain.from_iterable(texts))))
    ends = np.cumsum([len(document_texts) for document_texts in texts])
    return np.split(vectors, ends[:-1]) if len(ends) else []
