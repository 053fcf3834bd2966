"""From a source to a stored document: text → segments → layers → one write; and further layers for what is stored.

It holds no algorithm; it knows the order of the work. Invariants: all model work is done before the one
transaction that writes a document; the same content is never built twice; one bad source never stops another.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from functools import partial
from itertools import chain
from pathlib import Path

import numpy as np

from memgraph_rag.contracts import (
    Embedder,
    GraphReader,
    GraphStore,
    Layer,
    Models,
    Progress,
    SplitDocument,
    TokenCounter,
)
from memgraph_rag.errors import DocumentError, MemgraphRagError, StoreUnavailable
from memgraph_rag.lexical import timestamps
from memgraph_rag.lexical.names import normalise
from memgraph_rag.operations.sources import Item, Loaded, Request, grouped, hash_with, is_elsewhere, load_request
from memgraph_rag.operations.unit_vectors import units
from memgraph_rag.stores import open_place
from memgraph_rag.text import echoes
from memgraph_rag.text.context import in_context
from memgraph_rag.text.splitting import split
from memgraph_rag.types import (
    Action,
    Document,
    DocumentGraph,
    DocumentRecord,
    Failure,
    LayerRows,
    Matrix,
    Receipt,
    Segment,
    Turn,
    make_id,
)

__all__ = ["Ingestion", "with_relation_vectors"]

_WRITTEN_TOGETHER = 64

UNREAD_TIMES = "times not understood"
"""Note of a receipt: how many messages have a time of which it is not certain which day it names."""

ECHO = "echo"
"""In a document's metadata: whether all of it, or none, is something that the memory answered."""


@dataclass(frozen=True, slots=True)
class _Pending:
    """A document that waits for layers.

    Attributes:
        record: as it will be stored.
        missing: the layers to be built.
        is_new: whether its segments are to be stored too; else they are.
        same_as: keys of other documents with its text.
    """

    record: DocumentRecord
    segments: tuple[Segment, ...]
    missing: tuple[Layer, ...]
    is_new: bool
    same_as: tuple[str, ...] = ()

    @property
    def split(self) -> SplitDocument:
        """What layers may see of it: what the memory said itself is not built upon."""
        evidence = tuple(segment for segment in self.segments if not segment.echo)
        return SplitDocument(self.record.id, self.record.title if evidence else "", evidence)


@dataclass(frozen=True, slots=True)
class _Building:
    """A group of documents whose layers are being built.

    Attributes:
        group: what is to be told of, in order.
        result: waits for their rows and graphs.
    """

    group: Sequence[_Pending | Receipt | Failure]
    result: Callable[[], tuple[list[LayerRows], list[DocumentGraph]]]

    @property
    def pending(self) -> list[_Pending]:
        """Those that are being built."""
        return [item for item in self.group if isinstance(item, _Pending)]

    @property
    def keys(self) -> set[str]:
        return {item.record.key for item in self.pending}


