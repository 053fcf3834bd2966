"""``GraphBuilder``: builds the layers of documents and embeds their texts, all documents of a group together.

All model calls of ingestion are here. It knows no store: each document brings the stored rows that it needs, so a
builder can work in another process (it can be pickled if its models and layers can). Invariant: results are in the
order of the documents.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache

from memgraph_rag.contracts import (
    Embedder,
    Layer,
    Models,
    Progress,
    SplitDocument,
    WillingLayer,
)
from memgraph_rag.errors import MemgraphRagError, ModelNotFound, TokenLimitReached
from memgraph_rag.ingestion.cost_estimate import log_cost
from memgraph_rag.ingestion.layer_building import build_layer
from memgraph_rag.ingestion.planning import PendingDocument, takes
from memgraph_rag.ingestion.segment_vectors import TitledSegments, embed_grouped, embed_segments
from memgraph_rag.layers.growth import join_top_points
from memgraph_rag.models.files.catalogue import MINILM
from memgraph_rag.models.files.packaged_e5 import INSTALL_MULTILINGUAL, is_e5_installed
from memgraph_rag.models.wrappers.token_limit import LimitedModels
from memgraph_rag.types import CONTEXT, DocumentGraph, DocumentRecord, LayerRows

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class BuiltDocument:
    """A document whose layers are built: its plan, the rows of its layers, and the graph to store."""

    pending: PendingDocument
    rows: LayerRows
    graph: DocumentGraph


BuildOutcome = BuiltDocument | MemgraphRagError
"""The result for a document: its graph, or the error that prevented it."""


class GraphBuilder:
    """Builds the graphs of documents.

    Args:
        namespace: the namespace of the graph, which is a part of all ids.
        layers: the layers to build, in this order.
    """

    def __init__(
        self, namespace: str, models: Models, layers: Sequence[Layer], *, progress: Progress | None = None
    ) -> None:
        self._namespace = namespace
        self._models = models
        self._layers = layers
        self._progress = progress

    def divide_among(self, workers: int) -> GraphBuilder:
        """Return a builder for one of several workers, with its share of a token limit and without progress."""
        models = self._models.divide_among(workers) if isinstance(self._models, LimitedModels) else self._models
        return GraphBuilder(self._namespace, models, self._layers)

    def build_each(self, documents: Sequence[PendingDocument]) -> list[BuildOutcome]:
        """Build the documents together, and return the outcome of each, in order.

        If that fails, each document is built alone, so that one bad document does not stop the others; the outcome of a
        failed document is its ``MemgraphRagError``. If no tokens are left, the documents that need the language model
        get a ``TokenLimitReached``.
        """
        refusal = self._refusal(documents)
        refused = [refusal is not None and document.needs_language for document in documents]
        waiting = [document for document, is_refused in zip(documents, refused, strict=True) if not is_refused]
        if not isinstance(self._models, LimitedModels):  # a trial would spend the user's tokens
            log_cost(waiting, self._models)
        outcomes = iter(self._build_isolated(waiting))
        return [refusal if refusal and is_refused else next(outcomes) for is_refused in refused]

    def settle(self) -> None:
        """Drop the recorded model replies, because all built documents are stored."""
        self._models.settle()

    def _refusal(self, documents: Sequence[PendingDocument]) -> TokenLimitReached | None:
        """Return the error for documents that need the language model if no tokens are left; otherwise None."""
        if not isinstance(self._models, LimitedModels) or not any(document.needs_language for document in documents):
            return None
        try:
            self._models.limited.require_room()
        except ModelNotFound:  # documents that need a model were refused earlier
            return None
        except TokenLimitReached as error:
            return error
        return None

    def _build_isolated(self, documents: Sequence[PendingDocument]) -> list[BuildOutcome]:
        try:
            return [*self.build(documents)]
        except MemgraphRagError as error:
            if len(documents) == 1:
                return [error]
            return [outcome for document in documents for outcome in self._build_isolated([document])]

    def build(self, documents: Sequence[PendingDocument]) -> list[BuiltDocument]:
        """Build the documents together, and return them with their graphs, in order. One bad document fails them all.

        Segments are embedded while layers without a language model are built. They are not embedded while the language
        model runs, because both would compete for the same cores. Segments of documents that get the layer ``context``
        are embedded after it is built, together with its texts.
        """
        rows, embed = [LayerRows() for _ in documents], self._models.embedder.embed
        first, writing = _phases(self._layers)
        with ThreadPoolExecutor(1) as executor:
            titled: list[TitledSegments] = [
                (item.record.title, item.segments if item.is_new and not item.lacks(CONTEXT) else (), None)
                for item in documents
            ]
            is_english = all(item.record.language in ("", "en") for item in documents)
            if self._models.embedder.name == MINILM and not is_english:
                _warn_of_unknown_language()
            total = sum(len(segments) for _, segments, _ in titled)
            self._report("embedding", 0, total)
            embedding = executor.submit(embed_segments, embed, titled)
            self._build_layers(documents, rows, first)
            segment_vectors = embedding.result()
            self._report("embedding", total, total)
        self._build_layers(documents, rows, writing)
        if waiting := [place for place, document in enumerate(documents) if document.lacks(CONTEXT)]:
            titled = [(documents[at].record.title, documents[at].segments, rows[at].annotations) for at in waiting]
            for place, vectors in zip(waiting, embed_segments(embed, titled), strict=True):
                segment_vectors[place] = vectors
        points = [[point.text for point in document_rows.points] for document_rows in rows]
        point_vectors = embed_grouped(embed, points)
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
        names = {end: name for document in documents for end, name in document.stored_names.items()}
        with_vectors = embed_relations(graphs, names, self._models.embedder)
        return [BuiltDocument(*parts) for parts in zip(documents, rows, with_vectors, strict=True)]

    def _build_layers(
        self, documents: Sequence[PendingDocument], rows: list[LayerRows], layers: Sequence[Layer]
    ) -> None:
        """Build the layers that documents lack, and add the results to ``rows``, which has one item per document."""
        for layer in layers:
            places = [place for place, document in enumerate(documents) if document.lacks(layer.name)]
            if not places:
                continue
            built = build_layer(
                layer,
                [self._evidence(documents[place], rows[place], layer) for place in places],
                namespace=self._namespace,
                models=self._models,
                progress=self._progress,
            )
            for place, layer_rows in zip(places, built, strict=True):
                rows[place] += layer_rows

    def _evidence(self, document: PendingDocument, rows: LayerRows, layer: Layer) -> SplitDocument:
        """Return the part of a document that a layer may see, with its sections and summary if the layer uses them."""
        evidence = document.evidence
        if takes(layer, "outline"):
            evidence = replace(evidence, sections=rows.sections or document.stored_sections)
        if takes(layer, "points"):
            evidence = replace(evidence, summary=join_top_points(rows.points) or document.stored_summary)
        return evidence

    def _record(self, document: PendingDocument, rows: LayerRows) -> DocumentRecord:
        """Return the record of a document, with the model's name if a layer with an optional model called it."""
        record = document.record
        if record.model or not rows.usage.model_calls:
            return record
        return replace(record, model=self._models.language.name)

    def _report(self, what: str, done: int, total: int) -> None:
        if self._progress is not None and total:
            self._progress(what, done, total)


