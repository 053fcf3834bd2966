"""From a source to a stored document: text → segments → layers → one write.

It holds no algorithm; it knows the order of the work. Invariants: all model work is done before the one
transaction that writes a document; the same content is never built twice; one bad source never stops another.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path

from memgraph_rag.contracts import GraphStore, Layer, Models, Progress
from memgraph_rag.errors import DocumentError, MemgraphRagError
from memgraph_rag.text.loading import Source, load
from memgraph_rag.text.splitting import split
from memgraph_rag.types import (
    Action,
    Document,
    DocumentGraph,
    DocumentRecord,
    Failure,
    LayerRows,
    MetadataValue,
    Receipt,
    Segment,
    make_id,
)

__all__ = ["Ingestion", "Request"]

_GROUP_TOKENS = 50_000  # documents whose layers are built together
_GROUP_DOCUMENTS = 64


@dataclass(frozen=True, slots=True)
class Request:
    """One thing to be added, as the user gave it."""

    source: Source
    key: str | None = None
    title: str | None = None
    metadata: Mapping[str, MetadataValue] | None = None


@dataclass(frozen=True, slots=True)
class _Pending:
    """A document that is split and waits for its layers."""

    id: str
    document: Document
    segments: tuple[Segment, ...]


class Ingestion:
    """Adds documents to one store.

    Args:
        layers: what is built beyond segments, in this order.
        segment_tokens: most tokens of one segment.
    """

    def __init__(
        self,
        store: GraphStore,
        models: Models,
        layers: Sequence[Layer],
        *,
        segment_tokens: int,
        progress: Progress | None = None,
    ) -> None:
        self._store = store
        self._models = models
        self._layers = layers
        self._segment_tokens = segment_tokens
        self._progress = progress

    def run(self, requests: Iterable[Request]) -> Iterator[Receipt | Failure]:
        """What became of each request, in order; the model work of a group of documents runs together."""
        group: list[_Pending | Receipt | Failure] = []
        tokens = 0
        for request in requests:
            loaded = _load(request)
            if isinstance(loaded, Document) and _waits(loaded.key, group):
                yield from self._write_group(group)  # so that this one is compared with what is then stored
                group, tokens = [], 0
            item = loaded if isinstance(loaded, Failure) else self._prepare(loaded)
            group.append(item)
            tokens += sum(segment.tokens for segment in item.segments) if isinstance(item, _Pending) else 0
            if tokens >= _GROUP_TOKENS or len(group) >= _GROUP_DOCUMENTS:
                yield from self._write_group(group)
                group, tokens = [], 0
        yield from self._write_group(group)

    def _prepare(self, document: Document) -> _Pending | Receipt | Failure:
        """Split a document, unless the store holds the same content with the same layers."""
        try:
            return self._held(document) or self._split(document)
        except MemgraphRagError as error:
            return Failure(document.key, error)

    def _held(self, document: Document) -> Receipt | None:
        """What the store holds of the document, where nothing of it is to be done again."""
        namespace = self._store.namespace
        document_id = make_id(namespace, "document", document.key)
        held = self._store.document(document_id)
        if held is None:
            return None
        _check_same_source(held, document)
        if held.sha256 != document.sha256 or not {layer.name for layer in self._layers} <= set(held.layers):
            return None
        return Receipt(document_id, document.key, Action.UNCHANGED, self._store.counts(document_id))

    def _split(self, document: Document) -> _Pending:
        namespace = self._store.namespace
        document_id = make_id(namespace, "document", document.key)
        spans = split(document.text, count_tokens=self._models.language.count_tokens, max_tokens=self._segment_tokens)
        segments = tuple(
            Segment(
                id=make_id(namespace, "segment", document_id, index),
                document_id=document_id,
                index=index,
                text=document.text[span.start : span.end],
                start=span.start,
                end=span.end,
                tokens=span.tokens,
            )
            for index, span in enumerate(spans)
        )
        return _Pending(document_id, document, segments)

    def _write_group(self, group: Sequence[_Pending | Receipt | Failure]) -> Iterator[Receipt | Failure]:
        """Build the layers of all pending documents together, then write each in its own transaction.

        Where that fails, each is built alone: one of them may be to blame, the others are not.
        """
        pending = [item for item in group if isinstance(item, _Pending)]
        try:
            built = iter(self._build_layers(pending))
        except MemgraphRagError as error:
            for item in group:
                if not isinstance(item, _Pending):
                    yield item
                elif len(pending) == 1:
                    yield Failure(item.document.key, error)
                else:
                    yield from self._write_group([item])
            return
        for item in group:
            if isinstance(item, _Pending):
                try:
                    yield self._write(item, next(built))
                except MemgraphRagError as error:
                    yield Failure(item.document.key, error)
            else:
                yield item

    def _build_layers(self, pending: Sequence[_Pending]) -> list[LayerRows]:
        rows = [LayerRows() for _ in pending]
        for layer in self._layers if pending else ():
            built = layer.build(
                [(item.id, item.segments) for item in pending],
                namespace=self._store.namespace,
                language=self._models.language,
                progress=self._progress,
            )
            rows = [before + after for before, after in zip(rows, built, strict=True)]
        return rows

    def _write(self, item: _Pending, rows: LayerRows) -> Receipt:
        nodes = (*item.segments, *rows.points)
        self._tell("embedding", 0, len(nodes))
        vectors = self._models.embedder.embed([node.text for node in nodes])
        self._tell("embedding", len(nodes), len(nodes))
        graph = DocumentGraph(
            document=self._record(item),
            segments=item.segments,
            segment_embeddings=vectors[: len(item.segments)],
            points=rows.points,
            point_embeddings=vectors[len(item.segments) :],
            summarizes=rows.summarizes,
        )
        receipt = self._store.write(graph)
        return replace(receipt, notes=dict(rows.notes), usage=rows.usage)

    def _record(self, item: _Pending) -> DocumentRecord:
        document = item.document
        return DocumentRecord(
            id=item.id,
            key=document.key,
            title=document.title,
            source=document.source,
            sha256=document.sha256,
            added_at=datetime.now(timezone.utc).isoformat(timespec="seconds"),
            characters=len(document.text),
            segments=len(item.segments),
            layers=tuple(layer.name for layer in self._layers),
            model=self._models.language.name if self._layers else "",
            metadata=document.metadata,
        )

    def _tell(self, what: str, done: int, total: int) -> None:
        if self._progress is not None:
            self._progress(what, done, total)


def _load(request: Request) -> Document | Failure:
    try:
        return load(request.source, key=request.key, title=request.title, metadata=request.metadata)
    except MemgraphRagError as error:
        return Failure(_describe(request.source), error)


def _waits(key: str, group: Sequence[_Pending | Receipt | Failure]) -> bool:
    """Whether a document of that key is not written yet."""
    return any(isinstance(item, _Pending) and item.document.key == key for item in group)


def _check_same_source(held: DocumentRecord, document: Document) -> None:
    """Two files of one name in two folders must not replace each other unnoticed."""
    if held.source and document.source and held.source != document.source:
        raise DocumentError(
            f"The key {document.key!r} is taken by another file: expected {held.source}, got {document.source}. "
            "Give this one a key of its own: add(path, key=…), or --key.",
            key=document.key,
        )


def _describe(source: object) -> str:
    """A short name for a source that could not be loaded; of a file the whole path."""
    if isinstance(source, (Path, Document)):
        return str(source.key if isinstance(source, Document) else source)
    text = str(source)
    return text if len(text) <= 60 else text[:57] + "…"