class Ingestion:
    """Adds documents to one store.

    Args:
        layers: what is built beyond segments, in this order.
        count_tokens: of the texts of segments.
        segment_tokens: most tokens of one segment.
    """

    def __init__(
        self,
        store: GraphStore,
        models: Models,
        layers: Sequence[Layer],
        *,
        count_tokens: TokenCounter,
        segment_tokens: int,
        progress: Progress | None = None,
    ) -> None:
        self._store = store
        self._models = models
        self._layers = layers
        self._count_tokens = count_tokens
        self._segment_tokens = segment_tokens
        self._progress = progress

    def run(self, requests: Iterable[Request]) -> Generator[Receipt | Failure, None, None]:
        """What became of each request, in order; the model work of a group of documents runs together.

        Where the requests end with an error, what came before it is stored and told first; then it is raised.
        """
        ending: list[Exception] = []
        unread_times: deque[int] = deque()  # of the requests that were read and not yet answered

        def loaded() -> Iterator[Loaded | Failure]:
            for request in _until_error(requests, ending):
                item = _load(request)
                unread_times.append(item.unread_times if isinstance(item, Loaded) else 0)
                yield item

        for outcome in self._grouped(loaded()):
            yield _with_unread_times(outcome, unread_times.popleft())
        if ending:
            raise ending[0]

    def deepen(self, records: Iterable[DocumentRecord]) -> Generator[Receipt | Failure, None, None]:
        """Build the layers that these documents do not have; what became of each, in order."""
        return self._grouped(records)

    def _grouped(self, items: Iterable[Item]) -> Generator[Receipt | Failure, None, None]:
        """Group after group. Where no language model works, one is built while the one before is written."""
        with ThreadPoolExecutor(1) as beside:
            building: _Building | None = None
            for gathered in grouped(items, self._store):
                keys = {item.key for item in gathered if not isinstance(item, Failure)}
                if building is not None and building.keys & keys:
                    yield from self._finished(building)  # so that these are compared with what is then stored
                    building = None
                group = self._prepared(gathered)
                before, building = building, self._started(group, beside)
                if before is not None:
                    yield from self._finished(before)
            if building is not None:
                yield from self._finished(building)

    def _started(self, group: Sequence[_Pending | Receipt | Failure], beside: ThreadPoolExecutor) -> _Building:
        """Begin to build the layers of all pending documents of a group together.

        A language model works in the caller's own thread, later: there it can be interrupted.
        """
        pending = [item for item in group if isinstance(item, _Pending)]
        if any(layer.needs_language for item in pending for layer in item.missing):
            return _Building(group, partial(self._built, pending))
        return _Building(group, beside.submit(self._built, pending).result)

    def _prepared(self, gathered: Sequence[Item]) -> list[_Pending | Receipt | Failure]:
        """What is to be done for each of these documents; a receipt where nothing is. One look into the store."""
        ids = [self._id(item.key) for item in gathered if isinstance(item, Loaded)]
        held = {record.id: record for record in self._store.documents(ids)}
        items = [self._completed(item, held) if isinstance(item, Loaded) else item for item in gathered]
        described = self._described([item for item in items if isinstance(item, Loaded)], held)
        prepared = [self._prepare(item, held | described) for item in items]
        prepared = [
            replace(item, action=Action.DESCRIBED)
            if isinstance(item, Receipt) and item.document_id in described
            else item
            for item in prepared
        ]
        return self._marked(prepared, held) if self._store.has_answers() else prepared

    def _completed(self, item: Loaded, held: Mapping[str, DocumentRecord]) -> Loaded:
        record = held.get(self._id(item.key))
        return item if record is None else replace(item, document=item.over(record))

    def _described(self, items: Sequence[Loaded], held: Mapping[str, DocumentRecord]) -> dict[str, DocumentRecord]:
        """Store other metadata of what is stored otherwise as it came; the records of those, by id."""
        pairs = [(item, held[one]) for item in items if (one := self._id(item.key)) in held]
        others = {
            record.id: replace(record, metadata=item.document.metadata, sha256=item.document.sha256)
            for item, record in pairs
            if _differ_in_metadata(item.document, record) and not is_elsewhere(record, item.files)
        }
        if not others:
            return {}
        before = [held[one].sha256 for one in others]
        return {one: others[one] for one in self._store.describe(list(others.values()), before=before)}

    def _marked(
        self, prepared: Sequence[_Pending | Receipt | Failure], held: Mapping[str, DocumentRecord]
    ) -> list[_Pending | Receipt | Failure]:
        """With those segments marked that say again what the memory answered."""
        namespace = self._store.namespace
        new = [item for item in prepared if isinstance(item, _Pending) and item.is_new]
        ids = {item.record.id: echoes.sentence_ids(namespace, item.segments) for item in new}
        known = self._store.answered(sorted(set().union(*ids.values())))
        return [
            self._with_echoes(item, {one: known[one] for one in ids[item.record.id] & known.keys()}, held)
            if isinstance(item, _Pending) and item.is_new
            else item
            for item in prepared
        ]

    def _with_echoes(
        self, item: _Pending, known: Mapping[str, tuple[str, ...]], held: Mapping[str, DocumentRecord]
    ) -> _Pending:
        if not known or ECHO in item.record.metadata:
            return item
        stored = self._store.segments_of(item.record.id) if item.record.id in held else ()
        return _counted(item, echoes.marked(self._store.namespace, item.segments, known, stored))

    def _prepare(self, item: Item, known: Mapping[str, DocumentRecord]) -> _Pending | Receipt | Failure:
        if isinstance(item, Failure):
            return item
        try:
            if isinstance(item, DocumentRecord):
                return self._continued(item)
            held = known.get(self._id(item.key))
            if held is not None and held.sha256 == item.document.sha256:
                return replace(self._continued(held), same_as=item.same_as)
            if held is not None:
                _check_same_source(held, item)
            return replace(self._split(item.document), same_as=item.same_as)
        except MemgraphRagError as error:
            return Failure(item.key, error)

    def _id(self, key: str) -> str:
        return make_id(self._store.namespace, "document", key)

    def _continued(self, held: DocumentRecord) -> _Pending | Receipt:
        """A stored document with the layers that it lacks."""
        missing = tuple(layer for layer in self._layers if layer.name not in held.layers)
        if not missing:
            return Receipt(held.id, held.key, Action.UNCHANGED, self._store.counts(held.id), echoes=held.echoes)
        segments = tuple(self._store.segments_of(held.id))
        return _Pending(self._with_layers(held, missing), segments, missing, is_new=False)

    def _split(self, document: Document) -> _Pending:
        document_id = self._id(document.key)
        segments = self._segments(document, document_id)
        record = DocumentRecord(
            id=document_id,
            key=document.key,
            title=document.title,
            source=document.source,
            sha256=document.sha256,
            added_at=datetime.now(timezone.utc).isoformat(timespec="seconds"),
            characters=len(document.text),
            segments=len(segments),
            layers=(),
            model="",
            metadata=document.metadata,
        )
        pending = _Pending(self._with_layers(record, self._layers), segments, tuple(self._layers), is_new=True)
        told = document.metadata.get(ECHO) is True
        return _counted(pending, tuple(replace(one, echo=True) for one in segments)) if told else pending

    def _segments(self, document: Document, document_id: str) -> tuple[Segment, ...]:
        turns = document.turns or (Turn(0, len(document.text), speaker=""),)
        starts = [turn.start for turn in turns]
        spans = split(document.text, count_tokens=self._count_tokens, max_tokens=self._segment_tokens, cuts=starts)
        # No span reaches across the start of a turn, so the last that starts at or before a span holds all of it.
        turn_of = [turns[bisect_right(starts, span.start) - 1] for span in spans]
        document_time = timestamps.named_in(document.metadata)
        return tuple(
            Segment(
                id=make_id(self._store.namespace, "segment", document_id, index),
                document_id=document_id,
                index=index,
                text=document.text[span.start : span.end],
                start=span.start,
                end=span.end,
                tokens=span.tokens,
                speaker=turn.speaker,
                time=turn.time or document_time,
            )
            for index, (span, turn) in enumerate(zip(spans, turn_of, strict=True))
        )

    def _with_layers(self, record: DocumentRecord, layers: Sequence[Layer]) -> DocumentRecord:
        """The record of a document that has these layers too, and of what built them."""
        names = tuple(sorted({*record.layers, *(layer.name for layer in layers)}))  # whatever came first
        model = self._models.language.name if any(layer.needs_language for layer in layers) else record.model
        recognizer = self._models.recognizer.name if "entities" in names else record.recognizer
        return replace(record, layers=names, model=model, recognizer=recognizer)

    def _finished(self, building: _Building) -> Iterator[Receipt | Failure]:
        """Write a group as soon as it is built; each document is stored whole or not at all.

        Where that fails, each is built alone: one of them may be to blame, the others are not.
        """
        try:
            rows, graphs = building.result()
        except MemgraphRagError as error:
            for item in building.group:
                if not isinstance(item, _Pending):
                    yield item
                elif len(building.pending) == 1:
                    yield Failure(item.record.key, error)
                else:
                    yield from self._finished(_Building([item], partial(self._built, [item])))
            return
        stored = list(self._stored(building.pending, graphs, rows))
        if not any(isinstance(outcome, Failure) for outcome in stored):
            self._models.settle()
        outcomes = iter(stored)
        for item in building.group:
            yield next(outcomes) if isinstance(item, _Pending) else item

    def _stored(
        self, pending: Sequence[_Pending], graphs: Sequence[DocumentGraph], rows: Sequence[LayerRows]
    ) -> Iterator[Receipt | Failure]:
        """Write the documents, some dozens of new ones in one transaction: it takes a store a fraction of the time."""
        together: dict[str, Receipt] = {}
        unreached: dict[str, StoreUnavailable] = {}
        new = [graph for item, graph in zip(pending, graphs, strict=True) if item.is_new]
        for start in range(0, len(new), _WRITTEN_TOGETHER):
            some = new[start : start + _WRITTEN_TOGETHER]
            if len(some) > 1:
                try:
                    together |= {receipt.document_id: receipt for receipt in self._store.write_many(some)}
                except StoreUnavailable as error:  # it was tried for long enough: not once more for each
                    unreached |= dict.fromkeys((graph.document.id for graph in some), error)
                except MemgraphRagError:  # one of them may be to blame: below each is tried alone
                    continue
        for item, graph, made in zip(pending, graphs, rows, strict=True):
            if graph.document.id in unreached:
                yield Failure(item.record.key, unreached[graph.document.id])
                continue
            try:
                receipt = together.get(graph.document.id) or self._write(item, graph)
                notes = dict(made.notes)
                yield replace(receipt, notes=notes, usage=made.usage, echoes=item.record.echoes, same_as=item.same_as)
            except MemgraphRagError as error:
                yield Failure(item.record.key, error)

    def _write(self, item: _Pending, graph: DocumentGraph) -> Receipt:
        return self._store.write(graph) if item.is_new else self._store.extend(graph)

    def _built(self, pending: Sequence[_Pending]) -> tuple[list[LayerRows], list[DocumentGraph]]:
        """The layers and graphs of these documents; segments are embedded while their names are looked for.

        Not while the language model writes: the two would only take each other's cores.
        """
        rows = [LayerRows() for _ in pending]
        with ThreadPoolExecutor(1) as beside:
            texts = [in_context(item.record.title, item.segments) if item.is_new else [] for item in pending]
            total = sum(map(len, texts))
            self._tell("embedding", 0, total)
            embedding = beside.submit(self._embedded, texts)
            self._add_layers(pending, rows, [layer for layer in self._layers if not layer.needs_language])
            of_segments = embedding.result()
            self._tell("embedding", total, total)
        self._add_layers(pending, rows, [layer for layer in self._layers if layer.needs_language])
        of_points = self._embedded([[point.text for point in made.points] for made in rows])
        graphs = [
            DocumentGraph(
                document=item.record,
                segments=item.segments,
                segment_embeddings=segments,
                points=made.points,
                point_embeddings=points,
                summarizes=made.summarizes,
                mentions=made.mentions,
                titles=made.titles,
                relations=made.relations,
            )
            for item, made, segments, points in zip(pending, rows, of_segments, of_points, strict=True)
        ]
        return rows, with_relation_vectors(graphs, self._store, self._models.embedder)

    def _add_layers(self, pending: Sequence[_Pending], rows: list[LayerRows], layers: Sequence[Layer]) -> None:
        """Build those of these layers that documents lack; what each makes is added to the document's rows."""
        for layer in layers:
            waiting = [place for place, item in enumerate(pending) if layer in item.missing]
            if not waiting:
                continue
            built = layer.build(
                [pending[place].split for place in waiting],
                namespace=self._store.namespace,
                models=self._models,
                progress=self._progress,
            )
            for place, made in zip(waiting, built, strict=True):
                rows[place] += made

    def _embedded(self, texts: Sequence[Sequence[str]]) -> list[Matrix]:
        return _embedded(texts, self._models.embedder)

    def _tell(self, what: str, done: int, total: int) -> None:
        if self._progress is not None and total:
            self._progress(what, done, total)


