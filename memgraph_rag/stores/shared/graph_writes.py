"""The writes that both engines do in the same way, by functions that run a named statement or store columns with one.

The module knows no engine and begins no transaction: the caller does, and commits when these functions return.
Invariant: after a write the graph holds exactly the given rows of each document; after a deletion, none of them. The
fields of an entity follow from its mentions and titles, and an entity is deleted with the last of them.
"""

from __future__ import annotations

import secrets
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace as changed
from typing import TypeVar

from typing_extensions import override

from memgraph_rag.display import show
from memgraph_rag.errors import DocumentNotFound, StoreError, StoreReadOnly
from memgraph_rag.stores.layer_rows import KINDS, NAMES, POINTS, RELATIONS, DocumentWrite, group_kinds, list_layers
from memgraph_rag.stores.layer_rows.relations import read_mention_pairs
from memgraph_rag.stores.shared import (
    document_revisions,
    integrity,
    kept_questions,
    relation_rows,
    relation_writes,
    rows,
    write_checks,
)
from memgraph_rag.stores.shared.document_reader import count_graph_rows, read_graphs
from memgraph_rag.stores.shared.graph_reads import Run, count_rows, read_mentions, read_relations
from memgraph_rag.stores.shared.overview_writes import check_overviews, remove_overviews_of_documents, write_overviews
from memgraph_rag.stores.shared.rows import Columns
from memgraph_rag.stores.shared.stored_graph import StoredGraph
from memgraph_rag.types import (
    Action,
    DocumentGraph,
    DocumentRecord,
    Flaws,
    OverviewRows,
    Question,
    Receipt,
    Similar,
    Vector,
)

T = TypeVar("T")

COUNTED = "write/advance_namespace"
"""The first statement of a transaction that counts as a write of the namespace; other writers of the namespace wait.

No other statement of the transaction may change the node of the namespace. To change a node, Neo4j takes two locks and
releases one of them at once. A writer that waits for the node holds that one, so a second change would be a deadlock.
"""

HELD = "write/hold_namespace"
"""The first statement of a transaction that makes other writers wait, but does not count as a write."""


Work = Callable[[DocumentWrite], T]
"""The function that a transaction calls after its first statement."""


def begin(run: Run, first: str = COUNTED, document_ids: Sequence[str] = ()) -> dict[str, rows.Row]:
    """Run the first statement of a transaction, which makes other writers of the namespace wait.

    Args:
        first: ``COUNTED`` also counts the write and gives it a random mark; ``HELD`` does not.
        document_ids: the documents that the transaction will change.

    Returns:
        With ``COUNTED``, the stored rows of these documents, by id; else an empty mapping.
    """
    if first != COUNTED:
        run(first)
        return {}
    found = run(first, mark=secrets.token_hex(16), document_ids=list(document_ids) or [""])
    return {row["id"]: row for row in found}


