"""Clients as models see them, for tests of the server of the Model Context Protocol."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any

import pytest
from mcp import Client

from memgraph_rag.server.memories import Memories
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
