"""Converts errors into sentences that tell a model what to do.

It knows ``memgraph_rag.errors`` and the errors of the SDK. Invariant: of an unexpected error, only the name of its
class leaves the server.
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

_NEXT: dict[type[MemgraphRagError], str] = {
    DocumentNotFound: "The tool list_documents returns the keys; recall searches for a subject.",
    QuestionNotFound: "The resource memory://questions lists the kept questions.",
    StoreLocked: (
        "Only one process at a time can open an embedded file, and another server or command has it open. Try again "
        "when that has ended. For several clients the user can run one server: memgraph-rag serve."
    ),
    TooManyCalls: f"Call again in {RETRY_AFTER_S} s or later.",
    StoreReadOnly: "This server is read-only: tell the user that nothing can be remembered or forgotten.",
    ModelNotFound: "The tool recall needs no language model: it returns passages, and you write the answer.",
}


def explain(error: MemgraphRagError) -> str:
    """Return the class of an error, its message, and what to do next, if that is known."""
    return f"{type(error).__name__}: {advise(error)}"


def advise(error: MemgraphRagError) -> str:
    """Return the message of an error, and what to do next: advice for its class, or to retry if it is retryable."""
    advice = next((text for kind, text in _NEXT.items() if isinstance(error, kind)), "")
    if not advice and error.retryable:
        advice = "This may pass: try again in a moment."
    return f"{error} {advice}".strip()


def explain_tool_error(tool: str, error: ToolError) -> str:
    """Return the text for a failed call of a tool, without the prefix of the SDK, which does not help a model.

    Of an unexpected cause it holds only the class (``explain_crash``). Without a cause it is the error's own text.
    """
    cause = error.__cause__
    if isinstance(cause, MemgraphRagError):
        return explain(cause)
    if isinstance(cause, ValidationError):
        return explain_arguments(tool, cause)
    if isinstance(cause, (ToolError, ResourceError)):
        return str(cause)
    return str(error) if cause is None else explain_crash(cause)


def explain_crash(cause: BaseException) -> str:
    """Return the text for an unexpected error: its class, and that the same call will not help."""
    return (
        f"Expected no failure within the server, got {type(cause).__name__}. The server's log has the details. The "
        "same call will most likely fail again: tell the user, or continue without it."
    )


def explain_unknown(what: str, name: str, known: Iterable[str]) -> str:
    """Return the text for an unknown name of a kind of thing (``what``: "a tool"), with the known names."""
    return f"Expected {what} out of {', '.join(known)}, got {show(name)}. Name one of them."


def explain_arguments(tool: str, error: ValidationError) -> str:
    """Return the text for invalid arguments of a tool, with at most eight problems."""
    problems = "; ".join(
        f"{show('.'.join(map(str, problem['loc'])))[1:-1] or 'arguments'}: {problem['msg']} "
        f"(got {show(problem['input'])})"
        for problem in error.errors(include_url=False)[:8]
    )
    return f"Expected arguments as the schema of {tool} says, got {problems}. Correct them and call {tool} again."