class WrittenGraph(StoredGraph):
    """The writes that both engines do in the same way. An engine implements ``_transaction``."""

    def __init__(self, namespace: str, *, read_only: bool = False, dimension: int = 0) -> None:
        super().__init__(namespace, read_only=read_only)
        self._dimension = dimension

    @abstractmethod
    def _transaction(
        self,
        operation: str,
        work: Work[T],
        document_ids: Sequence[str] = (),
        *,
        row_bytes: int = 0,
        first: str = COUNTED,
    ) -> T:
        """Return the result of ``work``, after a commit of everything that it ran; roll back if it raises.

        Args:
            operation: the name of the write, for messages.
            document_ids: the documents whose stored rows ``work`` finds in ``DocumentWrite.found``.
            row_bytes: approximate number of bytes that it stores.
            first: its first statement, ``COUNTED`` or ``HELD``.
        """

    def _require_writable(self) -> None:
        if self._read_only:
            raise StoreReadOnly(
                f"{show(self)} was opened for reading only. Open it again without read_only to change it."
            )

    @abstractmethod
    def _find_near(self, run: Run, columns: Columns) -> list[Similar]:
        """Implement ``relation_writes.FindNear`` for the engine."""

    @override
    def write_many(self, graphs: Sequence[DocumentGraph]) -> list[Receipt]:
        write_checks.check_group(graphs, self._dimension, namespace=self._namespace)
        if not graphs:
            return []
        outcomes = self._transaction(
            "write",
            lambda write: replace(write, graphs),
            [graph.document.id for graph in graphs],
            row_bytes=sum(map(size, graphs)),
        )
        # Each document was stored as a whole, so the graph itself has the counts of its stored rows.
        return [
            Receipt(graph.document.id, graph.document.key, action, count_graph_rows(graph), stale_questions=stale)
            for graph, (action, stale) in zip(graphs, outcomes, strict=True)
        ]

    @override
    def revise(self, graph: DocumentGraph, *, before: str, kept: int = 0) -> Action:
        write_checks.check(graph, self._dimension, namespace=self._namespace)
        if kept:
            document_revisions.check_appended(graph, kept)
        return self._transaction(
            "revise",
            lambda write: revise(write, graph, before=before, kept=kept),
            [graph.document.id],
            row_bytes=size(graph),
        )

    @override
    def extend_many(self, graphs: Sequence[DocumentGraph], *, layers: Collection[str]) -> list[Receipt]:
        write_checks.check_group(graphs, self._dimension, namespace=self._namespace, extending=True)
        if not graphs:
            return []
        stale = self._transaction(
            "extend",
            lambda write: extend(write, graphs, layers=layers, namespace=self._namespace),
            [graph.document.id for graph in graphs],
            row_bytes=sum(map(size, graphs)),
        )
        documents = [graph.document for graph in graphs]
        counts_by_id = self.count_by_document([document.id for document in documents])  # of the other layers too
        return [
            Receipt(each.id, each.key, Action.DEEPENED, counts_by_id[each.id], stale_questions=stale[each.id])
            for each in documents
        ]

    @override
    def describe(self, records: Sequence[DocumentRecord], *, before: Sequence[str]) -> list[str]:
        for record in records:
            write_checks.check_metadata(record)
        changes = rows.as_dicts(rows.description_columns(records, before))
        if not changes:
            return []
        written_rows = self._transaction("describe", lambda write: write.run("write/describe_documents", rows=changes))
        return sorted(row["id"] for row in written_rows)

    @override
    def learn(self, graph: DocumentGraph) -> None:
        write_checks.check(graph, self._dimension, namespace=self._namespace, extending=True)
        self._transaction(
            "learn",
            lambda write: learn(write, graph, namespace=self._namespace),
            [graph.document.id],
            row_bytes=size(graph),
        )

    @override
    def forget(self, document_id: str) -> Receipt:
        return self._transaction(
            "forget", lambda write: remove(write, document_id, namespace=self._namespace), [document_id]
        )

    @override
    def write_overviews(self, rows: OverviewRows, *, as_of: int) -> list[str]:
        check_overviews(rows, namespace=self._namespace)
        return self._transaction(
            "write_overviews", lambda write: write_overviews(write.run, write.create, rows, as_of=as_of)
        )

    @override
    def keep(self, question: Question) -> None:
        write_checks.check_question(question)
        self._transaction(
            "keep", lambda write: kept_questions.keep(write.run, write.create, question, namespace=self._namespace)
        )

    @override
    def forget_question(self, question_id: str) -> None:
        self._transaction(
            "forget_question", lambda write: kept_questions.forget(write.run, question_id, namespace=self._namespace)
        )

    @override
    def flaws(self) -> Flaws:
        if self._read_only:
            return integrity.find_beside_writers(self._run, self.version)
        return self._examine()

    def _examine(self) -> Flaws:
        """Return the flaws of the graph, while no writer can change it."""
        return self._transaction("examine", lambda write: integrity.find(write.run), first=HELD)

    @override
    def mend(self, vectors: Mapping[str, Vector]) -> Flaws:
        flaws = self._examine()  # first, so that a graph without flaws gets no counted write
        if not flaws:
            return flaws
        return self._transaction(
            "mend", lambda write: integrity.mend(write.run, write.create, write.find_near, vectors)
        )

    @override
    def read_graphs(self, document_ids: Sequence[str]) -> list[DocumentGraph]:
        return read_graphs(self._run, document_ids)


def size(graph: DocumentGraph) -> int:
    """Estimate the bytes that the texts and embeddings of a document take in a store."""
    matrices = [graph.segment_embeddings, *(item.embeddings for kind in KINDS for item in kind.list_embedded(graph))]
    characters = sum(len(segment.text) for segment in graph.segments)
    characters += sum(len(text) for kind in KINDS for text in kind.texts(graph))
    return 4 * characters + sum(matrix.nbytes for matrix in matrices)


