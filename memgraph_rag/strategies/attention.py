"""Attention as a strategy's need: a session that tells it, or a refusal that says how to get one.

It knows the session by its contract. Invariant: what is returned attends.
"""

from __future__ import annotations

from memgraph_rag.contracts import ReadingSession
from memgraph_rag.display import show
from memgraph_rag.errors import StrategyError

__all__ = ["require_attention"]


def require_attention(session: ReadingSession, strategy: str) -> ReadingSession:
    """The session, known to attend.

    Raises:
        StrategyError: its model is behind an address, and there is no reader beside it.
    """
    if not session.attends:
        raise StrategyError(
            f"Expected a model whose attention can be read for strategy {show(strategy)}, got one behind an address, "
            'without a reader. Give it one: Memory(model=…, reader="auto"), or ask with strategy="walk".',
            strategy=strategy,
        )
    return session
