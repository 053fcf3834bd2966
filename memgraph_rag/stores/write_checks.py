"""What a store refuses to write: graphs of which it could store a part only.

It knows no engine, and nothing that is stored. The invariant: a graph that passes can be written whole, and every node
of it found again.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence

from memgraph_rag.errors import DocumentError, StoreError
from memgraph_rag.stores import relation_writes, tiling
from memgraph_rag.stores.vector_norms import are_units
from memgraph_rag.types import DocumentGraph, DocumentRecord, Matrix, Question, entity_id

__all__ = ["check", "check_distinct", "check_metadata", "check_question"]


def check(graph: DocumentGraph, dimension: int, *, namespace: str, extending: bool = False) -> None:
    """Refuse a graph that could only be stored in part. ``extending``: its segments are stored, and not embedded again.

    Raises:
        StoreError: the segments do not tile the document; a node comes twice, or says nothing; an edge leads to a node
            outside the graph, or to none below its source; embeddings have another shape than the nodes, or another
            length than 1; a mention does not stand where it says; a relation's segment does not mention its ends.
        DocumentError: a text holds half a surrogate pair, which no database can store.
    """
    _check_text(graph)
    if not extending:
        tiling.check_tiling(graph)
    tiling.check_nodes(graph)
    _check_edges(graph)
    _check_names(graph, namespace)
    _check_relations(graph)
    _check_echoes(graph)
    if not extending:
        named = {(mention.segment_id, mention.entity_id) for mention in graph.mentions}
        relation_writes.check_named(graph, named)
    for nodes, matrix in (
        (() if extending else graph.segments, graph.segment_embeddings),
        (graph.points, graph.point_embeddings),
        (graph.relations, graph.relation_embeddings),
        (graph.ends, graph.end_embeddings),
    ):
        _check_embeddings(graph, nodes, matrix, dimension)


def _check_edges(graph: DocumentGraph) -> None:
    """Refuse edges out of the document, and edges that do not lead down: whoever follows these comes to no end."""
    points = {point.id for point in graph.points}
    levels = {node.id: node.level for node in (*graph.segments, *graph.points)}
    for edge in graph.summarizes:
        if edge.source_id not in points or edge.target_id not in levels:
            raise StoreError(
                f"expected SUMMARIZES edges from points of document {graph.document.key!r} to its nodes; came "
                f"{edge.source_id} -> {edge.target_id}. Give both ends with the document.",
                edge=edge,
            )
        if levels[edge.target_id] >= levels[edge.source_id]:
            raise StoreError(
                f"expected SUMMARIZES edges from points of document {graph.document.key!r} to nodes of a lower level; "
                f"came {edge.source_id} (level {levels[edge.source_id]}) -> {edge.target_id} (level "
                f"{levels[edge.target_id]}). Leave it out.",
                edge=edge,
            )


def _check_embeddings(graph: DocumentGraph, nodes: Sequence[object], matrix: Matrix, dimension: int) -> None:
    if nodes and matrix.shape != (len(nodes), dimension):
        raise StoreError(
            f"expected embeddings of shape {(len(nodes), dimension)} for document {graph.document.key!r}; came "
            f"{matrix.shape}. Embed every node, relation and name of a relation's end with the embedder that the "
            "store was built with.",
            shape=matrix.shape,
        )
    if nodes and not are_units(matrix):
        raise StoreError(
            f"Expected embeddings of length 1 for document {graph.document.key!r}, got one of another length, or one "
            "with a number that is not finite. It would distort every search: give what Embedder.embed promises.",
            key=graph.document.key,
        )


def _check_relations(graph: DocumentGraph) -> None:
    """Refuse relations that are told twice, of a segment that is not there, of one entity only, or that say nothing."""
    segments = {segment.id for segment in graph.segments}
    ids = Counter(relation.id for relation in graph.relations)
    for relation in graph.relations:
        wrong = (
            ("an id that another has too" if ids[relation.id] > 1 else "")
            or ("a segment that is not there" if relation.segment_id not in segments else "")
            or ("the same entity at both ends" if relation.source_id == relation.target_id else "")
            or ("no description" if not relation.description.strip() else "")
        )
        if wrong:
            raise StoreError(
                f"expected relations of two entities each, stated by segments of document {graph.document.key!r}; came "
                f"{relation.description[:80]!r} ({relation.id}) with {wrong}. Leave it out, or give what it lacks.",
                relation=relation,
            )


def _check_echoes(graph: DocumentGraph) -> None:
    """Refuse what is derived from an echo: by it, what is no evidence would be found after all."""
    echoes = {segment.id for segment in graph.segments if segment.echo}
    derived = [item.target_id for item in graph.summarizes]
    derived += [item.segment_id for item in (*graph.mentions, *graph.relations)]
    if any(segment_id in echoes for segment_id in derived):
        raise StoreError(
            f"expected points, mentions and relations of evidence only in document {graph.document.key!r}; came some "
            "of segments that are echoes of answers. Leave these out.",
            key=graph.document.key,
        )


def check_distinct(graphs: Sequence[DocumentGraph]) -> None:
    """Refuse a group in which a document comes twice.

    Raises:
        StoreError: one does.
    """
    twice = [key for key, number in Counter(graph.document.key for graph in graphs).items() if number > 1]
    if twice:
        raise StoreError(
            f"expected each document once in a write; {twice[0]!r} came more than once. Write the one that is to stay.",
            key=twice[0],
        )


def check_question(question: Question) -> None:
    """Refuse a question that could not be stored as it is.

    Raises:
        StoreError: a text of it holds half a surrogate pair.
    """
    answer = question.answer
    texts = [question.text, answer.text, answer.strategy, answer.model, *(cited.quote for cited in answer.citations)]
    for text in (*texts, *(text for step in answer.trace for text in (step.via, step.reason))):
        try:
            text.encode()
        except UnicodeEncodeError as exc:
            raise StoreError(
                f"expected text in a question and its answer; came half a surrogate pair, {text[exc.start]!r}. Keep it "
                "without.",
                question_id=question.id,
            ) from exc


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


def check_metadata(record: DocumentRecord) -> None:
    """Refuse metadata that cannot be stored.

    Raises:
        DocumentError: they hold half a surrogate pair.
    """
    _check_storable(record, [json.dumps(dict(record.metadata), ensure_ascii=False)])


def _check_text(graph: DocumentGraph) -> None:
    record = graph.document
    check_metadata(record)
    texts = [record.id, record.key, record.title, record.source, record.model, *record.layers]
    texts += [text for node in (*graph.segments, *graph.points) for text in (node.id, node.text)]
    texts += [text for segment in graph.segments for text in (segment.speaker, segment.time)]
    texts += [text for named in (*graph.mentions, *graph.titles) for text in (named.normal, named.surface)]
    texts += [record.recognizer, *(mention.kind for mention in graph.mentions)]
    texts += [text for relation in graph.relations for text in (relation.id, relation.description)]
    _check_storable(record, texts)


def _check_storable(record: DocumentRecord, texts: Iterable[str]) -> None:
    for text in texts:
        try:
            text.encode()
        except UnicodeEncodeError as exc:
            raise DocumentError(
                f"expected text in document {record.key!r}; came half a surrogate pair, {text[exc.start]!r}, at "
                f"character {exc.start}. Decode the source with errors='replace'.",
                key=record.key,
            ) from exc
