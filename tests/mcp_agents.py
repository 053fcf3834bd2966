"""Servers of tests, and clients as models see them."""

from __future__ import annotations

import asyncio
import functools
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import uvicorn
from mcp import Client
from starlette.types import ASGIApp

from memgraph_rag import Memory
from memgraph_rag.server import transports
from memgraph_rag.server.connections import BoundedConnection
from memgraph_rag.server.memories import Memories, OpenNamespace
from memgraph_rag.server.tokens import TokenFolder

ERAS = ["legacy", "2026-07-28"]
"""With the handshake of 2025, and without."""

IN_ONE_ERA = pytest.mark.parametrize("connect", ERAS[1:], indirect=True)
"""For what is the same whichever protocol it came by."""


class Agent:
    """A client as a model sees it: ``await agent("recall", query="…")`` gives the structured result."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def __call__(self, tool: str, **arguments: Any) -> dict[str, Any]:
        result = await self.client.call_tool(tool, arguments)
        assert not result.is_error, result.content[0].text
        assert result.structured_content is not None
        return result.structured_content

    async def refused(self, tool: str, **arguments: Any) -> str:
        """What a model reads of a call that fails."""
        result = await self.client.call_tool(tool, arguments)
        assert result.is_error, result.structured_content
        assert result.structured_content is None
        (content,) = result.content
        return content.text


Connect = Callable[..., AbstractAsyncContextManager[Agent]]


def in_loop(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """A test that is a coroutine."""

    @functools.wraps(test)
    def run(*args: Any, **kwargs: Any) -> None:
        asyncio.run(asyncio.wait_for(test(*args, **kwargs), 60))

    return run


@dataclass
class Served:
    """A running server."""

    url: str
    tokens: TokenFolder
    memories: Memories


def namespaces_in(store: str | Path, **options: Any) -> OpenNamespace:
    """Return what opens namespaces of a store, with these arguments of ``Memory``."""

    def open_namespace(namespace: str, *, progress: Callable[[str, int, int], None]) -> Memory:
        return Memory(store, namespace=namespace, progress=progress, **options)

    return open_namespace


@contextmanager
def run_app(app: ASGIApp) -> Iterator[str]:
    """Serve an application at a free port of 127.0.0.1 during the block, and yield the address."""
    config = uvicorn.Config(
        app, http=BoundedConnection, ws="none", log_config=None, access_log=False, timeout_graceful_shutdown=1
    )
    server = uvicorn.Server(config)
    with transports._listen(0) as listening:
        thread = Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(10)
