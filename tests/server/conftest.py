"""A server over a real Ladybug file with models that need no weights, and a client of each era of the protocol."""

from __future__ import annotations

import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from mcp import Client
from mcp_agents import ERAS, Agent, Connect, Served
from memories import options

from memgraph_rag import Memory
from memgraph_rag.server import transports
from memgraph_rag.server.connections import BoundedConnection
from memgraph_rag.server.memories import Memories
from memgraph_rag.server.server import MemoryServer
from memgraph_rag.server.tokens import TokenFolder
from memgraph_rag.server.transports import http_app, token_server


@pytest.fixture
def open_memories(tmp_path: Path) -> Iterator[Callable[..., Memories]]:
    """Makes ``Memories`` of namespaces in one file; ``changes`` are arguments of ``Memory``."""
    opened: list[Memories] = []

    def make(*, later: tuple[str, ...] = (), idle_s: float | None = None, **changes: Any) -> Memories:
        def open_namespace(namespace: str, *, progress: Callable[[str, int, int], None]) -> Memory:
            more = options(**{"layers": ("entities",), **changes})
            return Memory(tmp_path / "notes.lbug", namespace=namespace, progress=progress, **more)

        opened.append(Memories(open_namespace, later=later, idle_s=idle_s))
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
    listening = transports._listen(0)
    app = http_app(token_server(memories, tokens))
    config = uvicorn.Config(
        app, http=BoundedConnection, ws="none", log_config=None, access_log=False, timeout_graceful_shutdown=1
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield Served(f"http://127.0.0.1:{listening.getsockname()[1]}/mcp", tokens, memories)
    server.should_exit = True
    thread.join(10)
    listening.close()
