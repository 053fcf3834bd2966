"""The writes that both engines do alike, over two functions: run a named statement, store columns by one.

It knows no engine and begins no transaction: its caller does, and commits when these return. The invariant: after
a write the graph holds exactly what was given under each document's id; after a removal, nothing; and an entity
says of itself what its mentions and titles say, and is there as long as one of them.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

import numpy as np

from memgraph_rag.errors import DocumentError, DocumentNotFound, StoreError
from memgraph_rag.stores import rows
from memgraph_rag.stores.reading import Run, StoredGraph, counts, counts_of
from memgraph_rag.stores.whole import document_graph
from memgraph_rag.types import Action, DocumentGraph, Receipt, entity_id

__all__ = ["Create", "WrittenGraph", "check", "extend", "remove", "replace", "size"]

T = TypeVar("T")


class Create(Protocol):
    """Stores columns, all their rows at once, by the statement of that name."""

    def __call__(self, name: str, columns: rows.Columns, /, **parameters: Any) -> None:
        """Store them; no columns' rows are none stored."""
        ...


class WrittenGraph(StoredGraph):
    """The writes that a store of one namespace does alike; the engine is in ``_transaction``."""

    def __init__(self, namespace: str) -> None:
        super().__init__(namespace)
        self._dimension = 0

    @abstractmethod
    def _transaction(self, operation: str, work: Callable[[Run, Create], T], *, row_bytes: int = 0) -> T:
        """What ``work`` returns, after all that it ran is committed; nothing of it where it raises."""

    def write(self, graph: DocumentGraph) -> Receipt:
        """Store a document, in place of what was stored under its id, in one transaction."""
        return self.write_many([graph])[0]

    def write_many(self, graphs: Sequence[DocumentGraph]) -> list[Receipt]:
        """Store documents, each in place of what was stored under its id, all in one transaction."""
        for graph in graphs:
            check(graph, self._dimension, namespace=self._namespace)
        _check_distinct(graphs)
        if not graphs:
            return []
        actions = self._transaction(
            "write", lambda run, create: replace(run, create, graphs), row_bytes=sum(map(size, graphs))
        )
        documents = [graph.document for graph in graphs]
        held = counts_of(self._run, [document.id for document in documents])
        return [
            Receipt(document.id, document.key, action, held.get(document.id, {}))
            for document, action in zip(documents, actions, strict=True)
        ]

    def extend(self, graph: DocumentGraph) -> Receipt:
        """Store further layers of a document that is there, in one transaction."""
        check(graph, self._dimension, namespace=self._namespace, extending=True)
        action = self._transaction(
            "extend",
            lambda run, create: extend(run, create, graph, namespace=self._namespace),
            row_bytes=size(graph),
        )
        document = graph.document
        return Receipt(document.id, document.key, action, self.counts(document.id))

    def forget(self, document_id: str) -> Receipt:
        """Remove a document and all that only it supports, in one transaction."""
        key, held = self._transaction(
            "forget", lambda run, create: remove(run, create, document_id, namespace=self._namespace)
        )
        left = self.counts(document_id)
        gone = {name: number - left.get(name, 0) for name, number in held.items()}
        return Receipt(document_id, key, Action.FORGOTTEN, gone)

    def graph_of(self, document_id: str) -> DocumentGraph | None:
        """All that a document contributes to the graph, as it was written; None where there is none."""
        return document_graph(self._run, document_id)


def check(graph: DocumentGraph, dimension: int, *, namespace: str, extending: bool = False) -> None:
    """Refuse a graph that could only be stored in part. ``extending``: its segments are stored, and not embedded again.

    Raises:
        StoreError: an edge leads to a node outside the graph, or embeddings have another shape than the nodes, or no
            direction.
        DocumentError: a text holds half a surrogate pair, which no database can store.
    """
    _check_text(graph)
    points = {point.id for point in graph.points}
    known = points | {segment.id for segment in graph.segments}
    for edge in graph.summarizes:
        if edge.source_id not in points or edge.target_id not in known:
            raise StoreError(
                f"expected SUMMARIZES edges from points of document {graph.document.key!r} to its nodes; came "
                f"{edge.source_id} -> {edge.target_id}. Give both ends with the document.",
                edge=edge,
            )
    _check_names(graph, namespace)
    segments = () if extending else graph.segments
    for nodes, matrix in ((segments, graph.segment_embeddings), (graph.points, graph.point_embeddings)):
        if nodes and matrix.shape != (len(nodes), dimension):
            raise StoreError(
                f"expected embeddings of shape {(len(nodes), dimension)} for document {graph.document.key!r}; came "
                f"{matrix.shape}. Embed every node with the embedder that the store was built with.",
                shape=matrix.shape,
            )
        if nodes and not (np.isfinite(matrix).all() and matrix.any(axis=1).all()):
            raise StoreError(
                f"expected embeddings of finite numbers, not all 0, for document {graph.document.key!r}; came one "
                "that is not. No search could find its node: give it an embedding.",
                key=graph.document.key,
            )


