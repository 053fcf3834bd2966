"""Reads stored documents back as the graphs that were written, in groups.

The module knows no engine: the caller gives a store, or ``run``, which executes a named statement in one namespace.
Invariant: a returned graph, written again, makes the same graph. A document with rows that cannot be returned raises an
error; it is never returned in part.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from memgraph_rag.contracts import GraphStore
from memgraph_rag.display import show
from memgraph_rag.errors import StoreError
from memgraph_rag.stores.layer_rows import KINDS
from memgraph_rag.stores.layer_rows.kind import Embedded
from memgraph_rag.stores.shared import rows
from memgraph_rag.stores.shared.graph_reads import Run, count_rows
from memgraph_rag.stores.shared.vector_norms import are_units
from memgraph_rag.types import DocumentGraph, DocumentRecord, Segment

DOCUMENTS_TOGETHER = 64
"""The most documents that are written in one group."""

SEGMENTS_TOGETHER = 1024
"""The most documents and segments read together. Neo4j returns an embedding as 12 KB, and a segment may have many."""

_TRIES = 5


def iterate_graphs(store: GraphStore, document_ids: Iterable[str]) -> Iterator[DocumentGraph]:
    """Yield the graphs of these documents, in order, read in groups of bounded size; unknown ids are left out.

    Raises:
        StoreError: as ``GraphStore.read_graphs`` does.
    """
    waiting = iter(document_ids)
    for listed in iter(lambda: list(islice(waiting, SEGMENTS_TOGETHER)), []):
        for together in _groups(store, listed):
            yield from store.read_graphs(together)


def _groups(store: GraphStore, document_ids: Sequence[str]) -> Iterator[list[str]]:
    """Yield the ids in order, in groups whose documents have at most ``SEGMENTS_TOGETHER`` segments together."""
    numbers = {record.id: record.segments for record in store.documents(document_ids)}
    group: list[str] = []
    segments = 0
    for document_id in document_ids:
        number = numbers.get(document_id, 0)
        if group and segments + number > SEGMENTS_TOGETHER:
            yield group
            group, segments = [], 0
        group.append(document_id)
        segments += number
    yield group


def read_graphs(run: Run, document_ids: Sequence[str]) -> list[DocumentGraph]:
    """Return the graphs of these documents, in order, with one run of each statement; unknown ids are left out.

    A document that is written during the reading is read again; the others are not.

    Raises:
        StoreError: a document is written during each attempt, holds rows of an unknown kind, or lacks an embedding.
    """
    graphs: dict[str, DocumentGraph] = {}
    waiting = list(dict.fromkeys(document_ids))
    for _ in range(_TRIES):
        read, waiting = _read_once(run, waiting)
        graphs |= read
        if not waiting:
            return [graphs[document_id] for document_id in document_ids if document_id in graphs]
    raise StoreError(
        f"Expected document {waiting[0]} to stay unchanged while it is read, got {_TRIES} writes during the reading. "
        "Try again when the writes are done.",
        document_id=waiting[0],
    )


def _read_once(run: Run, document_ids: Sequence[str]) -> tuple[dict[str, DocumentGraph], list[str]]:
    """Return the graphs of the existing documents by id, and the ids of documents that were written meanwhile."""
    version = next((row["version"] for row in run("read/find_namespace_version")), 0)
    records = [rows.decode_document(row) for row in run("read/find_documents", document_ids=document_ids)]
    if not records:
        return {}, []
    stored_ids = [record.id for record in records]
    graphs, stored_counts = _read_graphs(run, records), count_rows(run, stored_ids)
    unchanged_rows = run("read/find_unchanged_documents", document_ids=stored_ids, as_of=version)
    unchanged = {row["id"] for row in unchanged_rows}
    return {
        document_id: _require_whole(graph, stored_counts[document_id])
        for document_id, graph in graphs.items()
        if document_id in unchanged
    }, [document_id for document_id in stored_ids if document_id not in unchanged]


def _require_whole(graph: DocumentGraph, stored_counts: Mapping[str, int]) -> DocumentGraph:
    """Return the graph, if its rows match the counts of the store and each row has a valid embedding.

    The document tells the number of its segments: segments without an edge from it are neither counted nor read.
    """
    if count_graph_rows(graph) != stored_counts or len(graph.segments) != graph.document.segments:
        raise StoreError(
            f"Expected {dict(stored_counts)} rows and {graph.document.segments} segments of document "
            f"{show(graph.document.key)}, got "
            f"{count_graph_rows(graph)}. This version of memgraph_rag cannot read all of them, or the graph is "
            'damaged: run "memgraph-rag doctor".',
            document_id=graph.document.id,
        )
    embedded = [Embedded("segments", graph.segments, graph.segment_embeddings)]
    embedded += [item for kind in KINDS for item in kind.list_embedded(graph)]
    for item in embedded:
        if len(item.embeddings) != len(item.rows) or not are_units(item.embeddings):
            raise StoreError(
                f"Expected an embedding of length 1 for each of the {len(item.rows)} {item.what} of document "
                f"{show(graph.document.key)}, got {len(item.embeddings)} embeddings, and some may have another length. "
                "The graph is damaged: run memgraph-rag doctor --repair.",
                document_id=graph.document.id,
            )
    return graph


def _read_graphs(run: Run, records: Sequence[DocumentRecord]) -> dict[str, DocumentGraph]:
    """Return the stored rows of these documents as graphs, by document id."""
    document_ids = [record.id for record in records]
    segments = rows.group_by_document(run("read/list_segments", document_ids=document_ids), document_ids)
    embeddings = rows.group_by_document(run("read/list_segment_embeddings", document_ids=document_ids), document_ids)
    fields: dict[str, dict[str, Any]] = {
        document_id: {
            "segments": tuple(Segment(**row, document_id=document_id) for row in segments[document_id]),
            "segment_embeddings": rows.decode_embeddings(embeddings[document_id]),
        }
        for document_id in document_ids
    }
    for kind in KINDS:
        for document_id, of_kind in kind.read(run, document_ids).items():
            fields[document_id] |= of_kind
    return {record.id: DocumentGraph(document=record, **fields[record.id]) for record in records}


def count_graph_rows(graph: DocumentGraph) -> dict[str, int]:
    """Return the number of nodes and edges that a document's graph stores, by label and type; 0 is left out.

    Entities and SIMILAR_TO edges are not counted.
    """
    numbers = {
        "Document": 1,
        "Segment": len(graph.segments),
        "HAS_SEGMENT": len(graph.segments),
        "NEXT": max(len(graph.segments) - 1, 0),
    }
    for kind in KINDS:
        numbers |= kind.counts(graph)
    return {name: number for name, number in numbers.items() if number}
