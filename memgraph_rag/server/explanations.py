"""Errors as sentences that a model can act on.

It knows the tree of our errors and what the SDK raises. Invariant: nothing of a crash but its kind leaves the server.
"""

from __future__ import annotations

from collections.abc import Iterable

from mcp.server.mcpserver.exceptions import ResourceError, ToolError
from pydantic import ValidationError

from memgraph_rag.display import show
from memgraph_rag.errors import (
    DocumentNotFound,
    MemgraphRagError,
    ModelNotFound,
    QuestionNotFound,
    StoreLocked,
    StoreReadOnly,
)
from memgraph_rag.server.limits import RETRY_AFTER_S, TooManyCalls

__all__ = ["advise", "explain", "explain_arguments", "explain_crash", "explain_tool_error", "explain_unknown"]

_NEXT: dict[type[MemgraphRagError], str] = {
    DocumentNotFound: "The tool list_documents tells the keys, recall what is stored about a subject.",
    QuestionNotFound: "The resource memory://questions lists the questions that were kept.",
    StoreLocked: (
        "One process at a time has an embedded file open: another server or command does now. Try again when it has "
        "ended; for several clients at once the user runs one server, memgraph-rag mcp --http."
    ),
    TooManyCalls: f"Call again in {RETRY_AFTER_S} s or later.",
    StoreReadOnly: "This server was started to read only: tell the user that nothing can be remembered or forgotten.",
    ModelNotFound: "The tool recall needs no language model: it gives the passages, and you write the answer.",
}


def explain(error: MemgraphRagError) -> str:
    """The kind of an error, what was expected, what came, and what to do next."""
    return f"{type(error).__name__}: {advise(error)}"


def advise(error: MemgraphRagError) -> str:
    """What was expected, what came, and what to do next."""
    advice = next((text for kind, text in _NEXT.items() if isinstance(error, kind)), "")
    if not advice and error.retryable:
        advice = "This may pass: try again in a moment."
    return f"{error} {advice}".strip()


def explain_tool_error(tool: str, error: ToolError) -> str:
    """The text of a failed call, without the SDK's own beginning, which tells a model nothing."""
    cause = error.__cause__
    if isinstance(cause, MemgraphRagError):
        return explain(cause)
    if isinstance(cause, ValidationError):
        return explain_arguments(tool, cause)
    if isinstance(cause, (ToolError, ResourceError)):
        return str(cause)
    return str(error) if cause is None else explain_crash(cause)


def explain_crash(cause: BaseException) -> str:
    """What a model is told of an error that nobody foresaw: its kind, and that calling again does not help."""
    return (
        f"Expected no failure within the server, got {type(cause).__name__}. It is in the server's log. The same call "
        "will most likely fail again: tell the user, or do without it."
    )


def explain_unknown(what: str, name: str, known: Iterable[str]) -> str:
    """A name that is none of the known ones."""
    return f"Expected {what} out of {', '.join(known)}, got {show(name)}. Name one of them."


def explain_arguments(tool: str, error: ValidationError) -> str:
    """Which arguments a tool cannot take, the first eight."""
    problems = "; ".join(
        f"{'.'.join(map(str, problem['loc'])) or 'arguments'}: {problem['msg']} (got {show(problem['input'])})"
        for problem in error.errors(include_url=False)[:8]
    )
    return f"Expected arguments as the schema of {tool} says, got {problems}. Correct them and call {tool} again."
