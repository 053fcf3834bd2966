"""Refuses writes that a store could do only in part, and documents of another user.

The module knows no engine. Invariant: a graph that passes can be written completely, and every node of it can be found.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from memgraph_rag.display import show
from memgraph_rag.errors import DocumentError, StoreError
from memgraph_rag.stores.layer_rows import KINDS
from memgraph_rag.stores.layer_rows.kind import require
from memgraph_rag.stores.shared import relation_writes
from memgraph_rag.stores.shared.rows import are_distinct, encode_scalars
from memgraph_rag.stores.shared.vector_norms import are_units
from memgraph_rag.types import DocumentGraph, DocumentRecord, Matrix, MetadataValue, Question, get_owner


def check(graph: DocumentGraph, dimension: int, *, namespace: str, extending: bool = False) -> None:
    """Check a document's graph before it is stored; a store would lose a part of a faulty graph.

    Args:
        dimension: the length of the store's embeddings.
        extending: whether the segments are stored already. Then three things are not checked: whether the segments
            tile the document, whether their embeddings are there, and whether relations have mentions.

    Raises:
        StoreError: the segments do not tile the document; a node is given twice, or has no text; an edge leads to a
            node outside the graph, or not to a lower level; embeddings do not match the nodes in number, or have
            another length than 1; a mention has a wrong position; a relation's segment does not mention its entities;
            a row of a layer rests on an echo.
        DocumentError: a text holds half a surrogate pair, which no database can store.
    """
    _check_text(graph)
    if not extending:
        _check_tiling(graph)
    require(graph, {"each node once": are_distinct(item.id for item in (*graph.segments, *graph.points))})
    for kind in KINDS:
        kind.check(graph, namespace=namespace)
    _check_echoes(graph)
    if not extending:
        named = {(mention.segment_id, mention.entity_id) for mention in graph.mentions}
        relation_writes.check_mentions(graph, named)
    if not extending or len(graph.segment_embeddings):
        _check_embeddings(graph, graph.segments, graph.segment_embeddings, dimension)
    for embedded in (embedded for kind in KINDS for embedded in kind.list_embedded(graph)):
        _check_embeddings(graph, embedded.rows, embedded.embeddings, dimension)


def _check_tiling(graph: DocumentGraph) -> None:
    """Refuse segments that do not tile the document, and a record with wrong counts.

    Raises:
        StoreError: there is a gap or an overlap, or a count is wrong.
    """
    segments, record = graph.segments, graph.document
    bounds = [0, *(segment.end for segment in segments)]
    rules = {
        "segments that are numbered from 0": [segment.index for segment in segments] == list(range(len(segments))),
        "segments that begin where the one before ends": [segment.start for segment in segments] == bounds[:-1],
        "segments as long as their texts": all(
            segment.text and segment.end - segment.start == len(segment.text) for segment in segments
        ),
        "a record that counts its segments": record.segments == len(segments),
        "a record that counts its characters": record.characters == bounds[-1],
        "a record that counts its echoes": record.echoes == sum(segment.echo for segment in segments),
    }
    require(graph, rules)


def _check_embeddings(graph: DocumentGraph, nodes: Sequence[object], matrix: Matrix, dimension: int) -> None:
    if nodes and matrix.shape != (len(nodes), dimension):
        raise StoreError(
            f"Expected embeddings of shape {(len(nodes), dimension)} for document {show(graph.document.key)}, got "
            f"{matrix.shape}. Embed every node, relation and name of a relation's end with the embedder that the "
            "store was built with.",
            shape=matrix.shape,
        )
    if nodes and not are_units(matrix):
        raise StoreError(
            f"Expected embeddings of length 1 for document {show(graph.document.key)}, got one of another length, or "
            "one with a number that is not finite. It would distort every search: give what Embedder.embed promises.",
            key=graph.document.key,
        )


def _check_echoes(graph: DocumentGraph) -> None:
    """Refuse rows that are derived from an echo: a search would find it through them, although it is no evidence."""
    echoes = {segment.id for segment in graph.segments if segment.echo}
    if any(segment_id in echoes for kind in KINDS for segment_id in kind.segment_ids(graph)):
        raise StoreError(
            f"Expected rows of layers that rest on evidence only in document {show(graph.document.key)}, got rows of "
            "segments that are echoes of answers. Leave these rows out.",
            key=graph.document.key,
        )


def check_group(graphs: Sequence[DocumentGraph], dimension: int, *, namespace: str, extending: bool = False) -> None:
    """Check the graphs of several documents by ``check``, and that no document is given twice.

    Raises:
        StoreError, DocumentError: as ``check`` does; or a document is given twice.
    """
    for graph in graphs:
        check(graph, dimension, namespace=namespace, extending=extending)
    twice = [key for key, number in Counter(graph.document.key for graph in graphs).items() if number > 1]
    if twice:
        raise StoreError(
            f"Expected each document once in a write, got {show(twice[0])} more than once. Give only its last version.",
            key=twice[0],
        )


def check_question(question: Question) -> None:
    """Check that the texts of a question and its answer can be stored.

    Raises:
        StoreError: a text holds half a surrogate pair.
    """
    answer = question.answer
    texts = [
        question.text,
        answer.text,
        answer.short,
        answer.strategy,
        answer.model,
        *(cited.quote for cited in answer.citations),
    ]
    for text in (*texts, *(text for step in answer.trace for text in (step.via, step.reason))):
        try:
            text.encode()
        except UnicodeEncodeError as exc:
            raise StoreError(
                f"Expected text in a question and its answer, got half a surrogate pair, {show(text[exc.start])}. "
                "Remove that character.",
                question_id=question.id,
            ) from exc


def check_owner(stored: DocumentRecord, metadata: Mapping[str, MetadataValue]) -> None:
    """Check that new metadata name the user and session of the stored document that they would replace.

    The message does not name the stored user, because another user may read it.

    Raises:
        DocumentError: the metadata name another owner than the stored document.
    """
    if get_owner(stored.metadata) != get_owner(metadata):
        raise DocumentError(
            f"Expected the user and session of the stored document {show(stored.key)}, got others in the metadata. "
            "Choose another key; or forget the document first, if it is yours.",
            key=stored.key,
        )


def check_metadata(record: DocumentRecord) -> None:
    """Check that the metadata of a document can be stored.

    Raises:
        DocumentError: the metadata hold half a surrogate pair.
    """
    _check_storable(record, [encode_scalars(record.metadata)])


def _check_text(graph: DocumentGraph) -> None:
    record = graph.document
    check_metadata(record)
    texts = [
        record.id,
        record.key,
        record.title,
        record.source,
        record.model,
        record.recognizer,
        record.language,
        *record.layers,
    ]
    texts += [text for item in graph.segments for text in (item.id, item.text, item.speaker, item.time)]
    texts += [text for kind in KINDS for text in kind.texts(graph)]
    _check_storable(record, texts)


def _check_storable(record: DocumentRecord, texts: Iterable[str]) -> None:
    for text in texts:
        try:
            text.encode()
        except UnicodeEncodeError as exc:
            raise DocumentError(
                f"Expected text in document {show(record.key)}, got half a surrogate pair, {show(text[exc.start])}, at "
                f"character {exc.start}. Decode the source with errors='replace'.",
                key=record.key,
            ) from exc
