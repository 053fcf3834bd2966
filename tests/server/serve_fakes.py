"""A server on standard streams with models that need no weights, for tests: python serve_fakes.py FILE."""

from __future__ import annotations

import sys

from mcp_agents import namespaces_in
from memories import options

from memgraph_rag.server.memories import Memories
from memgraph_rag.server.transports import serve_stdio

if __name__ == "__main__":
    print("a stray line, which must not reach the client")
    memories = Memories(namespaces_in(sys.argv[1], **options(layers=("entities",))), later=("points",))
    try:
        serve_stdio(memories, "ann")
    finally:
        memories.close()
