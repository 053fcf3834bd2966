"""What was done, for logs and traces: names, numbers and ids, never a text.

Each call of ``Memory`` that writes, asks, searches or examines ends with one record of the logger ``memgraph_rag`` at
level INFO: its message reads as a line, and ``record.event`` and ``record.facts`` say the same to a program. With the
extra ``otel`` it is a span as well; who does not configure OpenTelemetry gets none. It knows the public records only.
Invariant: no text, title, key, question, answer or name of a document or an entity is in either.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Generator, Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import cache
from typing import Any, TypeVar

from memgraph_rag.types import Answer, Failure, Receipt, Step, Usage

__all__ = ["each", "of_receipt", "over", "span"]

Facts = dict[str, Any]
Outcome = TypeVar("Outcome", Receipt, Receipt | Failure)

_PREFIX = "memgraph_rag"

logger = logging.getLogger(_PREFIX)


@contextmanager
def span(event: str, **facts: Any) -> Iterator[Facts]:
    """One call: when it ends, the facts that were put in are told, or by which error it failed."""
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


def each(event: str, outcomes: Iterable[Outcome]) -> Generator[Outcome, None, None]:
    """The outcomes, each told of as it comes."""
    for outcome in outcomes:
        _log(event, of_receipt(outcome) if isinstance(outcome, Receipt) else {"error": type(outcome.error).__name__})
        yield outcome


def over(
    event: str, items: Generator[Step | str | Answer, None, None], **facts: Any
) -> Generator[Step | str | Answer, None, None]:
    """The items of an answer as it comes about; told of when it is there, or left ("GeneratorExit")."""
    with span(event, **facts) as event_fields, closing(items):
        for item in items:
            if isinstance(item, Answer):
                event_fields |= {
                    "stop": item.stop_reason.value,
                    "abstained": item.abstained,
                    "nodes": len(item.trace),
                    "citations": len(item.citations),
                    **_of_usage(item.usage),
                }
            yield item


def of_receipt(receipt: Receipt) -> Facts:
    """What a receipt tells without a text: a document's id is a hash."""
    return {
        "action": receipt.action.value,
        "document_id": receipt.document_id,
        **{f"count.{name}": count for name, count in sorted(receipt.counts.items())},
        **_of_usage(receipt.usage),
    }


def _of_usage(usage: Usage) -> Facts:
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
    """OpenTelemetry's, where its API is installed; else None."""
    try:
        from opentelemetry import trace  # pyright: ignore[reportMissingImports]
    except ImportError:
        return None
    return trace.get_tracer(_PREFIX)
