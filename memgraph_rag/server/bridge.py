"""MCP on standard streams for one client, passed on to a server over HTTP.

It knows the SDK's streams, and no tool. A client that starts a process of its own so shares the memory, whose file only
one process may open. Invariant: messages pass unchanged, in both directions.
"""

from __future__ import annotations

from typing import Any

import anyio
import httpx2
from mcp.client.streamable_http import streamable_http_client
from mcp.server.stdio import stdio_server

_CONNECT_S = 30.0  # an answer may take as long as the tool needs


def bridge(url: str, token: str) -> None:
    """Pass messages between standard streams and the server at an address, with a token, until the client ends."""
    anyio.run(_bridge, url, token)


async def _bridge(url: str, token: str) -> None:
    headers = {"Authorization": f"Bearer {token}"}
    client = httpx2.AsyncClient(headers=headers, timeout=httpx2.Timeout(_CONNECT_S, read=None))
    async with (
        stdio_server() as (from_client, to_client),
        client,
        streamable_http_client(url, http_client=client) as (from_server, to_server, *_),
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(_forward, from_server, to_client)
        await _forward(from_client, to_server)
        tasks.cancel_scope.cancel()


async def _forward(source: Any, target: Any) -> None:
    async for message in source:
        if not isinstance(message, Exception):  # a line that is no message
            await target.send(message)
