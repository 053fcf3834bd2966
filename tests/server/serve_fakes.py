"""A server on standard streams with models that need no weights, for tests: python serve_fakes.py FILE."""

from __future__ import annotations

import sys
from collections.abc import Callable

from memories import options

from memgraph_rag import Memory
from memgraph_rag.server.memories import Memories
from memgraph_rag.server.transports import serve_stdio


def open_namespace(namespace: str, *, progress: Callable[[str, int, int], None]) -> Memory:
    return Memory(sys.argv[1], namespace=namespace, progress=progress, **options(layers=("entities",)))


if __name__ == "__main__":
    print("a stray line, which must not reach the client")
    memories = Memories(open_namespace, later=("points",))
    try:
        serve_stdio(memories, "ann")
    finally:
        memories.close()