def _check_distinct(graphs: Sequence[DocumentGraph]) -> None:
    twice = [key for key, number in Counter(graph.document.key for graph in graphs).items() if number > 1]
    if twice:
        raise StoreError(
            f"expected each document once in a write; {twice[0]!r} came more than once. Write the one that is to stay.",
            key=twice[0],
        )


def _check_names(graph: DocumentGraph, namespace: str) -> None:
    segments = {segment.id: segment for segment in graph.segments}
    for named in (*graph.mentions, *graph.titles):
        if named.entity_id != entity_id(namespace, named.normal):  # else two namespaces might share an entity
            raise StoreError(
                f"expected the id of entity {named.normal!r} to be made of namespace {namespace!r} and that name; came "
                f"{named.entity_id} in document {graph.document.key!r}. Use entity_id(namespace, normal).",
                entity_id=named.entity_id,
                normal=named.normal,
            )
    for mention in graph.mentions:
        segment = segments.get(mention.segment_id)
        if segment is None or not segment.start <= mention.start < mention.end <= segment.end:
            where = "a segment that is not there" if segment is None else f"[{segment.start}, {segment.end})"
            raise StoreError(
                f"expected mentions within the segments of document {graph.document.key!r}; came {mention.surface!r} "
                f"at [{mention.start}, {mention.end}) in {where}. Count the document's characters.",
                mention=mention,
            )
        if segment.text[mention.start - segment.start : mention.end - segment.start] != mention.surface:
            raise StoreError(
                f"expected the surface of a mention as it stands in document {graph.document.key!r}; came "
                f"{mention.surface!r} at [{mention.start}, {mention.end}), where another text stands.",
                mention=mention,
            )


def _check_text(graph: DocumentGraph) -> None:
    record = graph.document
    texts = [record.id, record.key, record.title, record.source, record.model, *record.layers]
    texts += [json.dumps(dict(record.metadata), ensure_ascii=False)]
    texts += [text for node in (*graph.segments, *graph.points) for text in (node.id, node.text)]
    texts += [text for segment in graph.segments for text in (segment.speaker, segment.time)]
    texts += [text for named in (*graph.mentions, *graph.titles) for text in (named.normal, named.surface)]
    texts += [record.recognizer, *(mention.kind for mention in graph.mentions)]
    for text in texts:
        try:
            text.encode()
        except UnicodeEncodeError as exc:
            raise DocumentError(
                f"expected text in document {record.key!r}; came half a surrogate pair, {text[exc.start]!r}, at "
                f"character {exc.start}. Decode the source with errors='replace'.",
                key=record.key,
            ) from exc


def size(graph: DocumentGraph) -> int:
    """About how many bytes a document takes."""
    texts = sum(len(node.text) for node in (*graph.segments, *graph.points))
    names = sum(len(named.surface) + len(named.normal) for named in (*graph.mentions, *graph.titles))
    return 4 * (texts + names) + graph.segment_embeddings.nbytes + graph.point_embeddings.nbytes


def replace(run: Run, create: Create, graphs: Sequence[DocumentGraph]) -> list[Action]:
    """Store documents, each in place of what was stored under its id."""
    run("write/advance_namespace")
    document_ids = [graph.document.id for graph in graphs]
    stored = [row["id"] for row in run("read/find_document_keys", document_ids=document_ids)]
    gone: rows.Writings = {}
    for document_id in stored:
        rows.add_writings(gone, _delete(run, document_id))
    create("write/create_documents", rows.document_columns(graphs))
    create("write/create_segments", rows.segment_columns(graphs))
    create("write/link_segments", rows.next_columns(graphs))
    _create_points(create, graphs)
    _create_names(run, create, graphs, gone)
    return [Action.REPLACED if one in stored else Action.ADDED for one in document_ids]


