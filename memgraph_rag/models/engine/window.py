"""Checks that a text fits a model's window, for models in this process and on a server.

The module knows only numbers of tokens. Invariant: a text that passes these checks leaves room for a reply.
"""

from __future__ import annotations

from memgraph_rag.errors import QuestionError, WindowExceeded

ANSWER_ROOM = 256
"""Tokens that a reading session keeps free for the answer turn."""


def check_window(tokens: int, window: int) -> None:
    """Raise WindowExceeded if a text has more tokens than the window."""
    if tokens > window:
        raise WindowExceeded(
            f"Expected at most {window} tokens at once, got {tokens}. Give less text or a larger window.",
            tokens=tokens, window=window,
        )  # fmt: skip


def check_prompt(tokens: int, max_tokens: int, window: int, *, is_estimate: bool = False) -> None:
    """Raise WindowExceeded if a prompt, with ``max_tokens`` kept for its output, does not fit the window."""
    most = window - max_tokens
    if tokens > most:
        raise WindowExceeded(
            f"Expected a prompt of at most {most} tokens (window {window}, {max_tokens} kept for the output), got "
            f"{'about ' if is_estimate else ''}{tokens}. Give fewer inputs at once.",
            tokens=tokens, window=window,
        )  # fmt: skip


def check_request(tokens: int, room: int, window: int) -> None:
    """Raise WindowExceeded if a request leaves no room for a reply within ``room``, the tokens that are left."""
    if tokens >= room:
        raise WindowExceeded(
            f"Expected a request of fewer than {room} tokens in this session, got {tokens}. Read fewer nodes first.",
            tokens=tokens, window=window,
        )  # fmt: skip


def check_question(tokens: int, needed: int, window: int) -> None:
    """Raise QuestionError if ``needed``, a question's tokens with the prompt around it, do not fit the window."""
    if needed > window:
        raise QuestionError(
            f"Expected a question that fits the model's window of {window} tokens, got {tokens} tokens. "
            "Ask a shorter question, or use a model with a larger window.",
            tokens=tokens, window=window,
        )  # fmt: skip


def check_nodes(tokens: int, left: int, window: int) -> None:
    """Raise WindowExceeded if nodes do not fit ``left``, the room that is left in a session."""
    if tokens > left:
        raise WindowExceeded(
            f"Expected at most {left} more tokens in this session, got {tokens}. Read fewer or shorter nodes.",
            tokens=tokens, window=window,
        )  # fmt: skip