def with_relation_vectors(
    graphs: Sequence[DocumentGraph], reader: GraphReader, embedder: Embedder
) -> list[DocumentGraph]:
    """These graphs with the vectors of their relations' descriptions and of the normalised names of their ends.

    The name of an end that another layer stored earlier is read from the graph.
    """
    of_relations = _embedded([[relation.description for relation in graph.relations] for graph in graphs], embedder)
    names = {mention.entity_id: mention.normal for graph in graphs for mention in graph.mentions}
    unnamed = sorted({end for graph in graphs for end in graph.ends} - names.keys())
    names |= {entity.id: normalise(entity.name) for entity in (reader.entities(unnamed) if unnamed else ())}
    of_ends = _embedded([[names[end] for end in graph.ends] for graph in graphs], embedder)
    return [
        replace(graph, relation_embeddings=relations, end_embeddings=ends)
        for graph, relations, ends in zip(graphs, of_relations, of_ends, strict=True)
    ]


def _embedded(texts: Sequence[Sequence[str]], embedder: Embedder) -> list[Matrix]:
    """The vectors of each document's texts; all are embedded in one call."""
    vectors = units(embedder.embed(list(chain.from_iterable(texts))))
    ends = np.cumsum([len(of_one) for of_one in texts])
    return np.split(vectors, ends[:-1]) if len(ends) else []


