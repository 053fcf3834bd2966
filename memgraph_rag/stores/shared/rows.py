"""Records of the library to rows of a database, and back.

It knows no engine: a row that comes is a mapping by column name; rows that go are columns, which each engine takes
in its own way. The invariant: what is decoded equals what was encoded, field by field; damaged JSON is a StoreError
that names its node.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Protocol, TypeVar

import numpy as np

from memgraph_rag.display import show
from memgraph_rag.errors import StoreError
from memgraph_rag.types import (
    Annotation,
    DocumentGraph,
    DocumentRecord,
    Entity,
    Hit,
    IndexedSegment,
    InformationPoint,
    Matrix,
    Mention,
    MetadataValue,
    Segment,
    Summarizes,
    make_id,
    text_hash,
)

__all__ = [
    "COUNTED",
    "OF_DOCUMENTS",
    "TITLE_KIND",
    "Columns",
    "Create",
    "Row",
    "Writings",
    "add_writings",
    "are_distinct",
    "as_dicts",
    "bound_parameters",
    "by_document",
    "caption",
    "counts",
    "counts_of_document",
    "decode_annotation",
    "decode_document",
    "decode_embeddings",
    "decode_entity",
    "decode_hits",
    "decode_indexed",
    "decode_mention",
    "decode_point",
    "decode_segment",
    "decode_summarizes",
    "decode_surfaces",
    "decode_writings",
    "description_columns",
    "document_columns",
    "edge_counts",
    "encode_scalars",
    "entity_columns",
    "link_columns",
    "mention_columns",
    "namespace_id",
    "next_columns",
    "point_columns",
    "segment_columns",
    "title_columns",
    "writings",
]

T = TypeVar("T")

Row = Mapping[str, Any]

Columns = dict[str, Sequence[Any] | Matrix]
"""Rows to be stored, by column; all of one length, the embeddings a matrix."""

Writings = dict[str, Counter[tuple[str, str]]]
"""How often entities are written how: by entity id, (surface, kind) to count."""

TITLE_KIND = "title"
"""The kind of an entity that a title names."""

OF_DOCUMENTS = (
    *("Document", "Segment", "InformationPoint", "ClusterSummary", "Entity", "Annotation", "Section"),
    *("HAS_SEGMENT", "NEXT", "SUMMARIZES", "MENTIONS", "TITLED", "RELATES_TO", "SIMILAR_TO", "ANNOTATES", "CONTAINS"),
)
"""The labels and relationship types of what documents contribute to the graph.

Information points of the layer ``clusters`` have the label InformationPoint, too, but are counted as ClusterSummary."""

COUNTED = (*OF_DOCUMENTS, "Question", "READ", "Overview", "RESTS_ON", "HAS_MEMBER")
"""The labels and relationship types of the graph."""

CAPTION_CHARACTERS = 40


class Create(Protocol):
    """Stores columns, all their rows at once, by the statement of that name."""

    def __call__(self, name: str, columns: Columns, /, **parameters: Any) -> None:
        """Store them; no columns' rows are none stored."""
        ...


def namespace_id(namespace: str) -> str:
    """The id of a namespace's own node; also the one word by which a full-text search stays within it."""
    return make_id(namespace, "namespace")


def bound_parameters(namespace: str) -> dict[str, str]:
    """What a store binds once for every statement that takes it."""
    return {"namespace": namespace, "namespace_id": namespace_id(namespace)}


def caption(text: str) -> str:
    """The text's first words, on one line."""
    line = " ".join(text[: 4 * CAPTION_CHARACTERS].split())
    return line if len(line) <= CAPTION_CHARACTERS else f"{line[: CAPTION_CHARACTERS - 1]}…"


def _owned(
    graphs: Sequence[DocumentGraph], rows_of: Callable[[DocumentGraph], Sequence[T]]
) -> tuple[list[str], list[T]]:
    """(ids of documents, rows) of these documents' rows: each row's owner beside it."""
    pairs = [(graph.document.id, row) for graph in graphs for row in rows_of(graph)]
    return [document_id for document_id, _ in pairs], [row for _, row in pairs]


