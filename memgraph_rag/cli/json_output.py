"""The JSON forms: what programs read from the command line.

It knows the public types, and nothing of terminals. Invariant: these shapes are a promise; a key may be added, none
changes its meaning or goes away.
"""

from __future__ import annotations

import json
from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypedDict

import typer

from memgraph_rag.cli.sanitize import escape

if TYPE_CHECKING:
    from memgraph_rag import Answer, DocumentRecord, Evidence, Failure, Receipt, Standing, Step
    from memgraph_rag.types import Change, Entity, Neighbourhood, Node, Question, Usage

__all__ = [
    "AnswerForm",
    "CitationForm",
    "StepForm",
    "UsageForm",
    "WarningForm",
    "answer_form",
    "change_form",
    "document_form",
    "entity_form",
    "evidence_form",
    "failure_form",
    "node_form",
    "question_form",
    "receipt_form",
    "standing_form",
    "step_form",
    "surroundings_form",
    "usage_form",
    "write_json",
]


class StepForm(TypedDict):
    """One node that was read."""

    node_id: str
    kind: str
    level: int
    score: float
    attention: float
    p_yes: float | None
    sources: dict[str, float]
    via: str
    reason: str
    dropped: list[str]
    text: str


class CitationForm(TypedDict):
    """A span that stands verbatim in a document."""

    document_key: str
    start: int
    end: int
    quote: str


class WarningForm(TypedDict):
    """What speaks against trusting an answer: a link, or the line of a document; ``text`` is the whole sentence."""

    kind: str
    document_key: str
    quote: str
    text: str


class UsageForm(TypedDict):
    """What it cost."""

    prompt_tokens: int
    generated_tokens: int
    model_calls: int
    seconds: float


class AnswerForm(TypedDict):
    """What ``ask --json`` prints."""

    text: str
    short: str
    abstained: bool
    stop_reason: str
    citations: list[CitationForm]
    trace: list[StepForm]
    usage: UsageForm
    warnings: list[WarningForm]


def answer_form(answer: Answer) -> AnswerForm:
    """An answer with its citations, its trace and its cost."""
    return {
        "text": answer.text,
        "short": answer.short,
        "abstained": answer.abstained,
        "stop_reason": answer.stop_reason.value,
        "citations": [
            {"document_key": cited.document_key, "start": cited.start, "end": cited.end, "quote": cited.quote}
            for cited in answer.citations
        ],
        "trace": [step_form(step) for step in answer.trace],
        "usage": usage_form(answer.usage),
        "warnings": [
            {
                "kind": warning.kind.value,
                "document_key": warning.document_key,
                "quote": warning.quote,
                "text": str(warning),
            }
            for warning in answer.warnings
        ],
    }


def step_form(step: Step) -> StepForm:
    """One step; numbers are Python's own, whatever the model computed in."""
    return {
        "node_id": step.node.id,
        "kind": step.node.kind,
        "level": step.node.level,
        "score": float(step.score),
        "attention": float(step.attention),
        "p_yes": None if step.p_yes is None else float(step.p_yes),
        "sources": {name: float(part) for name, part in step.sources.items()},
        "via": step.via,
        "reason": step.reason,
        "dropped": list(step.dropped),
        "text": step.node.text,
    }


def usage_form(usage: Usage) -> UsageForm:
    """What a piece of work cost."""
    return {
        "prompt_tokens": usage.prompt_tokens,
        "generated_tokens": usage.generated_tokens,
        "model_calls": usage.model_calls,
        "seconds": round(usage.seconds, 3),
    }


def receipt_form(receipt: Receipt) -> dict[str, Any]:
    """What a write did."""
    return {
        "document_id": receipt.document_id,
        "key": receipt.key,
        "action": receipt.action.value,
        "counts": dict(receipt.counts),
        "notes": dict(receipt.notes),
        "usage": usage_form(receipt.usage),
        "echoes": receipt.echoes,
        "stale_questions": receipt.stale_questions,
        "forgotten_questions": receipt.forgotten_questions,
        "same_as": list(receipt.same_as),
    }


def failure_form(failure: Failure) -> dict[str, Any]:
    """A source that could not be added."""
    return {"source": failure.source, "error": type(failure.error).__name__, "message": str(failure.error)}


def evidence_form(evidence: Evidence) -> dict[str, Any]:
    """A segment or a run of them that was found, and by which lists at which rank."""
    return {
        "node_id": evidence.segment.id,
        "document_key": evidence.document_key,
        "start": evidence.start,
        "end": evidence.end,
        "score": float(evidence.score),
        "relevance": evidence.relevance,
        "why": dict(evidence.why),
        "path": [_fields(carrier) for carrier in evidence.path],
        "text": evidence.text,
        "speaker": evidence.segment.speaker,
        "time": evidence.segment.time,
        "standing": standing_form(evidence.standing) if evidence.standing else None,
        "days": [
            {"words": days.words, "first": days.first.isoformat(), "last": days.last.isoformat()}
            for days in evidence.days
        ],
        "remarks": list(evidence.remarks),
    }


def standing_form(standing: Standing) -> dict[str, Any]:
    """Whether a statement holds, and the statements that it stands against."""
    return {**_fields(standing), "rivals": [_fields(rival) for rival in standing.rivals]}


def document_form(record: DocumentRecord) -> dict[str, Any]:
    """A document as the store knows it."""
    return {**_fields(record), "layers": list(record.layers), "metadata": dict(record.metadata)}


def node_form(node: Node, document_key: str) -> dict[str, Any]:
    """A segment or an information point."""
    return {"kind": node.kind, "level": node.level, "document_key": document_key, **_fields(node)}


def entity_form(entity: Entity) -> dict[str, Any]:
    """An entity."""
    return {**_fields(entity), "kinds": list(entity.kinds)}


def question_form(question: Question) -> dict[str, Any]:
    """A kept question with its answer."""
    answer = question.answer
    return {
        "id": question.id,
        "question": question.text,
        "asked_at": question.asked_at,
        "strategy": answer.strategy,
        "model": answer.model,
        "answer": answer_form(answer),
        "stale": question.is_stale,
        "changes": [change_form(change) for change in question.changes],
    }


def change_form(change: Change) -> dict[str, Any]:
    """What became of a document that a kept question rests on."""
    return {**_fields(change), "action": change.action.value}


def surroundings_form(neighbourhood: Neighbourhood) -> dict[str, Any]:
    """What is tied to a thing: things by id, and the edges between them."""
    return {
        "ties": [_fields(tie) for tie in neighbourhood.ties],
        "things": {
            node_id: {"type": type(thing).__name__, **_caption(thing)}
            for node_id, thing in neighbourhood.things.items()
        },
        "left_out": dict(neighbourhood.left_out),
    }


def _caption(thing: Any) -> dict[str, str]:
    return {name: getattr(thing, name) for name in ("key", "title", "name", "text") if hasattr(thing, name)}


def _fields(record: Any) -> dict[str, Any]:
    return {field.name: getattr(record, field.name) for field in fields(record)}


def write_json(form: object) -> None:
    """Print one JSON value on standard output: UTF-8, not escaped but for what could drive a terminal."""
    typer.echo(escape(json.dumps(form, ensure_ascii=False, indent=2)).encode())