def _until_error(requests: Iterable[Request], ending: list[Exception]) -> Iterator[Request]:
    """The requests up to the error with which they end, if they do; the error is then in ``ending``."""
    try:
        yield from requests
    except Exception as error:  # noqa: BLE001 - the user's own, whatever it is; it is raised when the rest is stored
        ending.append(error)


def _load(request: Request) -> Loaded | Failure:
    """The document of a request; a file of an open store is refused before it is read."""
    source = request.source
    if isinstance(source, Path) and (place := open_place(source)) is not None:
        error = DocumentError(
            f"Expected a file to add, got {source}, which belongs to the open store {place}. Name another file.",
            path=source,
        )
        return Failure(str(source), error)
    return load_request(request)


def _with_unread_times(outcome: Receipt | Failure, count: int) -> Receipt | Failure:
    """The receipt with a note of how many messages' times were not understood."""
    if not count or isinstance(outcome, Failure):
        return outcome
    return replace(outcome, notes={**outcome.notes, UNREAD_TIMES: count})


def _differ_in_metadata(document: Document, held: DocumentRecord) -> bool:
    """Whether they differ in metadata, and in none of those that segments are made with."""
    return (
        document.sha256 != held.sha256
        and timestamps.named_in(document.metadata) == timestamps.named_in(held.metadata)
        and document.metadata.get(ECHO) == held.metadata.get(ECHO)
        and hash_with(document, document.title, held.metadata) == held.sha256
    )


def _check_same_source(held: DocumentRecord, item: Loaded) -> None:
    """Two files of one name in two folders must not replace each other unnoticed."""
    if is_elsewhere(held, item.files):
        raise DocumentError(
            f"The key {item.key!r} is taken by another file: expected {held.source}, got {item.document.source}. "
            "Give this one a key of its own, add(path, key=…) or --key; or forget the other one first.",
            key=item.key,
        )


def _counted(item: _Pending, segments: tuple[Segment, ...]) -> _Pending:
    """The document with these segments, and how many of them are echoes."""
    record = replace(item.record, echoes=sum(segment.echo for segment in segments))
    return replace(item, record=record, segments=segments)