def document_columns(graphs: Sequence[DocumentGraph]) -> Columns:
    """The documents' own nodes."""
    records = [graph.document for graph in graphs]
    return {
        "id": [record.id for record in records],
        "name": [record.title or record.key for record in records],
        "key": [record.key for record in records],
        "title": [record.title for record in records],
        "source": [record.source for record in records],
        "sha256": [record.sha256 for record in records],
        "added_at": [record.added_at for record in records],
        "characters": [record.characters for record in records],
        "segments": [record.segments for record in records],
        "layers": [list(record.layers) for record in records],
        "model": [record.model for record in records],
        "metadata": [encode_scalars(record.metadata) for record in records],
        "recognizer": [record.recognizer for record in records],
        "echoes": [record.echoes for record in records],
        "text_sha256": [text_hash("".join(segment.text for segment in graph.segments)) for graph in graphs],
    }


def description_columns(records: Sequence[DocumentRecord], before: Sequence[str]) -> Columns:
    """The metadata and hashes of documents, with the hash that each has before."""
    return {
        "id": [record.id for record in records],
        "before": list(before),
        "sha256": [record.sha256 for record in records],
        "metadata": [encode_scalars(record.metadata) for record in records],
    }


def built_columns(built: Mapping[str, tuple[Sequence[str], str, str]]) -> Columns:
    """The layers, the model and the recognizer of documents, by their ids."""
    return {
        "id": list(built),
        "layers": [list(layers) for layers, _, _ in built.values()],
        "model": [model for _, model, _ in built.values()],
        "recognizer": [recognizer for _, _, recognizer in built.values()],
    }


def encode_scalars(values: Mapping[str, MetadataValue]) -> str:
    """Metadata or properties as a JSON object."""
    return json.dumps(dict(values), ensure_ascii=False, sort_keys=True)


def are_distinct(keys: Iterable[Hashable]) -> bool:
    """Whether no key comes twice."""
    listed = list(keys)
    return len(set(listed)) == len(listed)


def segment_columns(graphs: Sequence[DocumentGraph]) -> Columns:
    """The segments of the documents, each with the title that its document has, or else its key."""
    titles = {graph.document.id: graph.document.title or graph.document.key for graph in graphs}
    owners, segments = _owned(graphs, lambda graph: graph.segments)
    return {
        "id": [segment.id for segment in segments],
        "document_id": owners,
        "name": [caption(segment.text) for segment in segments],
        "title": [titles[document_id] for document_id in owners],
        "index": [segment.index for segment in segments],
        "text": [segment.text for segment in segments],
        "start": [segment.start for segment in segments],
        "end": [segment.end for segment in segments],
        "tokens": [segment.tokens for segment in segments],
        "embedding": _joined([graph.segment_embeddings for graph in graphs if graph.segments]),
        "speaker": [segment.speaker for segment in segments],
        "time": [segment.time for segment in segments],
        "echo": [segment.echo for segment in segments],
    }


def point_columns(graphs: Sequence[DocumentGraph]) -> Columns:
    """The information points of the documents."""
    owners, points = _owned(graphs, lambda graph: graph.points)
    return {
        "id": [point.id for point in points],
        "document_id": owners,
        "name": [caption(point.text) for point in points],
        "layer": [point.layer for point in points],
        "level": [point.level for point in points],
        "index": [point.index for point in points],
        "text": [point.text for point in points],
        "tokens": [point.tokens for point in points],
        "embedding": _joined([graph.point_embeddings for graph in graphs if graph.points]),
    }


def next_columns(graphs: Sequence[DocumentGraph]) -> Columns:
    """The edges from each segment to the one that follows it in its document."""
    ordered = [sorted(graph.segments, key=lambda segment: segment.index) for graph in graphs]
    pairs = [pair for segments in ordered for pair in pairwise(segments)]
    return {"source_id": [source.id for source, _ in pairs], "target_id": [target.id for _, target in pairs]}


