"""What fits a model's window, or is refused: the same rules for weights here and for a server.

It knows numbers of tokens only. Invariant: what passes here leaves room for something to be said.
"""

from __future__ import annotations

from memgraph_rag.errors import QuestionError, WindowExceeded

__all__ = ["ANSWER_ROOM", "check_nodes", "check_question", "check_request", "check_window"]

ANSWER_ROOM = 256
"""Tokens that a reading session keeps free for the answer turn."""


def check_window(tokens: int, window: int) -> None:
    """Refuse a text that is longer than the window: ``WindowExceeded``."""
    if tokens > window:
        raise WindowExceeded(
            f"Expected at most {window} tokens at once, got {tokens}.", tokens=tokens, window=window
        )  # fmt: skip


def check_request(tokens: int, room: int, window: int) -> None:
    """Refuse a request behind which nothing could be said any more: ``WindowExceeded``."""
    if tokens >= room:
        raise WindowExceeded(
            f"Expected a request of fewer than {room} tokens in this session, got {tokens}.",
            tokens=tokens, window=window,
        )  # fmt: skip


def check_question(tokens: int, needed: int, window: int) -> None:
    """Refuse a question that does not fit with all that is said around it: ``QuestionError``."""
    if needed > window:
        raise QuestionError(
            f"Expected a question that fits the model's window of {window} tokens, got {tokens} tokens. "
            "Ask a shorter question, or use a model with a larger window.",
            tokens=tokens, window=window,
        )  # fmt: skip


def check_nodes(tokens: int, left: int, window: int) -> None:
    """Refuse nodes for which a session has no room left: ``WindowExceeded``."""
    if tokens > left:
        raise WindowExceeded(
            f"Expected at most {left} more tokens in this session, got {tokens}.", tokens=tokens, window=window
        )  # fmt: skip