def extend(run: Run, create: Create, graph: DocumentGraph, *, namespace: str) -> Action:
    """Store the layers of a graph beside what is stored of its document, each in place of what was stored of it.

    A layer is given where the graph has rows of it, or names another model (points) or recognizer (mentions and
    titles) than is stored: then it was built again and found nothing. What is not given stays, as does its model.

    Raises:
        DocumentNotFound: there is no document of that id with that content.
        StoreError: the segments are not those that are stored.
    """
    document = graph.document
    run("write/advance_namespace")
    stored = run("read/find_documents", document_ids=[document.id])
    if not stored or stored[0]["sha256"] != document.sha256:
        raise DocumentNotFound(
            f"expected document {document.key!r} in namespace {namespace!r} with the content that the layers were "
            "built from; it was replaced or forgotten meanwhile. Call deepen() again.",
            document_id=document.id,
            namespace=namespace,
        )
    _check_segments(run, graph)
    model, recognizer = document.model or stored[0]["model"], document.recognizer or stored[0]["recognizer"]
    if graph.points or model != stored[0]["model"]:
        run("write/delete_points", document_id=document.id)
        _create_points(create, [graph])
    if graph.mentions or graph.titles or recognizer != stored[0]["recognizer"]:
        gone = rows.decode_writings(run("read/count_surfaces", document_id=document.id))
        if gone:
            run("write/delete_mentions", document_id=document.id)
            run("write/delete_titles", document_id=document.id)
        _create_names(run, create, [graph], gone)
    fields = {"layers": list(document.layers), "model": model, "recognizer": recognizer}
    run("write/update_document", document_id=document.id, **fields)
    return Action.DEEPENED


def _check_segments(run: Run, graph: DocumentGraph) -> None:
    """Refuse layers of other segments: their edges would lead nowhere, and their entities stay for good."""
    stored = [row["id"] for row in run("read/list_segment_ids", document_id=graph.document.id)]
    if stored != [segment.id for segment in sorted(graph.segments, key=lambda segment: segment.index)]:
        raise StoreError(
            f"expected the {len(stored)} segments that are stored of document {graph.document.key!r}; came "
            f"{len(graph.segments)} that are not the same. Build the layers from segments_of().",
            document_id=graph.document.id,
        )


def remove(run: Run, create: Create, document_id: str, *, namespace: str) -> tuple[str, Mapping[str, int]]:
    """Remove a document; its key, and what the graph held of it.

    Raises:
        DocumentNotFound: there is none.
    """
    run("write/advance_namespace")
    known = run("read/find_document_keys", document_ids=[document_id])
    if not known:
        raise DocumentNotFound(
            f"no document {document_id!r} in namespace {namespace!r}. documents() lists what is there.",
            document_id=document_id,
            namespace=namespace,
        )
    held = counts(run, document_id)
    _create_names(run, create, [], _delete(run, document_id))
    return known[0]["key"], held


def _delete(run: Run, document_id: str) -> rows.Writings:
    """Remove what is a document's own; how it wrote the entities that it named."""
    gone = rows.decode_writings(run("read/count_surfaces", document_id=document_id))
    for name in ("write/delete_segments", "write/delete_points", "write/delete_document"):
        run(name, document_id=document_id)
    return gone


def _create_points(create: Create, graphs: Sequence[DocumentGraph]) -> None:
    points = {point.id for graph in graphs for point in graph.points}
    edges = [edge for graph in graphs for edge in graph.summarizes]
    create("write/create_points", rows.point_columns(graphs))
    create("write/link_points_to_segments", rows.link_columns(edge for edge in edges if edge.target_id not in points))
    create("write/link_points_to_points", rows.link_columns(edge for edge in edges if edge.target_id in points))


def _create_names(run: Run, create: Create, graphs: Sequence[DocumentGraph], gone: rows.Writings) -> None:
    """Store mentions and titles, and make entities follow from all there are: new, changed, or no more.

    An entity's node says how often it is written how. So a write costs what it brings and takes away, and not what
    else names its entities: to count all mentions again took half of the time of a write to 2,000 documents.

    Args:
        graphs: documents whose mentions and titles are new.
        gone: how documents wrote entities whose mentions and titles were removed.
    """
    came = rows.writings(graphs)
    touched = sorted(one for one in came.keys() | gone.keys() if came.get(one) != gone.get(one))
    found = run("read/find_surfaces", entity_ids=touched) if touched else []
    normals = {named.entity_id: named.normal for graph in graphs for named in (*graph.mentions, *graph.titles)}
    normals |= {row["id"]: row["normal"] for row in found}
    held = {row["id"]: rows.decode_surfaces(row["surfaces"]) for row in found}
    none: Counter[tuple[str, str]] = Counter()
    now = {one: held.get(one, none) - gone.get(one, none) + came.get(one, none) for one in touched}
    new = {one: writing for one, writing in now.items() if writing and one not in held}
    changed = {one: writing for one, writing in now.items() if writing and one in held}
    lone = [one for one, writing in now.items() if not writing]
    create("write/create_entities", rows.entity_columns(new, normals))
    create("write/save_entities", rows.entity_columns(changed, normals))
    if lone:
        run("write/delete_entities", entity_ids=lone)
    create("write/link_mentions", rows.mention_columns(graphs))
    create("write/link_titles", rows.title_columns(graphs))