def link_columns(edges: Iterable[Summarizes]) -> Columns:
    """SUMMARIZES edges."""
    listed = list(edges)
    return {
        "source_id": [edge.source_id for edge in listed],
        "target_id": [edge.target_id for edge in listed],
        "weight": [float(edge.weight) for edge in listed],
    }


def mention_columns(graphs: Sequence[DocumentGraph]) -> Columns:
    """MENTIONS edges."""
    owners, mentions = _owned(graphs, lambda graph: graph.mentions)
    return {
        "document_id": owners,
        "segment_id": [mention.segment_id for mention in mentions],
        "entity_id": [mention.entity_id for mention in mentions],
        "surface": [mention.surface for mention in mentions],
        "kind": [mention.kind for mention in mentions],
        "start": [mention.start for mention in mentions],
        "end": [mention.end for mention in mentions],
    }


def decode_mention(row: Row) -> Mention:
    """A mention."""
    return Mention(**row)


def title_columns(graphs: Sequence[DocumentGraph]) -> Columns:
    """TITLED edges."""
    owners, titles = _owned(graphs, lambda graph: graph.titles)
    return {
        "document_id": owners,
        "entity_id": [title.entity_id for title in titles],
        "surface": [title.surface for title in titles],
    }


def writings(graphs: Iterable[DocumentGraph]) -> Writings:
    """How the documents write the entities that they name."""
    written: Writings = {}
    for graph in graphs:
        for mention in graph.mentions:
            written.setdefault(mention.entity_id, Counter())[mention.surface, mention.kind] += 1
        for title in graph.titles:
            written.setdefault(title.entity_id, Counter())[title.surface, TITLE_KIND] += 1
    return written


def decode_writings(rows: Iterable[Row]) -> Writings:
    """How entities are written, from rows of ``id``, ``surface``, ``kind`` and ``count``."""
    written: Writings = {}
    for row in rows:
        written.setdefault(row["id"], Counter())[row["surface"], row["kind"]] += row["count"]
    return written


def add_writings(written: Writings, further: Writings) -> None:
    """Count what is written in both."""
    for entity_id, writing in further.items():
        written.setdefault(entity_id, Counter()).update(writing)


def decode_surfaces(row: Row) -> Counter[tuple[str, str]]:
    """How an entity is written, from what its node says.

    Raises:
        StoreError: what it says cannot be read.
    """
    try:
        return Counter({(str(surface), str(kind)): int(count) for surface, kind, count in json.loads(row["surfaces"])})
    except (TypeError, ValueError) as exc:
        raise StoreError(
            f"Expected how entity {row['id']} is written, as lists of surface, kind and count, got "
            f"{show(row['surfaces'])}. The graph is damaged: run memgraph-rag doctor --repair.",
            entity_id=row["id"],
        ) from exc


def edge_counts(written: Iterable[Row], related: Iterable[Row]) -> dict[str, int]:
    """How many edges an entity has, from what its node says and from the count of its relations; none is not named."""
    counted: Counter[str] = Counter()
    for row in written:
        for (_, kind), count in decode_surfaces(row).items():
            counted["TITLED" if kind == TITLE_KIND else "MENTIONS"] += count
    for row in related:
        counted["RELATES_TO"] += row["count"]
    return {name: count for name, count in counted.items() if count}


def entity_columns(written: Writings, normals: Mapping[str, str]) -> Columns:
    """Entities: all that follows from how they are written.

    A name is the surface that is most frequent; of equally frequent ones the first by code point.
    """
    ids = sorted(written)
    return {
        "id": ids,
        "normal": [normals[entity_id] for entity_id in ids],
        "name": [_most_frequent(written[entity_id]) for entity_id in ids],
        "kinds": [sorted({kind for _, kind in written[entity_id]}) for entity_id in ids],
        "surfaces": [
            json.dumps([[*pair, count] for pair, count in sorted(written[entity_id].items())], ensure_ascii=False)
            for entity_id in ids
        ],
    }


def _most_frequent(writing: Counter[tuple[str, str]]) -> str:
    counted: Counter[str] = Counter()
    for (surface, _), count in writing.items():
        counted[surface] += count
    return min(counted, key=lambda surface: (-counted[surface], surface))