def _phases(layers: Sequence[Layer]) -> tuple[list[Layer], list[Layer]]:
    """Split the layers into those that never call a language model, and those that may, with their dependants."""
    first: list[Layer] = []
    writing: list[Layer] = []
    for layer in layers:
        waits = not {*layer.requires}.isdisjoint(item.name for item in writing)
        is_writing = waits or layer.needs_language or isinstance(layer, WillingLayer)
        (writing if is_writing else first).append(layer)
    return first, writing


@cache
def _warn_of_unknown_language() -> None:
    """Log once in a process that a document is in a language that the embedder does not know."""
    install = "" if is_e5_installed() else f"{INSTALL_MULTILINGUAL}, then "
    logger.warning(
        "A document is not in English, and the embedder %s knows English only, so its meaning is searched badly. "
        "For other languages: %smemgraph-rag reembed --embedder multilingual-e5-small-q4", MINILM, install,
    )  # fmt: skip


def list_unnamed_ends(graphs: Sequence[DocumentGraph]) -> list[str]:
    """Return the sorted ids of entities that relations of these graphs join and whose names only the store has."""
    return sorted({end for graph in graphs for end in graph.ends} - _list_names(graphs).keys())


def embed_relations(
    graphs: Sequence[DocumentGraph], stored_names: Mapping[str, str], embedder: Embedder
) -> list[DocumentGraph]:
    """Return the graphs with vectors of the descriptions of relations and of the normalised names of their ends.

    Args:
        stored_names: the normalised names of the ends in ``list_unnamed_ends``, by entity id.
    """
    descriptions = [[relation.description for relation in graph.relations] for graph in graphs]
    relation_vectors = embed_grouped(embedder.embed, descriptions)
    names = {**stored_names, **_list_names(graphs)}
    end_vectors = embed_grouped(embedder.embed, [[names[end] for end in graph.ends] for graph in graphs])
    return [
        replace(graph, relation_embeddings=of_relations, end_embeddings=of_ends)
        for graph, of_relations, of_ends in zip(graphs, relation_vectors, end_vectors, strict=True)
    ]


def _list_names(graphs: Sequence[DocumentGraph]) -> dict[str, str]:
    return {mention.entity_id: mention.normal for graph in graphs for mention in graph.mentions}