def replace(write: DocumentWrite, graphs: Sequence[DocumentGraph]) -> list[tuple[Action, int]]:
    """Store documents; a stored document with the same id is deleted first, with the overviews that rest on it.

    Returns:
        For each graph, in order: ``ADDED`` or ``REPLACED``, and the number of kept questions that became stale.

    Raises:
        DocumentError: a stored document has another owner.
    """
    document_ids = [graph.document.id for graph in graphs]
    for graph in graphs:
        if graph.document.id in write.found:
            record = rows.decode_document(write.found[graph.document.id])
            write_checks.check_owner(record, graph.document.metadata)
    stored = {document_id: row["key"] for document_id, row in write.found.items()}
    stale = kept_questions.mark_stale(write.run, write.create, stored, Action.REPLACED)
    remove_overviews_of_documents(write.run, write.create, list(stored))
    if stored:
        _remove_documents(write, list(stored))
    write.create("write/create_documents", rows.document_columns(graphs))
    write.create("write/create_segments", rows.segment_columns(graphs))
    for kind in KINDS:
        kind.create(write, graphs)
    write.finish()
    return [
        (Action.REPLACED if document_id in stored else Action.ADDED, stale[document_id]) for document_id in document_ids
    ]


def revise(write: DocumentWrite, graph: DocumentGraph, *, before: str, kept: int) -> Action:
    """Store a document, or its segments after the first ``kept``, if its stored content has the hash ``before``.

    An empty ``before`` means that the document must not exist. Returns ``ADDED`` or ``REPLACED``.

    Raises:
        DocumentChanged: the document has other content, or does not exist; or, with ``kept``, it has other layers.
    """
    stored = write.found.get(graph.document.id)
    document_revisions.require_content(stored, graph, before, kept=kept)
    if not kept or stored is None:
        return replace(write, [graph])[0][0]
    remove_overviews_of_documents(write.run, write.create, [graph.document.id])
    document_revisions.append(write, graph, kept=kept)
    return Action.REPLACED


def _remove_documents(write: DocumentWrite, document_ids: Sequence[str]) -> None:
    """Delete these documents and all nodes and edges that belong to them alone."""
    for kind in reversed(KINDS):
        kind.remove(write, document_ids)
    for name in ("write/delete_segments", "write/delete_documents"):
        write.run(name, document_ids=document_ids)


def extend(
    write: DocumentWrite, graphs: Sequence[DocumentGraph], *, layers: Collection[str], namespace: str
) -> Counter[str]:
    """Store layers of existing documents; return the number of kept questions that became stale, by document id.

    A question becomes stale if points that were read for it are replaced. Overviews on the documents are deleted.

    A layer that the document does not have afterwards is deleted. The rows and the model of the other layers stay,
    except relations with an entity that only the replaced mentions named. Embeddings of segments, if given, replace the
    stored ones.

    Raises:
        DocumentNotFound: no document has this id and this content.
        StoreError: the segments are not the stored ones, or do not mention the entities of a relation; or a graph has
            rows of other layers, or of a layer that its document does not have.
    """
    for graph in graphs:
        if not list_layers(graph) <= {*layers} & {*graph.document.layers}:
            raise StoreError(
                f"Expected rows of the layers {sorted(layers)} for document {show(graph.document.key)}, got rows of "
                f"{sorted(list_layers(graph))} for a document with {sorted(graph.document.layers)}. Name all layers "
                "that have rows.",
                document_id=graph.document.id,
            )
    _check_stored(write, graphs, namespace)
    stored = write.found
    kinds = group_kinds(layers)
    stale: Counter[str] = Counter()
    if POINTS in kinds:  # the only rows of a layer that are read for questions
        keys = {graph.document.id: graph.document.key for graph in graphs}
        stale = kept_questions.mark_stale(write.run, write.create, keys, Action.DEEPENED, layers=kinds[POINTS])
    remove_overviews_of_documents(write.run, write.create, list(stored))
    for kind, names in reversed(kinds.items()):
        kind.remove_layers(write, list(stored), names)
    for kind in KINDS:
        if kind is RELATIONS and (NAMES in kinds or RELATIONS in kinds):
            RELATIONS.remove_unnamed(write, graphs)  # an older relation may have lost the mention of an entity
        kind.create(write, graphs)
    write.finish()
    embedded = [graph for graph in graphs if len(graph.segment_embeddings)]
    if embedded:
        ids = [segment.id for graph in embedded for segment in graph.segments]
        vectors = [vector for graph in embedded for vector in graph.segment_embeddings]
        write.create("write/embed_segments", relation_rows.make_embedding_columns(ids, vectors))
    built = {
        document.id: (
            sorted({*row["layers"]} - {*layers} | {*document.layers} & {*layers}),  # others may have built further ones
            document.model or row["model"],
            document.recognizer or row["recognizer"],
        )
        for document, row in ((graph.document, stored[graph.document.id]) for graph in graphs)
    }
    write.create("write/update_documents", rows.make_built_columns(built))
    return stale


