"""Converts the records of this library to rows of a database and back.

The module knows no engine. A row that is read is a mapping by column name; rows to store are columns, which each engine
takes in its own form. Invariant: a decoded record equals the encoded one, field by field. Damaged JSON raises a
StoreError that names the node.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
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
    Matrix,
    MetadataValue,
    Naming,
    Summarizes,
    make_id,
    shorten_line,
    text_hash,
)

T = TypeVar("T")

Row = Mapping[str, Any]

Columns = dict[str, Sequence[Any] | Matrix]
"""Rows to store, by column. All columns have the same length; embeddings are a matrix."""

Writings = dict[str, Counter[tuple[str, str]]]
"""The written forms of entities: by entity id, the count of each (surface, kind)."""

TITLE_KIND = "title"
"""The kind of an entity that a title names."""

OF_DOCUMENTS = (
    *("Document", "Segment", "InformationPoint", "ClusterSummary", "Entity", "Annotation", "Section"),
    *("HAS_SEGMENT", "NEXT", "SUMMARIZES", "MENTIONS", "TITLED", "RELATES_TO", "SIMILAR_TO", "ANNOTATES", "CONTAINS"),
)
"""The labels and relationship types of the nodes and edges that documents contribute to the graph.

Points of the layer ``clusters`` have the label InformationPoint too, but are counted as ClusterSummary.
"""

COUNTED = (*OF_DOCUMENTS, "Question", "READ", "Overview", "RESTS_ON", "HAS_MEMBER")
"""All labels and relationship types that ``statistics`` counts."""

CAPTION_CHARACTERS = 40


class Create(Protocol):
    """A function that stores many rows at once by a named statement, such as "write/create_segments"."""

    def __call__(self, name: str, columns: Columns, /, **parameters: Any) -> None:
        """Store the rows; empty columns store nothing."""
        ...


def namespace_id(namespace: str) -> str:
    """Return the id of a namespace's own node. It is also the one word that restricts full-text searches to it."""
    return make_id(namespace, "namespace")


def caption(text: str) -> str:
    """Return the beginning of a text on one line, at most ``CAPTION_CHARACTERS`` long; a cut one ends with "…"."""
    return shorten_line(text, CAPTION_CHARACTERS)


def field_columns(records: Sequence[object], *names: str) -> Columns:
    """Return columns with these names: for each, the values of the attribute of that name of all records."""
    return {name: [getattr(record, name) for record in records] for name in names}


def _pair_with_documents(
    graphs: Sequence[DocumentGraph], rows_of: Callable[[DocumentGraph], Sequence[T]]
) -> tuple[list[DocumentRecord], list[T]]:
    """Return the documents and the rows of these graphs, as two lists in the same order."""
    pairs = [(graph.document, row) for graph in graphs for row in rows_of(graph)]
    return [document for document, _ in pairs], [row for _, row in pairs]


def document_columns(graphs: Sequence[DocumentGraph]) -> Columns:
    """Return the records of documents as columns of nodes to store, one row for each graph, without the text."""
    records = [graph.document for graph in graphs]
    return field_columns(
        records,
        *("id", "key", "title", "source", "sha256", "added_at", "characters", "segments", "model", "recognizer"),
        *("echoes", "language"),
    ) | {
        "name": [record.title or record.key for record in records],
        "layers": [list(record.layers) for record in records],
        "metadata": [encode_scalars(record.metadata) for record in records],
        "text_sha256": [text_hash("".join(segment.text for segment in graph.segments)) for graph in graphs],
    }


def description_columns(records: Sequence[DocumentRecord], before: Sequence[str]) -> Columns:
    """Return new metadata and hashes of documents as columns to store.

    Args:
        before: for each record, the hash that the stored document must have to be changed.
    """
    metadata = [encode_scalars(record.metadata) for record in records]
    return field_columns(records, "id", "sha256") | {"before": list(before), "metadata": metadata}


def make_built_columns(built: Mapping[str, tuple[Sequence[str], str, str]]) -> Columns:
    """Return columns to store in documents, from the (layers, model, recognizer) of each, by document id."""
    return {
        "id": list(built),
        "layers": [list(layers) for layers, _, _ in built.values()],
        "model": [model for _, model, _ in built.values()],
        "recognizer": [recognizer for _, _, recognizer in built.values()],
    }


def encode_scalars(values: Mapping[str, MetadataValue]) -> str:
    """Return metadata or properties as the text of a JSON object, with sorted keys."""
    return json.dumps(dict(values), ensure_ascii=False, sort_keys=True)


def are_distinct(keys: Iterable[Hashable]) -> bool:
    """Return whether no key occurs twice."""
    listed = list(keys)
    return len(set(listed)) == len(listed)


