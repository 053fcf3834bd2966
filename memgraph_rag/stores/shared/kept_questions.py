"""Kept questions: how they are stored, when they are stale, and when they go.

Like ``graph_writes``, it knows no engine and begins no transaction. Invariant: a question rests on documents that are
stored; what was read for it is there, or a change says of which document how much is gone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timezone

from memgraph_rag.display import show
from memgraph_rag.errors import DocumentNotFound, QuestionNotFound, StoreError
from memgraph_rag.stores.shared import question_rows
from memgraph_rag.stores.shared.graph_reads import Run, nodes
from memgraph_rag.stores.shared.rows import Create
from memgraph_rag.types import Action, Change, Node, Question, Segment, question_id

__all__ = ["forget", "forget_readers", "keep", "mark_overviews_gone", "mark_stale"]


def keep(run: Run, create: Create, question: Question, *, namespace: str) -> None:
    """Store a question in place of what was kept of it.

    Raises:
        StoreError: its id is not made of this namespace and its text, or it is stale.
        DocumentNotFound: what was read or cited is not stored any more.
    """
    if question.id != question_id(namespace, question.text):  # else two namespaces might share it
        raise StoreError(
            f"Expected the id of a question to be made of namespace {show(namespace)} and its text, got {question.id}. "
            "Use question_id(namespace, text).",
            question_id=question.id,
        )
    if question.is_stale:
        raise StoreError(
            f"Expected a question with all that was read for it, got a stale one, {question.id}. Ask it again.",
            question_id=question.id,
        )
    _check_still_there(run, question, namespace)
    run("write/delete_questions", question_ids=[question.id])
    create("write/create_questions", question_rows.question_columns(question))
    create("write/link_reads_to_segments", question_rows.read_columns(question, "segment"))
    create("write/link_reads_to_points", question_rows.read_columns(question, "point"))
    create("write/link_reads_to_overviews", question_rows.read_columns(question, "overview"))


def _check_still_there(run: Run, question: Question, namespace: str) -> None:
    """Refuse a question of which a document was forgotten, or replaced under the same ids, while it was asked."""
    read = {step.node.id: step.node for step in question.answer.trace}
    cited = [citation.segment_id for citation in question.answer.citations]
    stored: dict[str, Node] = {node.id: node for node in nodes(run, [*read, *cited])}
    quoted = [stored.get(citation.segment_id) for citation in question.answer.citations]
    if any(stored.get(node_id) != node for node_id, node in read.items()) or not all(
        isinstance(node, Segment)
        and node.document_id == cited.document_id
        and node.text[cited.start - node.start : cited.end - node.start] == cited.quote
        for node, cited in zip(quoted, question.answer.citations, strict=True)
    ):
        raise DocumentNotFound(
            f"Expected all that was read for the question to be in namespace {show(namespace)} still, got less: a "
            "document was replaced or forgotten while it was asked. Nothing was kept; ask again.",
            namespace=namespace,
        )


def forget(run: Run, one_id: str, *, namespace: str) -> None:
    """Remove a kept question.

    Raises:
        QuestionNotFound: there is none.
    """
    if not run("read/find_questions", question_ids=[one_id]):
        raise QuestionNotFound(
            f"Expected the id of a kept question in namespace {show(namespace)}, got {show(one_id)}. questions() lists "
            "all.",
            question_id=one_id,
            namespace=namespace,
        )
    run("write/delete_questions", question_ids=[one_id])


def forget_readers(run: Run, document_id: str) -> int:
    """Remove the questions that rest on a document, stale ones too; how many."""
    question_ids = [row["id"] for row in run("read/list_readers", document_ids=[document_id], layers=[])]
    if question_ids:
        run("write/delete_questions", question_ids=question_ids)
    return len(question_ids)


def mark_stale(
    run: Run, create: Create, keys: Mapping[str, str], action: Action, *, layers: Collection[str] = ()
) -> Counter[str]:
    """Say of the questions that rest on documents that these change; for how many questions each does.

    Before the nodes of the documents go: afterwards nothing tells how many of them were read.

    Args:
        keys: of the documents, by id.
        action: ``REPLACED`` where all nodes of the documents go, ``DEEPENED`` where only points do.
        layers: those of which the points go where the action is ``DEEPENED``.

    Raises:
        StoreError: what changed before for one of the questions cannot be read.
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
            continue  # nothing goes that it still rests on
        reads_before = last.reads if last else 0
        known[document_id] = Change(document_id, keys[document_id], action, changed_at, reads_before + reads)
        lost[question] += reads
        readers[document_id] += 1
    create(
        "write/mark_questions",
        question_rows.change_columns({question_id: changes[question_id].values() for question_id in lost}, lost),
    )
    return readers


def mark_overviews_gone(run: Run, create: Create, overview_ids: Sequence[str], *, changed: Collection[str]) -> None:
    """Say of the questions for which these overviews were read that these go: by one of the documents below each.

    Before they go, and after ``mark_stale``: what that says of a document stays, and the overview is counted with it.

    Args:
        changed: the documents that change, of which one is named where the overview rests on it.

    Raises:
        StoreError: what changed before for one of the questions cannot be read.
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
