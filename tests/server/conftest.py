"""A server over a real Ladybug file with models that need no weights, and a client of each era of the protocol."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp_agents import ERAS, Agent, Connect, Served, namespaces_in, run_app
from memories import options

from memgraph_rag import Memory
from memgraph_rag.server.memories import Memories
from memgraph_rag.server.server import MemoryServer
from memgraph_rag.server.tokens import TokenFolder
from memgraph_rag.server.transports import http_app, token_server


@pytest.fixture
def open_memories(tmp_path: Path) -> Iterator[Callable[..., Memories]]:
    """Makes ``Memories`` of namespaces in one file; ``changes`` are arguments of ``Memory``."""
    opened: list[Memories] = []

    def make(*, later: tuple[str, ...] = (), idle_s: float | None = None, **changes: Any) -> Memories:
        given = options(**{"layers": ("entities",), **changes})
        opened.append(Memories(namespaces_in(tmp_path / "notes.lbug", **given), later=later, idle_s=idle_s))
        return opened[-1]

    yield make
    for memories in opened:
        memories.close()


@pytest.fixture
def memories(open_memories: Callable[..., Memories]) -> Memories:
    return open_memories()


@pytest.fixture
def memory(memories: Memories) -> Memory:
    """What the agent's calls reach."""
    return memories.get("ann")


@pytest.fixture(params=ERAS)
def connect(request: pytest.FixtureRequest, memories: Memories) -> Connect:
    """A client in this process, of either era."""

    @asynccontextmanager
    async def connected(served: Memories = memories, **more: Any) -> AsyncIterator[Agent]:
        server = MemoryServer(served, caller_namespace=lambda: "ann")
        async with Client(server, mode=request.param, **more) as client:
            yield Agent(client)

    return connected


@pytest.fixture
def served(memories: Memories, tmp_path: Path) -> Iterator[Served]:
    tokens = TokenFolder(tmp_path / "tokens")
    with run_app(http_app(token_server(memories, tokens))) as address:
        yield Served(f"{address}/mcp", tokens, memories)
