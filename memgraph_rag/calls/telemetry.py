"""Logs and traces each call with names, numbers and ids.

Each call of ``Memory`` that writes, asks, searches or examines ends with one record of the logger ``memgraph_rag`` at
level INFO. Its message is a line for people; ``record.event`` and ``record.facts`` hold the same for programs. With the
extra ``otel`` and a configured OpenTelemetry each call is also a span, with the attributes ``gen_ai.*``. Invariant: no
text, title, key, question, answer or name of a document or an entity is in a record or a span; with the setting
``capture_content`` the question and the answer are in the span, and only there.

Source: OpenTelemetry's semantic conventions for generative AI (retrieval, memory and inference spans).
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Generator, Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import cache
from typing import Any, TypeVar

from memgraph_rag.types import Answer, Citation, Evidence, Failure, Part, Receipt, Step, Usage

Facts = dict[str, Any]
Outcome = TypeVar("Outcome", Receipt, Receipt | Failure)

_PREFIX = "memgraph_rag"
_GEN_AI = "gen_ai."
_OPERATIONS = {
    "add": "upsert_memory",
    "session_add": "upsert_memory",
    "forget": "delete_memory",
    "search": "retrieval",
    "ask": "chat",
}
"""The name of an event's operation in the conventions; further events have none."""
_TOKENS = {"prompt_tokens": "gen_ai.usage.input_tokens", "generated_tokens": "gen_ai.usage.output_tokens"}
_MOST_RETRIEVED = 100  # documents that a span lists

logger = logging.getLogger(_PREFIX)


@contextmanager
def span(event: str, **facts: Any) -> Iterator[Facts]:
    """Log the block as one event when it ends, with its duration and, if it raised, the type of the error.

    Yields:
        A dict with ``facts``, to which the block adds further facts. Names with ``gen_ai.`` go into the span only.
    """
    began = time.perf_counter()
    event_fields: Facts = dict(facts)
    traced = _tracer().start_span(f"{_PREFIX}.{event}") if _tracer() else None

    def end(kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            event_fields["error"] = kind.__name__
        event_fields["seconds"] = round(time.perf_counter() - began, 6)
        _log(event, {name: value for name, value in event_fields.items() if not name.startswith(_GEN_AI)})
        if traced is not None:
            traced.set_attributes(_make_attributes(event, event_fields))
            if kind is not None and issubclass(kind, Exception):
                traced.set_status(_error_status())
            traced.end()

    with ExitStack() as call:
        call.push(end)
        yield event_fields


def _make_attributes(event: str, event_fields: Facts) -> Facts:
    """Return the attributes of a span: the event's own names, and the names of the conventions."""
    attributes = {
        name if name.startswith(_GEN_AI) else f"{_PREFIX}.{name}": value for name, value in event_fields.items()
    }
    attributes |= {name: event_fields[own] for own, name in _TOKENS.items() if event_fields.get(own)}
    if event in _OPERATIONS:
        attributes["gen_ai.operation.name"] = _OPERATIONS[event]
    if "error" in event_fields:
        attributes["error.type"] = event_fields["error"]
    return attributes


def describe_retrieval(found: Iterable[Evidence | Citation], *, k: int, query: str | None = None) -> Facts:
    """Return the attributes that OpenTelemetry defines for a search: ids and scores of the first 100 segments.

    They are empty if OpenTelemetry is not installed.

    Args:
        query: the query, if the span may hold it.
    """
    if not _tracer():
        return {}
    pairs = [(item.segment.id if isinstance(item, Evidence) else item.segment_id, item.score) for item in found]
    documents = [{"id": segment_id, "score": float(score)} for segment_id, score in pairs[:_MOST_RETRIEVED]]
    asked = {} if query is None else {"gen_ai.retrieval.query.text": query}
    return {"gen_ai.retrieval.top_k": k, "gen_ai.retrieval.documents": json.dumps(documents), **asked}


def log_outcomes(event: str, outcomes: Iterable[Outcome]) -> Generator[Outcome, None, None]:
    """Yield outcomes (receipts or failures of documents), and log each as one event named ``event`` before."""
    for outcome in outcomes:
        is_receipt = isinstance(outcome, Receipt)
        _log(event, describe_receipt(outcome) if is_receipt else {"error": type(outcome.error).__name__})
        yield outcome


def log_answer(
    event: str, items: Generator[Step | Part | str | Answer, None, None], *, has_content: bool, **facts: Any
) -> Generator[Step | Part | str | Answer, None, None]:
    """Yield the items of a streamed answer, and log one event named ``event`` at the end.

    The event of an abandoned answer has the error "GeneratorExit".

    Args:
        has_content: whether the span may hold question and answer.
    """
    with span(event, **facts) as event_fields, closing(items):
        for item in items:
            if isinstance(item, Answer):
                event_fields |= {
                    "stop": item.stop_reason.value,
                    "abstained": item.abstained,
                    "nodes": len(item.trace),
                    "citations": len(item.citations),
                    **_describe_usage(item.usage),
                    **_describe_answer(item, has_content=has_content),
                }
            yield item


def _describe_answer(answer: Answer, *, has_content: bool) -> Facts:
    """Return the attributes of an answer; its documents are the segments that it cites."""
    found = describe_retrieval(answer.citations, k=len(answer.citations))
    if not found:
        return {}
    model = {"gen_ai.request.model": answer.model, "gen_ai.response.model": answer.model} if answer.model else {}
    if not has_content:
        return {**found, **model}
    messages = {
        "gen_ai.input.messages": [{"role": "user", "parts": [{"type": "text", "content": answer.question}]}],
        "gen_ai.output.messages": [
            {"role": "assistant", "parts": [{"type": "text", "content": answer.text}], "finish_reason": "stop"}
        ],
    }
    return {**found, **model, **{name: json.dumps(value) for name, value in messages.items()}}


def describe_receipt(receipt: Receipt) -> Facts:
    """Return the fields of a receipt that hold no text: action, document id (a hash), counts and usage of models."""
    return {
        "action": receipt.action.value,
        "document_id": receipt.document_id,
        **{f"count.{name}": count for name, count in sorted(receipt.counts.items())},
        **_describe_usage(receipt.usage),
    }


def _describe_usage(usage: Usage) -> Facts:
    return {
        "prompt_tokens": usage.prompt_tokens,
        "generated_tokens": usage.generated_tokens,
        "model_calls": usage.model_calls,
    }


def _log(event: str, facts: Facts) -> None:
    if logger.isEnabledFor(logging.INFO):
        line = " ".join(f"{name}={value}" for name, value in facts.items())
        logger.info("%s %s", event, line, extra={"event": event, "facts": dict(facts)})


@cache
def _tracer() -> Any:
    """Return the tracer of OpenTelemetry, or None if its API is not installed."""
    try:
        from opentelemetry import trace  # pyright: ignore[reportMissingImports]
    except ImportError:
        return None
    return trace.get_tracer(_PREFIX)


def _error_status() -> Any:
    from opentelemetry.trace import Status, StatusCode  # pyright: ignore[reportMissingImports]

    return Status(StatusCode.ERROR)
