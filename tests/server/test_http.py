"""A real server on a socket: who is let in, what a token reaches, and what a page on another site cannot do."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_agents import Agent, Served, in_loop
from memories import FOX, QUESTION, RIVER
from starlette.applications import Starlette
from tables import table

from memgraph_rag.errors import SettingsError
from memgraph_rag.server import sessions, transports
from memgraph_rag.server.memories import Memories
from memgraph_rag.server.tokens import TokenFolder
from memgraph_rag.server.transports import http_app, serve_http, token_server

MODES = ["legacy", "2026-07-28"]

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}
HEADERS = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}


@asynccontextmanager
async def connected(served: Served, token: str, mode: str) -> AsyncIterator[Agent]:
    headers = {"Authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(headers=headers, timeout=30) as http:
        transport = streamable_http_client(served.url, http_client=http)
        async with Client(transport, mode=mode) as client:
            yield Agent(client)


@pytest.mark.parametrize("mode", MODES)
@in_loop
async def test_tokens_reach_their_own_namespace_only(served: Served, mode: str) -> None:
    tokens = {name: served.tokens.make(name) for name in ("ann", "tom")}
    async with connected(served, tokens["ann"], mode) as ann, connected(served, tokens["tom"], mode) as tom:
        mine = await ann("remember", text=FOX, key="note")
        yours = await tom("remember", text=RIVER, key="note")
        answer = await ann("ask", question=QUESTION, keep=True)
        assert (await ann("status"))["namespace"] == "ann"
        assert (await tom("status"))["namespace"] == "tom"
        for query in ("fox", "river", QUESTION):
            assert {passage["text"] in FOX for passage in (await ann("recall", query=query))["passages"]} == {True}
            assert {passage["text"] in RIVER for passage in (await tom("recall", query=query))["passages"]} == {True}
        assert "DocumentNotFound" in await tom.refused("recall", query="fox", documents=[mine["document_id"]])
        assert "DocumentNotFound" in await tom.refused("forget", name=mine["document_id"])
        assert "DocumentNotFound" in await tom.refused("look", name="Ann")
        for uri in (f"memory://documents/{mine['document_id']}", answer["kept_as"]):
            assert (await ann.client.read_resource(uri)).contents
            with pytest.raises(Exception, match="NotFound"):
                await tom.client.read_resource(uri)
        listed = [resource.uri for resource in (await tom.client.list_resources()).resources]
        fixed = ["memory://documents", "memory://questions", "memory://brief", "ui://memgraph_rag"]
        assert listed == [*fixed, f"memory://documents/{yours['document_id']}"]
        assert (await tom.client.read_resource("memory://documents/note")).contents[0].text == RIVER
        (only,) = (await tom("list_documents"))["documents"]
        assert only["id"] == yours["document_id"]


def post(served: Served, **more: Any) -> httpx2.Response:
    headers = {**HEADERS, **more.pop("headers", {})}
    return httpx2.post(served.url, json=more.pop("json", INITIALIZE), headers=headers, timeout=10)


def test_request_without_a_token_is_refused(served: Served) -> None:
    token = served.tokens.make("ann")
    assert post(served, headers={"Authorization": f"Bearer {token}"}).status_code == 200
    for wrong in ({}, {"Authorization": "Bearer x"}, {"Authorization": f"Bearer {token}x"}, {"Authorization": token}):
        response = post(served, headers=wrong)
        assert response.status_code == 401
        assert "invalid_token" in response.headers["www-authenticate"]
    served.tokens.revoke(served.tokens.grants()[0].id)
    assert post(served, headers={"Authorization": f"Bearer {token}"}).status_code == 401


def test_session_of_another_token_cannot_be_used(served: Served) -> None:
    ann, tom = ({"Authorization": f"Bearer {served.tokens.make(name)}"} for name in ("ann", "tom"))
    session = post(served, headers=ann).headers["mcp-session-id"]
    call = {
        "jsonrpc": "2.0",
        "id": 2,
        "method": "tools/call",
        "params": {"name": "list_documents", "arguments": {}},
    }
    stolen = post(served, json=call, headers={**tom, "mcp-session-id": session})
    assert stolen.status_code in (403, 404)
    assert post(served, json=call, headers={**ann, "mcp-session-id": session}).status_code == 200


CALL = {
    "jsonrpc": "2.0",
    "id": 2,
    "method": "tools/call",
    "params": {"name": "list_documents", "arguments": {}},
}


@pytest.fixture
def three_sessions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "MOST_SESSIONS", 3)


def bearer(served: Served, namespace: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {served.tokens.make(namespace)}"}


@pytest.mark.usefixtures("three_sessions")
def test_oldest_idle_session_of_a_token_makes_room(served: Served) -> None:
    ann, tom = bearer(served, "ann"), bearer(served, "tom")
    of_tom = post(served, headers=tom).headers["mcp-session-id"]
    opened = [post(served, headers=ann).headers["mcp-session-id"] for _ in range(3)]
    assert post(served, json=CALL, headers={**ann, "mcp-session-id": opened[0]}).status_code == 200  # used last
    opened += [post(served, headers=ann).headers["mcp-session-id"]]
    states = [post(served, json=CALL, headers={**ann, "mcp-session-id": each}).status_code for each in opened]
    assert states == [200, 404, 200, 200]
    assert post(served, json=CALL, headers={**tom, "mcp-session-id": of_tom}).status_code == 200


@pytest.mark.usefixtures("three_sessions")
def test_sessions_in_use_are_not_ended_for_another(served: Served) -> None:
    ann = bearer(served, "ann")
    opened = [post(served, headers=ann).headers["mcp-session-id"] for _ in range(3)]
    with ExitStack() as streams:
        for session in opened:
            headers = {**ann, "mcp-session-id": session, "Accept": "text/event-stream"}
            stream = streams.enter_context(httpx2.stream("GET", served.url, headers=headers, timeout=10))
            assert stream.status_code == 200
        refused = post(served, headers=ann)
        assert (refused.status_code, refused.json()["title"]) == (429, "TooManySessions")
        assert post(served, headers=bearer(served, "tom")).status_code == 200
        ended = httpx2.delete(served.url, headers={**ann, "mcp-session-id": opened[0]})
        assert ended.status_code == 200
        assert post(served, headers=ann).status_code == 200


@pytest.mark.usefixtures("three_sessions")
def test_refused_openings_take_no_session(served: Served) -> None:
    ann = bearer(served, "ann")
    kept = post(served, headers=ann).headers["mcp-session-id"]
    for _ in range(5):
        assert post(served, json=CALL, headers=ann).status_code == 400
    for _ in range(2):
        assert post(served, headers=ann).status_code == 200
    assert post(served, json=CALL, headers={**ann, "mcp-session-id": kept}).status_code == 200


@table(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 421),
        ({"Host": "127.0.0.1.evil.example"}, 421),
        ({"Host": "localhost:80.evil.example"}, 421),
        ({"Host": "127.0.0.1:1@evil.example"}, 421),
        ({"Host": "localhost, evil.example"}, 421),
        ({"Host": ""}, 421),
        ({"Origin": "http://localhost:evil.example"}, 403),
        ({"Origin": "http://localhost:3000.evil.example"}, 403),
        ({"Origin": "https://localhost"}, 403),
        ({"Content-Type": "application/jsonp"}, 400),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Content-Type": "text/plain"}, 400),
    ],
)
def test_page_of_another_site_cannot_reach_it(served: Served, headers: dict[str, str], status: int) -> None:
    token = served.tokens.make("ann")
    assert post(served, headers={"Authorization": f"Bearer {token}", **headers}).status_code == status


def test_host_of_a_proxy_must_be_allowed(memories: Memories, tmp_path: Path) -> None:
    tokens = TokenFolder(tmp_path / "tokens")
    token = tokens.make("ann")
    headers = {**HEADERS, "Authorization": f"Bearer {token}", "Origin": "https://memory.example"}

    async def status(*allowed: str) -> int:
        app = http_app(token_server(memories, tokens), allowed_hosts=allowed)
        transport = httpx2.ASGITransport(app=app)
        async with (
            app.router.lifespan_context(app),
            httpx2.AsyncClient(transport=transport, base_url="https://memory.example") as client,
        ):
            return (await client.post("/mcp", json=INITIALIZE, headers=headers)).status_code

    assert asyncio.run(status()) == 421
    assert asyncio.run(status("memory.example")) == 200


@in_loop
async def test_client_that_goes_away_during_ask_leaves_a_whole_server(served: Served) -> None:
    token = served.tokens.make("ann")
    served.memories.get("ann").add(FOX, key="fox")
    for mode in MODES:
        async with connected(served, token, mode) as agent:
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(agent("ask", question=QUESTION), 0.02)
    async with connected(served, token, "legacy") as agent:
        assert (await agent("status"))["documents"] == 1
        assert (await agent("ask", question=QUESTION))["citations"]


def test_body_without_end_is_refused(served: Served) -> None:
    token = served.tokens.make("ann")
    big = {**INITIALIZE, "padding": "x" * (41 * 2**20)}
    assert post(served, json=big, headers={"Authorization": f"Bearer {token}"}).status_code == 413


def test_taken_port_is_reported() -> None:
    listening = transports._listen(0)
    ready: Callable[[str], None] = pytest.fail
    with listening, pytest.raises(SettingsError, match=r"got \d+: another program uses it. Name another"):
        serve_http(Starlette(), port=listening.getsockname()[1], ready=ready)
