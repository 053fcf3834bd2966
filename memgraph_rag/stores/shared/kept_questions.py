"""Stores kept questions, marks them as stale, and deletes them.

Like ``graph_writes``, the module knows no engine and begins no transaction. Invariant: a question rests on stored
documents. Each node that was read for it is stored, or a change records how many nodes of which document are gone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timezone

from memgraph_rag.display import show
from memgraph_rag.errors import DocumentNotFound, QuestionNotFound, StoreError
from memgraph_rag.stores.shared import question_rows
from memgraph_rag.stores.shared.graph_reads import Run, read_nodes
from memgraph_rag.stores.shared.rows import Create
from memgraph_rag.types import Action, Change, Node, Question, Segment, question_id


def keep(run: Run, create: Create, question: Question, *, namespace: str) -> None:
    """Store an answered question with its answer and trace, in place of its earlier version.

    Raises:
        StoreError: its id does not follow from this namespace and its text, or the question is stale.
        DocumentNotFound: a node that was read or cited is not stored any more, or has another text.
    """
    if question.id != question_id(namespace, question.text):  # else two namespaces might share it
        raise StoreError(
            f"Expected the id of a question to be made of namespace {show(namespace)} and its text, got {question.id}. "
            "Use question_id(namespace, text).",
            question_id=question.id,
        )
    if question.is_stale:
        raise StoreError(
            f"Expected a question whose read nodes are all stored, got a stale question, {question.id}. Ask it again.",
            question_id=question.id,
        )
    _require_stored_nodes(run, question, namespace)
    run("write/delete_questions", question_ids=[question.id])
    create("write/create_questions", question_rows.question_columns(question))
    create("write/link_reads_to_segments", question_rows.read_columns(question, "segment"))
    create("write/link_reads_to_points", question_rows.read_columns(question, "point"))
    create("write/link_reads_to_overviews", question_rows.read_columns(question, "overview"))


def _require_stored_nodes(run: Run, question: Question, namespace: str) -> None:
    """Refuse a question if one of its documents was forgotten, or replaced under the same ids, during the answering."""
    read = {step.node.id: step.node for step in question.answer.trace}
    cited = [citation.segment_id for citation in question.answer.citations]
    stored: dict[str, Node] = {node.id: node for node in read_nodes(run, [*read, *cited])}
    quoted = [stored.get(citation.segment_id) for citation in question.answer.citations]
    if any(stored.get(node_id) != node for node_id, node in read.items()) or not all(
        isinstance(node, Segment)
        and node.document_id == cited.document_id
        and node.text[cited.start - node.start : cited.end - node.start] == cited.quote
        for node, cited in zip(quoted, question.answer.citations, strict=True)
    ):
        raise DocumentNotFound(
            f"Expected all nodes read for the question to be stored in namespace {show(namespace)}, got fewer: a "
            "document was replaced or forgotten during the answering. The question was not kept; ask again.",
            namespace=namespace,
        )


def forget(run: Run, one_id: str, *, namespace: str) -> None:
    """Delete the kept question with the id ``one_id``.

    Raises:
        QuestionNotFound: no question has this id.
    """
    if not run("read/find_questions", question_ids=[one_id]):
        raise QuestionNotFound(
            f"Expected the id of a kept question in namespace {show(namespace)}, got {show(one_id)}. questions() lists "
            "all.",
            question_id=one_id,
            namespace=namespace,
        )
    run("write/delete_questions", question_ids=[one_id])


def delete_document_questions(run: Run, document_id: str) -> int:
    """Delete the kept questions that rest on a document, stale ones too; return their number."""
    question_ids = [row["id"] for row in run("read/list_readers", document_ids=[document_id], layers=[])]
    if question_ids:
        run("write/delete_questions", question_ids=question_ids)
    return len(question_ids)


def mark_stale(
    run: Run, create: Create, keys: Mapping[str, str], action: Action, *, layers: Collection[str] = ()
) -> Counter[str]:
    """Mark the kept questions that rest on changed documents as stale; return their number by document id.

    A question is skipped if no node that was read for it is deleted; but the first ``REPLACED`` of a document always
    counts. A document without such questions is not in the result.

    Call it before the nodes of the documents are deleted: afterwards the number of read nodes is unknown.

    Args:
        keys: the keys of the changed documents, by id.
        action: ``REPLACED`` if all nodes of the documents are deleted, ``DEEPENED`` if only points are.
        layers: the layers whose points are deleted, if the action is ``DEEPENED``.

    Raises:
        StoreError: the recorded changes of a question are damaged.
    """
    changes: dict[str, dict[str, Change]] = {}
    lost: Counter[str] = Counter()
    readers: Counter[str] = Counter()
    changed_at = datetime.now(timezone.utc).isoformat(timespec="seconds")
    for row in run("read/list_readers", document_ids=list(keys), layers=sorted(layers)) if keys else []:
        question, document_id = row["id"], row["document_id"]
        before = {change.document_id: change for change in question_rows.decode_changes(row)}
        known = changes.setdefault(question, before)
        last = known.get(document_id)
        reads = row["points"] if action is Action.DEEPENED else row["reads"]
        if not reads and (action is Action.DEEPENED or (last is not None and last.action is action)):
            continue  # no node that was read for the question is deleted
        reads_before = last.reads if last else 0
        known[document_id] = Change(document_id, keys[document_id], action, changed_at, reads_before + reads)
        lost[question] += reads
        readers[document_id] += 1
    create(
        "write/mark_questions",
        question_rows.change_columns({question_id: changes[question_id].values() for question_id in lost}, lost),
    )
    return readers


def mark_overviews_deleted(run: Run, create: Create, overview_ids: Sequence[str], *, changed: Collection[str]) -> None:
    """Mark the kept questions that read these overviews as stale, because the overviews will be deleted.

    The deletion is recorded as the change of a document on which the overview rests, if possible one of ``changed``.
    Call this before the deletion, and after ``mark_stale``: a change that ``mark_stale`` recorded keeps its action.

    Args:
        changed: ids of the changed documents.

    Raises:
        StoreError: the recorded changes of a question are damaged.
    """
    listed = run("read/list_overview_readers", node_ids=list(overview_ids))
    if not listed:
        return
    chosen = {row["node_id"]: min(row["documents"], key=lambda item: (item not in changed, item)) for row in listed}
    named = run("read/find_document_keys", document_ids=sorted(set(chosen.values())))
    keys = {row["id"]: row["key"] for row in named}
    changed_at = datetime.now(timezone.utc).isoformat(timespec="seconds")
    changes: dict[str, dict[str, Change]] = {}
    lost: Counter[str] = Counter()
    for row in listed:
        question, document_id = row["id"], chosen[row["node_id"]]
        before = {change.document_id: change for change in question_rows.decode_changes(row)}
        known = changes.setdefault(question, before)
        last = known.get(document_id, Change(document_id, keys.get(document_id, ""), Action.DEEPENED, changed_at, 0))
        known[document_id] = replace(last, changed_at=changed_at, reads=last.reads + 1)
        lost[question] += 1
    all_changes = {question: of_question.values() for question, of_question in changes.items()}
    create("write/mark_questions", question_rows.change_columns(all_changes, lost))
