"""Reads of the graph by named statements, for stores and for work within a transaction.

The module knows no engine: the caller gives ``run``, which has the namespace bound. Invariant: equal calls on equal
graphs return equal lists, on every engine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

import numpy as np

from memgraph_rag.errors import StoreError
from memgraph_rag.stores.shared import overview_rows, rows
from memgraph_rag.types import (
    Annotation,
    Hit,
    InformationPoint,
    Mention,
    Node,
    Relation,
    Section,
    Segment,
    Title,
    Vector,
)

T = TypeVar("T")

NO_LIMIT = 2**31 - 1


class Run(Protocol):
    """A function that runs a Cypher statement by its name, such as "read/list_documents", in one namespace."""

    def __call__(self, name: str, /, **parameters: Any) -> list[dict[str, Any]]:
        """Run the statement with these parameters; return its rows in order, each a mapping by column name."""
        ...


def vector_parameter(vector: Vector) -> list[float]:
    """Return the vector of a search as a list of numbers, which a database takes as a parameter.

    Raises:
        StoreError: the vector is zero or not finite. Neo4j would refuse a zero vector, Ladybug would return 0.
    """
    if not np.isfinite(vector).all() or not vector.any():
        raise StoreError(
            f"Expected a vector of finite numbers, not all 0, got one of shape {vector.shape} with norm "
            f"{float(np.linalg.norm(vector))}. Embed a text that is not empty."
        )
    return vector.tolist()


def bind_scope(documents: Sequence[str] | None) -> dict[str, Any]:
    """Return the parameters that restrict a statement to documents with these ids; None allows all documents."""
    return {"everywhere": documents is None, "document_ids": list(documents or ())}


def is_empty_scope(documents: Sequence[str] | None) -> bool:
    """Return whether the list of allowed documents is empty. None is no list: it allows all documents."""
    return documents is not None and not documents


def score_nodes(
    run: Run,
    vector: Vector,
    *,
    documents: Sequence[str],
    k: int = NO_LIMIT,
    statement: str = "read/score_segments",
    **further: str,
) -> list[Hit]:
    """Return the k segments of these documents whose embeddings are most similar to a vector, by cosine, best first.

    Ties are in the order of ids. Echoes and nodes without an embedding are left out. Each hit has the kind "segment".

    Args:
        documents: the ids of the documents; an empty sequence gives an empty list.
        statement: the statement that scores; another one may score other nodes than segments.
        further: further parameters of the statement.
    """
    if not documents:
        return []
    return rows.decode_hits(
        run(statement, vector=vector_parameter(vector), document_ids=list(documents), k=k, **further)
    )


def read_nodes(run: Run, node_ids: Sequence[str]) -> list[Node]:
    """Return the segments, points and overviews with these ids, in the order of ``node_ids``.

    Unknown ids are left out. An id that is given twice returns its node twice.
    """
    wanted = list(dict.fromkeys(node_ids))
    segments = run("read/find_segments", node_ids=wanted) if wanted else []
    nodes_by_id: dict[str, Node] = {row["id"]: Segment(**row) for row in segments}
    missing = [node_id for node_id in wanted if node_id not in nodes_by_id]
    points = run("read/find_points", node_ids=missing) if missing else []
    nodes_by_id |= {row["id"]: InformationPoint(**row) for row in points}
    missing = [node_id for node_id in missing if node_id not in nodes_by_id]
    overviews = run("read/find_overviews", node_ids=missing) if missing else []
    nodes_by_id |= {row["id"]: overview_rows.decode_overview(row) for row in overviews}
    return [nodes_by_id[node_id] for node_id in node_ids if node_id in nodes_by_id]


def read_mentions(run: Run, document_ids: Sequence[str]) -> dict[str, list[Mention]]:
    """Return all mentions of each of these documents, in the order of the text; an empty list for an unknown id."""
    mentions = _read_by_document(run, "read/list_mentions", document_ids, Mention)
    for listed in mentions.values():
        listed.sort(key=lambda mention: (mention.start, mention.end, mention.entity_id, mention.kind))
    return mentions


def read_titles(run: Run, document_ids: Sequence[str]) -> dict[str, list[Title]]:
    """Return the entities that the title of each of these documents names, by document id, sorted by entity id."""
    return _read_by_document(run, "read/list_titles", document_ids, Title)


def read_relations(run: Run, document_ids: Sequence[str]) -> dict[str, list[Relation]]:
    """Return all relations that each of these documents states, by document id; an empty list for an unknown id."""
    return _read_by_document(run, "read/list_relations", document_ids, Relation)


def read_annotations(run: Run, document_ids: Sequence[str]) -> dict[str, list[Annotation]]:
    """Return all annotations of each document, by document id, in the order of layer and index.

    An unknown id has an empty list. The segments of an annotation are in the order of the text.
    """
    annotations: dict[str, list[Annotation]] = {document_id: [] for document_id in document_ids}
    annotation_rows = run("read/list_annotations", document_ids=list(annotations))
    segment_ids: dict[str, list[str]] = {}
    for row in run("read/list_annotated", document_ids=list(annotations)) if annotation_rows else ():
        segment_ids.setdefault(row["annotation_id"], []).append(row["segment_id"])
    for row in annotation_rows:
        annotations[row["document_id"]].append(rows.decode_annotation(row, segment_ids.get(row["id"], ())))
    return annotations


def read_sections(run: Run, document_ids: Sequence[str]) -> dict[str, list[Section]]:
    """Return the sections (the outline) of each document, by document id, in order; an empty list without sections."""
    sections: dict[str, list[Section]] = {document_id: [] for document_id in document_ids}
    for row in run("read/list_sections", document_ids=list(sections)):
        sections[row["document_id"]].append(Section(**row))
    return sections


def _read_by_document(run: Run, name: str, document_ids: Sequence[str], record: Callable[..., T]) -> dict[str, list[T]]:
    """Return the records that a statement lists for each of these documents; it runs once for all of them."""
    wanted = list(dict.fromkeys(document_ids))
    stored = rows.group_by_document(run(name, document_ids=wanted), wanted)
    return {document_id: [record(**row) for row in of_document] for document_id, of_document in stored.items()}


def read_layer_annotations(run: Run, layer: str, since: int) -> list[Annotation]:
    """Return the annotations of segments that a layer made, in the order of document id and index.

    Only documents that were written after the namespace's version ``since`` count; -1 allows all. Annotations of a
    whole document are left out.
    """
    annotation_rows: dict[str, dict[str, Any]] = {}
    targets: dict[str, list[tuple[int, str]]] = {}
    for row in run("read/list_layer_annotations", layer=layer, since=since):
        targets.setdefault(row["id"], []).append((row.pop("place"), row.pop("segment_id")))
        annotation_rows[row["id"]] = row
    annotations = [
        rows.decode_annotation(row, [segment_id for _, segment_id in sorted(targets[key])])
        for key, row in annotation_rows.items()
    ]
    return sorted(annotations, key=lambda item: (item.document_id, item.index))


def count_rows(run: Run, document_ids: Sequence[str]) -> dict[str, dict[str, int]]:
    """Return the number of nodes and edges of each of these documents, by label and type; 0 is left out.

    An unknown id has an empty mapping. Entities are not counted.
    """
    wanted = list(dict.fromkeys(document_ids))
    by_document = rows.group_by_document(run("read/count_by_document", document_ids=wanted) if wanted else [], wanted)
    return {document_id: rows.counts_of_document(counted) for document_id, counted in by_document.items()}
