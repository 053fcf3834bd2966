"""What every call of the server is given: the memories, and whose call it is.

It knows no tool. Invariant: a call reaches the namespace of its caller, and no argument can name another.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mcp.server.mcpserver import Context

from memgraph_rag.mcp.memories import Memories
from memgraph_rag.mcp.metrics import Metrics

if TYPE_CHECKING:
    from memgraph_rag import Memory

__all__ = ["Call", "Services"]


@dataclass(frozen=True, slots=True)
class Services:
    """The parts of a server.

    Attributes:
        caller_namespace: the namespace of whoever the current call comes from.
        metrics: what is counted of all calls.
    """

    memories: Memories
    caller_namespace: Callable[[], str]
    metrics: Metrics = field(default_factory=Metrics)

    @property
    def memory(self) -> Memory:
        """The caller's memory.

        Raises:
            MemgraphRagError: it cannot be opened.
        """
        return self.memories.get(self.caller_namespace())

    def in_use(self) -> AbstractContextManager[None]:
        """The caller's memory stays open meanwhile."""
        return self.memories.in_use(self.caller_namespace())


Call = Context[Services, Any]
"""The context of a tool, a resource or a prompt."""
