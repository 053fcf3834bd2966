"""Converts kept questions to rows of a database and back.

Like ``rows``, the module knows no engine. Invariant: a decoded question equals the encoded one, field by field. A
question that lacks a read node, without a change that records it, is not returned.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import astuple

from memgraph_rag.display import show
from memgraph_rag.errors import StoreError
from memgraph_rag.stores.shared.rows import Columns, Row, caption, field_columns
from memgraph_rag.types import (
    Action,
    Answer,
    AnswerWarning,
    Change,
    Citation,
    Node,
    Overview,
    Question,
    Step,
    StopReason,
    Usage,
    WarningKind,
)

_NOT_ASKED = -1.0
"""P(Yes) of a step without a probe. A row holds no null, because an engine would have to guess its type."""


def question_columns(question: Question) -> Columns:
    """Return a question and its answer as columns of one node to store.

    ``documents`` are those that were cited or read. The trace is not included, only its length: see ``read_columns``.
    """
    answer = question.answer
    documents = {cited.document_id for cited in answer.citations}
    for node in (step.node for step in answer.trace):
        documents.update(node.documents if isinstance(node, Overview) else (node.document_id,))
    row = {
        "id": question.id,
        "name": caption(question.text),
        "text": question.text,
        "asked_at": question.asked_at,
        "answer": answer.text,
        "abstained": answer.abstained,
        "stop_reason": answer.stop_reason.value,
        "strategy": answer.strategy,
        "model": answer.model,
        "nodes": len(answer.trace),
        "prompt_tokens": answer.usage.prompt_tokens,
        "generated_tokens": answer.usage.generated_tokens,
        "model_calls": answer.usage.model_calls,
        "seconds": float(answer.usage.seconds),
        "citations": json.dumps([astuple(cited) for cited in answer.citations], ensure_ascii=False, default=float),
        "documents": sorted(documents),
        "changes": _encode_changes(question.changes),
        "warnings": json.dumps([astuple(warning) for warning in answer.warnings], ensure_ascii=False),
        "short": answer.short,
    }
    return {name: [value] for name, value in row.items()}


def change_columns(changes: Mapping[str, Iterable[Change]], lost: Mapping[str, int]) -> Columns:
    """Return the recorded changes of questions as columns to store, one row for each question.

    Args:
        changes: all changes of each question, by question id.
        lost: how many nodes that were read for each question the latest change deletes.
    """
    return {
        "id": list(changes),
        "changes": [_encode_changes(of_question) for of_question in changes.values()],
        "lost": [lost[question] for question in changes],
    }


def _encode_changes(changes: Iterable[Change]) -> str:
    in_order = sorted(changes, key=lambda change: (change.document_key, change.document_id))
    return json.dumps([astuple(change) for change in in_order], ensure_ascii=False)


def decode_changes(row: Row) -> list[Change]:
    """Return the changes of documents that a question's row records, in the order of document keys.

    Raises:
        StoreError: the record is damaged.
    """
    with _report_damage(row["id"]):
        return [
            Change(str(document_id), str(key), Action(action), str(changed_at), int(reads))
            for document_id, key, action, changed_at, reads in json.loads(row["changes"])
        ]


def read_columns(question: Question, kind: str) -> Columns:
    """Return READ edges from a question to the nodes of one kind that were read, as columns to store.

    The column ``order`` is the node's place in the whole trace, from 1.
    """
    read = [(order, step) for order, step in enumerate(question.answer.trace, 1) if step.node.kind == kind]
    steps = [step for _, step in read]
    return field_columns(steps, "via", "reason") | {
        "question_id": [question.id] * len(read),
        "node_id": [step.node.id for step in steps],
        "order": [order for order, _ in read],
        "score": [float(step.score) for step in steps],
        "attention": [float(step.attention) for step in steps],
        "p_yes": [_NOT_ASKED if step.p_yes is None else float(step.p_yes) for step in steps],
        "sources": [json.dumps(dict(step.sources), default=float) for step in steps],
        "stop": ["" if step.stop is None else step.stop.value for step in steps],
        "dropped": [list(step.dropped) for step in steps],
    }


def decode_questions(
    question_rows: Iterable[Row], reads: Iterable[Row], nodes: Mapping[str, Node]
) -> Iterator[Question]:
    """Yield the kept questions that rows of the database hold, in order.

    A question with fewer steps than its row counts is left out: a node was deleted during the reading.

    Args:
        reads: rows of the questions' READ edges, by question and order.
        nodes: the nodes at the end of these edges, by id.

    Raises:
        StoreError: a row is damaged.
    """
    traces: dict[str, list[Step]] = {}
    for row in reads:
        if row["node_id"] in nodes:
            with _report_damage(row["question_id"]):
                step = _decode_step(row, nodes[row["node_id"]])
            traces.setdefault(row["question_id"], []).append(step)
    for row in question_rows:
        trace = traces.get(row["id"], [])
        if len(trace) == row["nodes"]:  # else a writer deleted the question or a read node during the reading
            with _report_damage(row["id"]):
                answer = _decode_answer(row, tuple(trace))
            yield Question(row["id"], row["asked_at"], answer, tuple(decode_changes(row)))


@contextmanager
def _report_damage(question_id: str) -> Iterator[None]:
    try:
        yield
    except (ValueError, TypeError) as exc:  # invalid JSON, or JSON with invalid values
        raise StoreError(
            f"Expected the kept question {question_id} in its stored form, got damaged JSON ({show(exc)}). "
            f"Forget it: memgraph-rag forget --question {question_id}",
            question_id=question_id,
        ) from exc


def _decode_step(row: Row, node: Node) -> Step:
    return Step(
        node,
        row["score"],
        row["attention"],
        None if row["p_yes"] < 0 else row["p_yes"],
        StopReason(row["stop"]) if row["stop"] else None,
        json.loads(row["sources"]),
        row["via"],
        row["reason"],
        tuple(row["dropped"]),
    )


def _decode_answer(row: Row, trace: tuple[Step, ...]) -> Answer:
    return Answer(
        question=row["text"],
        text=row["answer"],
        abstained=row["abstained"],
        stop_reason=StopReason(row["stop_reason"]),
        citations=tuple(Citation(*cited) for cited in json.loads(row["citations"])),
        trace=trace,
        usage=Usage(row["prompt_tokens"], row["generated_tokens"], row["model_calls"], row["seconds"]),
        strategy=row["strategy"],
        model=row["model"],
        warnings=tuple(
            AnswerWarning(WarningKind(kind), str(quote), str(key)) for kind, quote, key in json.loads(row["warnings"])
        ),
        short=row["short"],
    )