def _joined(matrices: Sequence[Matrix]) -> Matrix:
    return np.concatenate(matrices) if matrices else np.zeros((0, 0), np.float32)


def as_dicts(columns: Columns) -> list[dict[str, Any]]:
    """The same rows, one mapping each."""
    lists = [values.tolist() if isinstance(values, np.ndarray) else values for values in columns.values()]
    return [dict(zip(columns, row, strict=True)) for row in zip(*lists, strict=True)]


def decode_document(row: Row) -> DocumentRecord:
    """A document's record.

    Raises:
        StoreError: its metadata cannot be read.
    """
    try:
        metadata = dict(json.loads(row["metadata"]))
    except (TypeError, ValueError) as exc:
        raise StoreError(
            f"Expected the metadata of document {show(row['key'])} as a JSON object, got {show(row['metadata'])}. "
            "The graph is damaged: use a copy of it, or remove the document by open_store(…).forget("
            f"{show(row['id'])}) and add it again.",
            document_id=row["id"],
            key=row["key"],
        ) from exc
    return DocumentRecord(**{**row, "layers": tuple(row["layers"]), "metadata": metadata})


def decode_segment(row: Row) -> Segment:
    """A segment."""
    return Segment(**row)


def decode_point(row: Row) -> InformationPoint:
    """An information point."""
    return InformationPoint(**row)


def decode_summarizes(row: Row) -> Summarizes:
    """A SUMMARIZES edge."""
    return Summarizes(**row)


def by_document(rows: Iterable[dict[str, Any]], document_ids: Iterable[str]) -> dict[str, list[dict[str, Any]]]:
    """The rows of each of these documents, in order, without their column ``document_id``."""
    grouped: dict[str, list[dict[str, Any]]] = {document_id: [] for document_id in document_ids}
    for row in rows:
        grouped[row.pop("document_id")].append(row)
    return grouped


def decode_embeddings(rows: Iterable[Row]) -> Matrix:
    """The embeddings of those rows that have one, in order."""
    vectors = [row["embedding"] for row in rows if row["embedding"] is not None]
    return np.array(vectors, np.float32) if vectors else np.zeros((0, 0), np.float32)


def decode_entity(row: Row) -> Entity:
    """An entity."""
    return Entity(**{**row, "kinds": tuple(row["kinds"])})


def decode_indexed(row: Row) -> IndexedSegment:
    """A segment for an index in memory; its embedding becomes an array at once."""
    converted = {
        "embedding": np.asarray(row["embedding"], np.float32),
        "entities": tuple(sorted(row["entities"])),
        "titles": tuple(sorted(row["titles"])),
    }
    return IndexedSegment(**{**row, **converted})


def decode_annotation(row: Row, segment_ids: Sequence[str]) -> Annotation:
    """An annotation of these segments.

    Raises:
        StoreError: its properties cannot be read.
    """
    try:
        properties = dict(json.loads(row["properties"]))
    except (TypeError, ValueError) as exc:
        raise StoreError(
            f"Expected the properties of annotation {row['id']} as a JSON object, got {show(row['properties'])}. "
            f"The graph is damaged: forget document {row['document_id']}, then add it again.",
            annotation_id=row["id"],
        ) from exc
    return Annotation(**{**row, "properties": properties, "segment_ids": tuple(segment_ids)})


def decode_hits(rows: Iterable[Row]) -> list[Hit]:
    """Nodes with their scores, best first, ties by id."""
    hits = (Hit(row["id"], row["score"]) for row in rows)
    return sorted(hits, key=lambda hit: (-hit.score, hit.node_id))


def counts(rows: Iterable[Row]) -> dict[str, int]:
    """Counts by name; a count of 0 is left out, as no row came for it."""
    return {row["name"]: row["count"] for row in rows if row["count"]}


def counts_of_document(rows: Iterable[Row]) -> dict[str, int]:
    """Counts by name, of one document.

    Where a document is written while its parts are counted, Neo4j may count some of them only. Then it counts as
    not there yet.
    """
    document_counts = counts(rows)
    return document_counts if "Document" in document_counts else {}
