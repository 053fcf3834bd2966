"""Kept questions: how they are stored, and when they go.

It knows no engine and begins no transaction, as ``writing``. The invariant: a question that is stored was answered from
what is stored; with the first document of which something was read for it, it goes.
"""

from __future__ import annotations

from memgraph_rag.errors import DocumentNotFound, QuestionNotFound, StoreError
from memgraph_rag.stores import question_rows
from memgraph_rag.stores.reading import Run, nodes
from memgraph_rag.stores.rows import Create
from memgraph_rag.types import Node, Question, Segment, question_id

__all__ = ["forget", "forget_readers", "keep"]


def keep(run: Run, create: Create, question: Question, *, namespace: str) -> None:
    """Store a question in place of what was kept of it.

    Raises:
        StoreError: its id is not made of this namespace and its text.
        DocumentNotFound: what was read or cited is not stored any more.
    """
    if question.id != question_id(namespace, question.text):  # else two namespaces might share it
        raise StoreError(
            f"expected the id of a question to be made of namespace {namespace!r} and its text; came {question.id}. "
            "Use question_id(namespace, text).",
            question_id=question.id,
        )
    _check_still_there(run, question, namespace)
    run("write/delete_questions", question_ids=[question.id])
    create("write/create_questions", question_rows.question_columns(question))
    create("write/link_reads_to_segments", question_rows.read_columns(question, "segment"))
    create("write/link_reads_to_points", question_rows.read_columns(question, "point"))


def _check_still_there(run: Run, question: Question, namespace: str) -> None:
    """Refuse a question of which a document was forgotten, or replaced under the same ids, while it was asked."""
    read = {step.node.id: step.node for step in question.answer.trace}
    cited = [citation.segment_id for citation in question.answer.citations]
    held: dict[str, Node] = {node.id: node for node in nodes(run, [*read, *cited])}
    quoted = [held.get(citation.segment_id) for citation in question.answer.citations]
    if any(held.get(node_id) != node for node_id, node in read.items()) or not all(
        isinstance(node, Segment) and node.text[cited.start - node.start : cited.end - node.start] == cited.quote
        for node, cited in zip(quoted, question.answer.citations, strict=True)
    ):
        raise DocumentNotFound(
            f"expected all that was read for the question to be in namespace {namespace!r} still; a document was "
            "replaced or forgotten while it was asked. Nothing was kept; ask again.",
            namespace=namespace,
        )


def forget(run: Run, one_id: str, *, namespace: str) -> None:
    """Remove a kept question.

    Raises:
        QuestionNotFound: there is none.
    """
    if not run("read/find_questions", question_ids=[one_id]):
        raise QuestionNotFound(
            f"no kept question {one_id!r} in namespace {namespace!r}. questions() lists those that are there.",
            question_id=one_id,
            namespace=namespace,
        )
    run("write/delete_questions", question_ids=[one_id])


def forget_readers(run: Run, document_id: str, *, of_points: bool = False) -> None:
    """Remove the questions for which something of a document was read, or only those for which one of its points was.

    Before the document's nodes go: afterwards nothing tells which questions read them.
    """
    found = run("read/list_readers", document_id=document_id)
    gone = list(dict.fromkeys(row["id"] for row in found if row["is_point"] or not of_points))
    if gone:
        run("write/delete_questions", question_ids=gone)