def learn(write: DocumentWrite, graph: DocumentGraph, *, namespace: str) -> None:
    """Store the mentions and relations of a graph that are not stored yet, and count the document as written.

    Its titles, points and annotations are ignored. The names of the document's layers stay.

    Raises:
        DocumentNotFound: no document has this id and this content.
        StoreError: a segment is not stored, or does not mention the entities of its relations.
    """
    document_id = graph.document.id
    _check_stored(write, [graph], namespace, of_some=True)
    stored = write.found[document_id]
    stored_mentions = set(read_mentions(write.run, [document_id])[document_id])
    mentions = tuple(mention for mention in dict.fromkeys(graph.mentions) if mention not in stored_mentions)
    known = {relation.id for relation in read_relations(write.run, [document_id])[document_id]}
    new = relation_rows.drop_relations(changed(graph, mentions=mentions, titles=()), known)
    NAMES.create(write, [new])
    relation_writes.check_mentions(new, read_mention_pairs(write.run, [document_id]))
    RELATIONS.create(write, [new])
    built = (stored["layers"], stored["model"], stored["recognizer"])
    write.create("write/update_documents", rows.make_built_columns({document_id: built}))


def _check_stored(
    write: DocumentWrite, graphs: Sequence[DocumentGraph], namespace: str, *, of_some: bool = False
) -> None:
    """Check that the documents of graphs are stored, and that graphs have all their segments, or some (``of_some``)."""
    document_ids = [graph.document.id for graph in graphs]
    stored = write.found
    for document in (graph.document for graph in graphs):
        if document.id not in stored or stored[document.id]["sha256"] != document.sha256:
            raise DocumentNotFound(
                f"Expected document {show(document.key)} in namespace {show(namespace)} with the content that the "
                "layers were built from, got none: it was replaced or forgotten meanwhile. Call deepen() again.",
                document_id=document.id,
                namespace=namespace,
            )
    segment_ids = rows.group_by_document(write.run("read/list_segment_ids", document_ids=document_ids), document_ids)
    for graph in graphs:
        _check_segments(graph, [row["id"] for row in segment_ids[graph.document.id]], of_some=of_some)


def _check_segments(graph: DocumentGraph, stored: Sequence[str], *, of_some: bool) -> None:
    """Refuse layers of other segments: their edges would have no target, and their entities would stay for good."""
    given_ids = [segment.id for segment in sorted(graph.segments, key=lambda segment: segment.index)]
    if not (set(given_ids) <= set(stored) if of_some else given_ids == stored):
        raise StoreError(
            f"Expected the {len(stored)} stored segments of document {show(graph.document.key)}, got "
            f"{len(graph.segments)} other segments. Build the layers from list_segments().",
            document_id=graph.document.id,
        )


def remove(write: DocumentWrite, document_id: str, *, namespace: str) -> Receipt:
    """Delete a document, with the kept questions and overviews that rest on it; return a receipt of what was deleted.

    Raises:
        DocumentNotFound: no document has this id.
    """
    if document_id not in write.found:
        raise DocumentNotFound(
            f"Expected the id of a document in namespace {show(namespace)}, got {show(document_id)}. documents() lists "
            "all.",
            document_id=document_id,
            namespace=namespace,
        )
    removed = count_rows(write.run, [document_id])[document_id]
    questions = kept_questions.delete_document_questions(write.run, document_id)
    remove_overviews_of_documents(write.run, write.create, [document_id])
    _remove_documents(write, [document_id])
    for kind in KINDS:
        kind.create(write, [])
    write.finish()
    return Receipt(
        document_id, write.found[document_id]["key"], Action.FORGOTTEN, removed, forgotten_questions=questions
    )