def segment_columns(graphs: Sequence[DocumentGraph], *, after: str = "") -> Columns:
    """Return the segments of documents as columns to store, with their embeddings and their document's title or key.

    Args:
        after: the id of the stored segment before the first segment of each document; empty if there is none.
    """
    previous_ids = {
        segment.id: before
        for ordered in (sorted(graph.segments, key=lambda segment: segment.index) for graph in graphs)
        for before, segment in zip([after, *(segment.id for segment in ordered)], ordered, strict=False)
    }
    documents, segments = _pair_with_documents(graphs, lambda graph: graph.segments)
    return field_columns(segments, "id", "index", "text", "start", "end", "tokens", "speaker", "time", "echo") | {
        "document_id": [document.id for document in documents],
        "name": [caption(segment.text) for segment in segments],
        "title": [document.title or document.key for document in documents],
        "embedding": _concatenate([graph.segment_embeddings for graph in graphs if graph.segments]),
        "language": [document.language for document in documents],
        "previous_id": [previous_ids[segment.id] for segment in segments],
    }


def point_columns(graphs: Sequence[DocumentGraph]) -> Columns:
    """Return the information points of documents, with their embeddings, as columns of nodes to store."""
    documents, points = _pair_with_documents(graphs, lambda graph: graph.points)
    return field_columns(points, "id", "layer", "level", "index", "text", "tokens") | {
        "document_id": [document.id for document in documents],
        "name": [caption(point.text) for point in points],
        "embedding": _concatenate([graph.point_embeddings for graph in graphs if graph.points]),
    }


def edge_columns(pairs: Iterable[tuple[str, str]]) -> Columns:
    """Return edges, given as (source id, target id), as the columns ``source_id`` and ``target_id``."""
    listed = list(pairs)
    return {"source_id": [source for source, _ in listed], "target_id": [target for _, target in listed]}


def link_columns(edges: Iterable[Summarizes]) -> Columns:
    """Return SUMMARIZES edges as the columns ``source_id``, ``target_id`` and ``weight``."""
    listed = list(edges)
    return field_columns(listed, "source_id", "target_id") | {"weight": [float(edge.weight) for edge in listed]}


def name_columns(graphs: Sequence[DocumentGraph]) -> Columns:
    """Return the edges to entities that documents name in texts (MENTIONS) or titles (TITLED), as columns to store.

    A title has the kind ``TITLE_KIND``, and 0 as start and end.
    """
    of_mentions, mentions = _pair_with_documents(graphs, lambda graph: graph.mentions)
    of_titles, titles = _pair_with_documents(graphs, lambda graph: graph.titles)
    named = [*mentions, *titles]
    return field_columns(named, "entity_id", "surface") | {
        "source_id": [*(mention.segment_id for mention in mentions), *(document.id for document in of_titles)],
        "document_id": [document.id for document in (*of_mentions, *of_titles)],
        "kind": [*(mention.kind for mention in mentions), *(TITLE_KIND for _ in titles)],
        "start": [*(mention.start for mention in mentions), *(0 for _ in titles)],
        "end": [*(mention.end for mention in mentions), *(0 for _ in titles)],
    }


def writings(graphs: Iterable[DocumentGraph]) -> Writings:
    """Count the written forms of the entities that documents name: by entity id, the count of each (surface, kind)."""
    written: Writings = {}
    for graph in graphs:
        for mention in graph.mentions:
            written.setdefault(mention.entity_id, Counter())[mention.surface, mention.kind] += 1
        for title in graph.titles:
            written.setdefault(title.entity_id, Counter())[title.surface, TITLE_KIND] += 1
    return written


def decode_writings(rows: Iterable[Row]) -> Writings:
    """Return the counts of entities' written forms in rows of ``id``, ``surface``, ``kind`` and ``count``."""
    written: Writings = {}
    for row in rows:
        written.setdefault(row["id"], Counter())[row["surface"], row["kind"]] += row["count"]
    return written


def add_writings(written: Writings, further: Writings) -> None:
    """Add the counts of ``further`` to the counts in ``written``, in place; a new entity is added."""
    for entity_id, writing in further.items():
        written.setdefault(entity_id, Counter()).update(writing)


def decode_surfaces(row: Row) -> Counter[tuple[str, str]]:
    """Return the counts of the written forms of an entity, by (written form, kind), from the entity's node.

    Raises:
        StoreError: the record in the node is damaged.
    """
    try:
        return Counter({(str(surface), str(kind)): int(count) for surface, kind, count in json.loads(row["surfaces"])})
    except (TypeError, ValueError) as exc:
        raise StoreError(
            f"Expected the surfaces of entity {row['id']} as lists of surface, kind and count, got "
            f"{show(row['surfaces'])}. The graph is damaged: run memgraph-rag doctor --repair.",
            entity_id=row["id"],
        ) from exc


def edge_counts(written: Iterable[Row], related: Iterable[Row]) -> dict[str, int]:
    """Return the number of edges of an entity by type, from its node and the count of its relations; 0 is left out."""
    counted: Counter[str] = Counter()
    for row in written:
        for (_, kind), count in decode_surfaces(row).items():
            counted["TITLED" if kind == TITLE_KIND else "MENTIONS"] += count
    for row in related:
        counted["RELATES_TO"] += row["count"]
    return {name: count for name, count in counted.items() if count}


