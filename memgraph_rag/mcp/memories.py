"""The memories that a server has open, a namespace each.

It knows no protocol. Invariants: a namespace is opened once, when it is first asked for; where that fails the next call
tries again, so that a server outlives a store that is locked or away.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import TYPE_CHECKING, Protocol

from memgraph_rag.mcp.background import Backlog, Deepener

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memgraph_rag import Memory

__all__ = ["Memories", "OpenNamespace"]


class OpenNamespace(Protocol):
    """Opens the memory of a namespace."""

    def __call__(self, namespace: str, *, progress: Callable[[str, int, int], None]) -> Memory:
        """The memory; ``progress`` goes to its constructor. Raises what ``Memory`` raises."""
        ...


class Memories:
    """Memories by namespace, with the thread that builds their costly layers.

    Args:
        open_namespace: called once a namespace.
        later: names of layers that are built behind ``remember``.
    """

    def __init__(self, open_namespace: OpenNamespace, *, later: Sequence[str] = ()) -> None:
        self._open_namespace = open_namespace
        self._deepener = Deepener(later)
        self._opening = Lock()
        self._open: dict[str, Memory] = {}

    def get(self, namespace: str) -> Memory:
        """The memory of this namespace.

        Raises:
            MemgraphRagError: it cannot be opened; the next call tries again.
        """
        memory = self._open.get(namespace)
        if memory is not None:
            return memory
        with self._opening:
            if namespace not in self._open:
                opened = self._open_namespace(namespace, progress=self._deepener.progress)
                self._open[namespace] = opened
                if not opened.settings.read_only:
                    self._deepener.resume(opened)
            return self._open[namespace]

    def follow(self, memory: Memory, document_id: str) -> tuple[str, ...]:
        """Let the costly layers of a document be built; their names."""
        return self._deepener.follow(memory, [document_id])

    def backlog(self, namespace: str) -> Backlog:
        """What is still to be built in a namespace."""
        return self._deepener.backlog(namespace)

    def wait(self, timeout_s: float) -> bool:
        """Whether all layers are built; waits so long for them."""
        return self._deepener.wait(timeout_s)

    def close(self) -> None:
        """Close all memories. Where a model is still at work, they are left to the end of the process."""
        if self._deepener.close():
            with self._opening:
                for memory in self._open.values():
                    memory.close()
                self._open.clear()
