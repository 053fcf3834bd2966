"""Limits of calls: of one caller and of all, over REST and MCP together."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_agents import ERAS, Agent, Served, in_loop
from memories import QUESTION
from starlette.requests import Request

from memgraph_rag.memory import Memory
from memgraph_rag.server.limits import CallLimits
from memgraph_rag.server.memories import Memories
from memgraph_rag.server.rest import RestApi
from memgraph_rag.server.server import MemoryServer

Held = tuple[threading.Semaphore, threading.Event]


@pytest.fixture
def held_search(monkeypatch: pytest.MonkeyPatch) -> Held:
    """Counts searches that have begun, and lets them go on."""
    begun, goes_on = threading.Semaphore(0), threading.Event()

    def wait(*_: object, **__: object) -> list[Any]:
        begun.release()
        assert goes_on.wait(20)
        return []

    monkeypatch.setattr(Memory, "search", wait)
    return begun, goes_on


def api_of(memories: Memories, **limits: int) -> tuple[RestApi, dict[str, str]]:
    """The API with these limits, and whose calls it takes: ann's, until another namespace is put there."""
    caller = {"namespace": "ann"}
    server = MemoryServer(memories, caller_namespace=lambda: caller["namespace"], limits=CallLimits(**limits))
    return RestApi(server.services, server.memory_tools), caller


def test_more_calls_than_a_token_may_have_are_sent_back(memories: Memories, held_search: Held) -> None:
    begun, goes_on = held_search
    api, caller = api_of(memories, most_at_once=1)

    async def both() -> list[int]:
        first = asyncio.create_task(api.call(_request("recall", {"query": "fox"})))
        await asyncio.to_thread(begun.acquire, timeout=20)
        second = await api.call(_request("status", {}))
        caller["namespace"] = "tom"
        third = await api.call(_request("status", {}))
        caller["namespace"] = "ann"
        goes_on.set()
        done = await first
        fourth = await api.call(_request("status", {}))
        assert second.headers["Retry-After"] == "1"
        return [response.status_code for response in (second, third, done, fourth)]

    assert asyncio.run(both()) == [429, 200, 200, 200]


def test_more_calls_than_the_server_takes_are_sent_back(memories: Memories, held_search: Held) -> None:
    begun, goes_on = held_search
    api, caller = api_of(memories, most_in_all=1)

    async def of_two_namespaces() -> list[int]:
        first = asyncio.create_task(api.call(_request("recall", {"query": "fox"})))
        await asyncio.to_thread(begun.acquire, timeout=20)
        caller["namespace"] = "tom"
        second = await api.call(_request("status", {}))
        goes_on.set()
        done = await first
        return [second.status_code, done.status_code, (await api.call(_request("status", {}))).status_code]

    assert asyncio.run(of_two_namespaces()) == [429, 200, 200]


def test_streams_that_begin_at_once_count_against_each_other(memories: Memories) -> None:
    api, _ = api_of(memories, most_at_once=1)

    async def stream() -> int:
        request = _request("ask", {"question": QUESTION}, accept="text/event-stream")
        response = await api.call(request)
        await response(request.scope, _nothing_more, _into_the_void)
        return response.status_code

    async def twice() -> list[int]:
        return [*await asyncio.gather(stream(), stream()), await stream()]

    assert asyncio.run(twice()) == [200, 429, 200]


def test_a_token_is_looked_up_while_calls_have_all_threads(served: Served, held_search: Held) -> None:
    begun, goes_on = held_search
    callers = [{"Authorization": f"Bearer {served.tokens.make(name)}"} for name in ("ann", "tom", "eve")]
    address = served.url.replace("/mcp", "/v1/recall")

    async def refused() -> int:
        async with httpx2.AsyncClient(timeout=30) as client:
            calls = [
                asyncio.create_task(client.post(address, json={"query": "fox"}, headers=headers))
                for headers in callers
                for _ in range(16)
            ]
            for _ in range(40):
                await asyncio.to_thread(begun.acquire, timeout=20)
            try:
                wrong = {"Authorization": "Bearer mgr_wrong"}
                return (await client.post(address, json={"query": "fox"}, headers=wrong, timeout=5)).status_code
            finally:
                goes_on.set()
                await asyncio.gather(*calls)

    assert asyncio.run(refused()) == 401


@pytest.mark.parametrize("era", ERAS)
@in_loop
async def test_calls_over_mcp_and_rest_count_together(served: Served, held_search: Held, era: str) -> None:
    begun, goes_on = held_search
    ann, tom = ({"Authorization": f"Bearer {served.tokens.make(name)}"} for name in ("ann", "tom"))
    rest = served.url.replace("/mcp", "/v1/recall")
    async with (
        httpx2.AsyncClient(headers={**ann, "Content-Type": "application/json"}, timeout=30) as http,
        httpx2.AsyncClient(headers=tom, timeout=30) as other_http,
        Client(streamable_http_client(served.url, http_client=http), mode=era) as client,
        Client(streamable_http_client(served.url, http_client=other_http), mode=era) as other,
    ):
        agent = Agent(client)
        over_rest = [asyncio.create_task(http.post(rest, json={"query": "fox"})) for _ in range(8)]
        over_mcp = [asyncio.create_task(agent("recall", query="fox")) for _ in range(8)]
        for _ in range(16):
            assert await asyncio.to_thread(begun.acquire, timeout=20)
        sent_back = await http.post(rest, json={"query": "fox"})
        refused = await agent.refused("recall", query="fox")
        with pytest.raises(Exception, match="TooManyCalls"):
            await client.read_resource("memory://documents")
        assert (await Agent(other)("status"))["namespace"] == "tom"
        goes_on.set()
        assert [(await response).status_code for response in over_rest] == [200] * 8
        assert [(await result)["passages"] for result in over_mcp] == [[]] * 8
        assert (await agent("recall", query="fox"))["passages"] == []
    text = "Expected at most 16 calls of one caller at the same time, got one more. Wait until one of them has ended. "
    assert refused == f"TooManyCalls: {text}Call again in 1 s or later."
    assert sent_back.json()["detail"] == f"{text}Call again in 1 s or later."


async def _nothing_more() -> dict[str, Any]:
    await asyncio.Event().wait()
    return {}


async def _into_the_void(message: object) -> None:
    del message


def _request(tool: str, arguments: dict[str, Any], *, accept: str = "*/*") -> Request:
    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": json.dumps(arguments).encode()}

    headers = [(b"accept", accept.encode())]
    return Request({"type": "http", "method": "POST", "headers": headers, "path_params": {"tool": tool}}, receive)
