"""``Services``: the parts of the server that each call uses, and the namespace of its caller.

It knows no tool. Invariant: a call reaches only the namespace of its caller; no argument can name another namespace.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mcp.server.mcpserver import Context

from memgraph_rag.server.limits import CallLimits, TooManyCalls
from memgraph_rag.server.memories import Memories
from memgraph_rag.server.metrics import Metrics
from memgraph_rag.server.problems import Failures
from memgraph_rag.server.tokens import TokenFolder
from memgraph_rag.types import Check

if TYPE_CHECKING:
    from memgraph_rag import Memory


@dataclass(frozen=True, slots=True)
class Owner:
    """The services that only the owner of this machine may use over HTTP.

    Attributes:
        tokens: the tokens of this machine's servers.
        examine: runs the checks of ``memgraph-rag doctor``, and returns the result of each.
    """

    tokens: TokenFolder
    examine: Callable[[], Iterable[Check]]


@dataclass(frozen=True, slots=True)
class Services:
    """The parts of a server.

    Attributes:
        memories: the open memories.
        caller_namespace: returns the namespace of the current caller.
        metrics: counts all calls.
        limits: the limits of concurrent calls.
        owner: what only the owner of this machine may do; None if no caller is the owner.
        failures: the last failures of the server over REST.
    """

    memories: Memories
    caller_namespace: Callable[[], str]
    metrics: Metrics
    limits: CallLimits
    owner: Owner | None
    failures: Failures = field(default_factory=Failures)

    @property
    def memory(self) -> Memory:
        """The caller's memory, which is opened if necessary.

        Raises:
            MemgraphRagError: the memory cannot be opened.
        """
        return self.memories.get(self.caller_namespace())

    @contextmanager
    def count_call(self) -> Iterator[None]:
        """Count the block as a call of the caller, and keep the caller's memory open, without opening it.

        Raises:
            TooManyCalls: the call would exceed a limit.
        """
        caller = self.caller_namespace()
        with ExitStack() as call:
            try:
                call.enter_context(self.limits.count_call(caller))
            except TooManyCalls:
                self.metrics.count_refusal()
                raise
            call.enter_context(self.memories.keep_open(caller))
            yield


Call = Context[Services, Any]
"""The context of a tool, a resource or a prompt."""


def find_services(call: Call) -> Services:
    """Return the services of the server that runs a call."""
    return call.request_context.lifespan_context
