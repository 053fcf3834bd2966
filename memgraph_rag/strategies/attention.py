"""Check that a session returns attention, for strategies that cannot work without it.

The module knows the session by its contract. Invariant: a returned session has attention.
"""

from __future__ import annotations

from memgraph_rag.contracts import ReadingSession
from memgraph_rag.display import show
from memgraph_rag.errors import StrategyError


def require_attention(session: ReadingSession, strategy: str) -> ReadingSession:
    """Return the session unchanged if it returns attention.

    Raises:
        StrategyError: the session's model runs on another server and no local reader measures attention.
    """
    if not session.attends:
        raise StrategyError(
            f"Expected a model with readable attention for strategy {show(strategy)}, got a model on a server "
            'without a local reader. Add one: Memory(model=…, reader="auto"), or ask with strategy="walk".',
            strategy=strategy,
        )
    return session
