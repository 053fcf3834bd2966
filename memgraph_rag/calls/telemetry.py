"""Logs and traces each call with names, numbers and ids.

Each call of ``Memory`` that writes, asks, searches or examines ends with one record of the logger ``memgraph_rag`` at
level INFO. Its message is a line for people; ``record.event`` and ``record.facts`` hold the same for programs. With the
extra ``otel`` and a configured OpenTelemetry each call is also a span. Invariant: no text, title, key, question, answer
or name of a document or an entity is in a record or a span.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Generator, Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import cache
from typing import Any, TypeVar

from memgraph_rag.types import Answer, Failure, Part, Receipt, Step, Usage

__all__ = ["describe_receipt", "log_answer", "log_outcomes", "span"]

Facts = dict[str, Any]
Outcome = TypeVar("Outcome", Receipt, Receipt | Failure)

_PREFIX = "memgraph_rag"

logger = logging.getLogger(_PREFIX)


@contextmanager
def span(event: str, **facts: Any) -> Iterator[Facts]:
    """Log the block as one event when it ends, with its duration and, if it raised, the type of the error.

    Yields:
        A dict with ``facts``, to which the block adds further facts.
    """
    began = time.perf_counter()
    event_fields: Facts = dict(facts)
    traced = _tracer().start_span(f"{_PREFIX}.{event}") if _tracer() else None

    def end(kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            event_fields["error"] = kind.__name__
        event_fields["seconds"] = round(time.perf_counter() - began, 6)
        _log(event, event_fields)
        if traced is not None:
            traced.set_attributes({f"{_PREFIX}.{name}": value for name, value in event_fields.items()})
            traced.end()

    with ExitStack() as call:
        call.push(end)
        yield event_fields


def log_outcomes(event: str, outcomes: Iterable[Outcome]) -> Generator[Outcome, None, None]:
    """Yield the outcomes, and log each as one event before it is yielded; an outcome never requested is not logged."""
    for outcome in outcomes:
        is_receipt = isinstance(outcome, Receipt)
        _log(event, describe_receipt(outcome) if is_receipt else {"error": type(outcome.error).__name__})
        yield outcome


def log_answer(
    event: str, items: Generator[Step | Part | str | Answer, None, None], **facts: Any
) -> Generator[Step | Part | str | Answer, None, None]:
    """Yield the items of an answer, and log one event at the end; an abandoned answer has the error "GeneratorExit"."""
    with span(event, **facts) as event_fields, closing(items):
        for item in items:
            if isinstance(item, Answer):
                event_fields |= {
                    "stop": item.stop_reason.value,
                    "abstained": item.abstained,
                    "nodes": len(item.trace),
                    "citations": len(item.citations),
                    **_describe_usage(item.usage),
                }
            yield item


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
