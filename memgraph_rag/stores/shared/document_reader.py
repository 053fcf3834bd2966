"""All that stored documents contribute to the graph, read back as it was written, some of them together.

It knows no engine: ``run`` is given, and has the namespace bound. The invariant: what it gives, written again, makes
the same graph; a document of which something is stored that it cannot give is refused, never given in part.
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
from memgraph_rag.stores.shared.graph_reads import Run, counts_of
from memgraph_rag.stores.shared.vector_norms import are_units
from memgraph_rag.types import DocumentGraph, DocumentRecord

__all__ = ["document_graphs", "row_counts", "stored_graphs"]

DOCUMENTS_TOGETHER = 64
"""That are read or written at once, by whatever reads or writes many."""

SEGMENTS_TOGETHER = 1024
"""Of documents that are read together; one with more is read alone. An embedding comes from Neo4j as a list of 12 KB,
and a segment may state ten relations that have one each."""

_TRIES = 5


def stored_graphs(store: GraphStore, document_ids: Iterable[str]) -> Iterator[DocumentGraph]:
    """The graphs of those of these documents that are there, in order, read in groups of bounded size.

    Raises:
        StoreError: as ``GraphStore.graphs_of`` does.
    """
    waiting = iter(document_ids)
    for listed in iter(lambda: list(islice(waiting, DOCUMENTS_TOGETHER)), []):
        for together in _groups(store, listed):
            yield from store.graphs_of(together)


def _groups(store: GraphStore, document_ids: Sequence[str]) -> Iterator[list[str]]:
    """The ids in order, in groups of documents that have few segments together."""
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


def document_graphs(run: Run, document_ids: Sequence[str]) -> list[DocumentGraph]:
    """The graphs of those of these documents that are there, in order; each statement runs once for all of them.

    One that is written while they are read is read again; the others are not.

    Raises:
        StoreError: one is written again and again while it is read, holds rows of a kind that is not known here, or
            an embedding of it is missing.
    """
    graphs: dict[str, DocumentGraph] = {}
    waiting = list(dict.fromkeys(document_ids))
    for _ in range(_TRIES):
        read, waiting = _read_once(run, waiting)
        graphs |= read
        if not waiting:
            return [graphs[document_id] for document_id in document_ids if document_id in graphs]
    raise StoreError(
        f"Expected document {waiting[0]} to stay as it is while it is read, got {_TRIES} writes meanwhile. "
        "Try again when that is done.",
        document_id=waiting[0],
    )


def _read_once(run: Run, document_ids: Sequence[str]) -> tuple[dict[str, DocumentGraph], list[str]]:
    """The graphs of the documents that are there, by id, and the ids of those that were written meanwhile, or went."""
    version = next((row["version"] for row in run("read/find_namespace_version")), 0)
    records = [rows.decode_document(row) for row in run("read/find_documents", document_ids=document_ids)]
    if not records:
        return {}, []
    stored_ids = [record.id for record in records]
    graphs, stored_counts = _read(run, records), counts_of(run, stored_ids)
    unchanged_rows = run("read/find_unchanged_documents", document_ids=stored_ids, as_of=version)
    unchanged = {row["id"] for row in unchanged_rows}
    return {
        document_id: _checked(graph, stored_counts[document_id])
        for document_id, graph in graphs.items()
        if document_id in unchanged
    }, [document_id for document_id in stored_ids if document_id not in unchanged]


def _checked(graph: DocumentGraph, stored_counts: Mapping[str, int]) -> DocumentGraph:
    """The graph, if it is all that the store counts, and everything in it has an embedding."""
    if row_counts(graph) != stored_counts:
        raise StoreError(
            f"Expected all of document {show(graph.document.key)}, {dict(stored_counts)}, got {row_counts(graph)}. "
            'This version of memgraph_rag cannot read all of it, or the graph is damaged: ask "memgraph-rag doctor".',
            document_id=graph.document.id,
        )
    embedded = [Embedded("segments", graph.segments, graph.segment_embeddings)]
    embedded += [item for kind in KINDS for item in kind.embedded(graph)]
    for item in embedded:
        if len(item.embeddings) != len(item.rows) or not are_units(item.embeddings):
            raise StoreError(
                f"Expected an embedding of length 1 of each of the {len(item.rows)} {item.what} of document "
                f"{show(graph.document.key)}, got {len(item.embeddings)}, of which some may have another length. The "
                "graph is damaged: memgraph-rag doctor --repair.",
                document_id=graph.document.id,
            )
    return graph


def _read(run: Run, records: Sequence[DocumentRecord]) -> dict[str, DocumentGraph]:
    """What is stored of these documents, by id."""
    document_ids = [record.id for record in records]
    segments = rows.by_document(run("read/list_segments", document_ids=document_ids), document_ids)
    embeddings = rows.by_document(run("read/list_segment_embeddings", document_ids=document_ids), document_ids)
    fields: dict[str, dict[str, Any]] = {
        document_id: {
            "segments": tuple(
                rows.decode_segment({**row, "document_id": document_id}) for row in segments[document_id]
            ),
            "segment_embeddings": rows.decode_embeddings(embeddings[document_id]),
        }
        for document_id in document_ids
    }
    for kind in KINDS:
        for document_id, of_kind in kind.read(run, document_ids).items():
            fields[document_id] |= of_kind
    return {record.id: DocumentGraph(document=record, **fields[record.id]) for record in records}


def row_counts(graph: DocumentGraph) -> dict[str, int]:
    """How many rows of each kind there are, as the store counts them."""
    numbers = {
        "Document": 1,
        "Segment": len(graph.segments),
        "HAS_SEGMENT": len(graph.segments),
        "NEXT": max(len(graph.segments) - 1, 0),
    }
    for kind in KINDS:
        numbers |= kind.counts(graph)
    return {name: number for name, number in numbers.items() if number}