def entity_columns(written: Writings, normals: Mapping[str, str]) -> Columns:
    """Return entities as columns of nodes to store, by id; their names and kinds follow from their written forms.

    The name is the most frequent surface; of equally frequent ones, the first by code point.

    Args:
        written: the counts of the written forms of each entity.
        normals: the normalised name of each entity, by id.
    """
    ids = sorted(written)
    return {
        "id": ids,
        "normal": [normals[entity_id] for entity_id in ids],
        "name": [_find_most_frequent(written[entity_id]) for entity_id in ids],
        "kinds": [sorted({kind for _, kind in written[entity_id]}) for entity_id in ids],
        "surfaces": [
            json.dumps([[*pair, count] for pair, count in sorted(written[entity_id].items())], ensure_ascii=False)
            for entity_id in ids
        ],
    }


def _find_most_frequent(writing: Counter[tuple[str, str]]) -> str:
    counted: Counter[str] = Counter()
    for (surface, _), count in writing.items():
        counted[surface] += count
    return min(counted, key=lambda surface: (-counted[surface], surface))


def _concatenate(matrices: Sequence[Matrix]) -> Matrix:
    return np.concatenate(matrices) if matrices else np.zeros((0, 0), np.float32)


def as_dicts(columns: Columns) -> list[dict[str, Any]]:
    """Convert columns to rows: return one mapping by column name per row. An embedding becomes a list of numbers."""
    lists = [values.tolist() if isinstance(values, np.ndarray) else values for values in columns.values()]
    return [dict(zip(columns, row, strict=True)) for row in zip(*lists, strict=True)]


def decode_document(row: Row) -> DocumentRecord:
    """Return the document's record that a row of the database holds.

    Raises:
        StoreError: its metadata are damaged.
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


def group_by_document(rows: Iterable[dict[str, Any]], document_ids: Iterable[str]) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of each of these documents, in order, without their column ``document_id``.

    A document without rows has an empty list. The given rows lose the column too. A row of another document raises
    ``KeyError``.
    """
    grouped: dict[str, list[dict[str, Any]]] = {document_id: [] for document_id in document_ids}
    for row in rows:
        grouped[row.pop("document_id")].append(row)
    return grouped


def decode_embeddings(rows: Iterable[Row]) -> Matrix:
    """Return the embeddings of the rows that have one, in order, as a matrix; (0, 0) if no row has one.

    A row without an embedding is skipped, so that the matrix may have fewer rows.
    """
    vectors = [row["embedding"] for row in rows if row["embedding"] is not None]
    return np.array(vectors, np.float32) if vectors else np.zeros((0, 0), np.float32)


def decode_entity(row: Row) -> Entity:
    """Return the entity of a row of ``id``, ``normal``, ``name`` and ``kinds``."""
    return Entity(**{**row, "kinds": tuple(row["kinds"])})


def decode_indexed(row: Row) -> IndexedSegment:
    """Return the segment that a row holds, in the form in which a search keeps it in memory."""
    converted = {
        "embedding": np.asarray(row["embedding"], np.float32),
        "entities": tuple(sorted(row["entities"])),
        "titles": tuple(sorted(row["titles"])),
    }
    return IndexedSegment(**{**row, **converted})


def decode_annotation(row: Row, segment_ids: Sequence[str]) -> Annotation:
    """Return the annotation that a row of the database holds, with the ids of its segments.

    Raises:
        StoreError: its properties are damaged.
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
    """Return the search hits in rows of ``id`` and ``score``, best first, ties by id."""
    hits = (Hit(row["id"], row["score"]) for row in rows)
    return sorted(hits, key=lambda hit: (-hit.score, hit.node_id))


def sum_namings(counted: Iterable[tuple[str, str, str, int]]) -> list[Naming]:
    """Return how often each document names each entity, as namings.

    Args:
        counted: (document id, entity id, name, number); the numbers of rows with the same ids and name are added.
    """
    numbers: dict[tuple[str, str, str], int] = {}
    for *ends, number in counted:
        key = (ends[0], ends[1], ends[2])
        numbers[key] = numbers.get(key, 0) + number
    return [Naming(*key, number) for key, number in numbers.items()]


def counts(rows: Iterable[Row]) -> dict[str, int]:
    """Return the counts in rows of ``name`` and ``count``, by name; a count of 0 is left out."""
    return {row["name"]: row["count"] for row in rows if row["count"]}


def counts_of_document(rows: Iterable[Row]) -> dict[str, int]:
    """Return the counts in rows of one document, by name of node or edge; empty if its own node is not counted.

    Neo4j may count only some parts of a document that is written during the counting. Such a document counts as absent.
    """
    document_counts = counts(rows)
    return document_counts if "Document" in document_counts else {}
