"""What every call of the server is given: the memories, and whose call it is.

It knows no tool. Invariant: a call reaches the namespace of its caller, and no argument can name another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mcp.server.mcpserver import Context

from memgraph_rag.server.limits import CallLimits, TooManyCalls
from memgraph_rag.server.memories import Memories
from memgraph_rag.server.metrics import Metrics

if TYPE_CHECKING:
    from memgraph_rag import Memory

__all__ = ["Call", "Services"]


@dataclass(frozen=True, slots=True)
class Services:
    """The parts of a server.

    Attributes:
        caller_namespace: the namespace of whoever the current call comes from.
        metrics: what is counted of all calls.
        limits: how many calls may be under way.
    """

    memories: Memories
    caller_namespace: Callable[[], str]
    metrics: Metrics = field(default_factory=Metrics)
    limits: CallLimits = field(default_factory=CallLimits)

    @property
    def memory(self) -> Memory:
        """The caller's memory.

        Raises:
            MemgraphRagError: it cannot be opened.
        """
        return self.memories.get(self.caller_namespace())

    @contextmanager
    def under_way(self) -> Iterator[None]:
        """The caller's call is under way: its memory stays open meanwhile.

        Raises:
            TooManyCalls: it would be one too many.
        """
        caller = self.caller_namespace()
        with ExitStack() as call:
            try:
                call.enter_context(self.limits.under_way(caller))
            except TooManyCalls:
                self.metrics.send_back()
                raise
            call.enter_context(self.memories.in_use(caller))
            yield


Call = Context[Services, Any]
"""The context of a tool, a resource or a prompt."""
