"""Removes a layer of annotations from documents.

The only layer that it knows by name is ``context``, because segments are embedded together with their context.
Invariant: each document changes in one transaction, and afterwards is the same as if the layer had never been built.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from memgraph_rag.contracts import Embedder, GraphStore
from memgraph_rag.display import show
from memgraph_rag.errors import MemgraphRagError, SettingsError
from memgraph_rag.ingestion.segment_vectors import embed_segments
from memgraph_rag.stores.layer_rows import ANNOTATIONS, group_kinds
from memgraph_rag.types import CONTEXT, Action, DocumentGraph, DocumentRecord, Failure, Receipt

_COUNTED_TOGETHER = 256  # documents in one query for counts


def check_removable(layer: str) -> None:
    """Check that a layer consists of annotations, so that no other layer depends on it. An unknown name passes.

    Raises:
        SettingsError: the layer does not consist of annotations, or the name is not a text.
    """
    if not isinstance(layer, str) or not layer.strip():
        raise SettingsError(f"Expected the name of a layer, got {show(layer)}. Pass its name as a str.", layer=layer)
    if ANNOTATIONS not in group_kinds([layer]):
        raise SettingsError(
            f"Expected a layer of annotations, such as {CONTEXT}, got {show(layer)}, on which other layers may depend. "
            "Forget the documents, and add them without this layer.",
            layer=layer,
        )


def remove_layer(
    store: GraphStore, embedder: Embedder, layer: str, documents: Sequence[DocumentRecord]
) -> Iterator[Receipt | Failure]:
    """Remove a layer from documents, and yield an outcome for each in order.

    A document without the layer yields ``Action.UNCHANGED``. A document that cannot be changed yields a ``Failure``,
    and the others go on.
    """
    for start in range(0, len(documents), _COUNTED_TOGETHER):
        group = documents[start : start + _COUNTED_TOGETHER]
        counts = store.count_by_document([record.id for record in group if layer not in record.layers])
        for record in group:
            if layer not in record.layers:
                yield Receipt(record.id, record.key, Action.UNCHANGED, counts[record.id], echoes=record.echoes)
                continue
            try:
                yield store.extend(_cut_layer(store, embedder, layer, record), layers=[layer])
            except MemgraphRagError as error:
                yield Failure(record.key, error)


def _cut_layer(store: GraphStore, embedder: Embedder, layer: str, record: DocumentRecord) -> DocumentGraph:
    """Return the document without a layer; new segment embeddings are included only if the layer is ``context``."""
    segments = tuple(store.list_segments(record.id))
    left = tuple(name for name in record.layers if name != layer)
    embedded = segments if layer == CONTEXT else ()  # the stored embeddings include the context
    (vectors,) = embed_segments(embedder.embed, [(record.title, embedded, None)])
    return DocumentGraph(
        document=replace(record, layers=left),
        segments=segments,
        segment_embeddings=vectors,
    )
