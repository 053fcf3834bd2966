"""A token that is revoked while a stream of it is open: the stream says nothing more, and ends."""

from __future__ import annotations

import json
import threading
from collections.abc import AsyncGenerator, Iterator
from dataclasses import replace
from typing import Any

import anyio.to_thread
import httpx2
import pytest
from mcp_agents import Served
from records import ANSWER as STORED
from sse_starlette import EventSourceResponse

from memgraph_rag.server import rest, tools
from memgraph_rag.server.limits import MOST_AT_ONCE
from memgraph_rag.server.results import Answered
from memgraph_rag.types import InformationPoint, Step

SOON_S = 20.0
BEFORE, AFTER = "said before", "said after"
ANSWER = Answered.model_validate({**replace(STORED, text=AFTER).as_dict(), "nodes_read": 1, "kept_as": ""})
INITIALIZE = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}


class HeldAnswer:
    """An answer whose second half waits, in place of a model's."""

    def __init__(self) -> None:
        self.goes_on, self.is_closed = threading.Event(), threading.Event()

    async def __call__(self, *_: object, **__: object) -> AsyncGenerator[Any, None]:
        try:
            yield step(BEFORE)
            await anyio.to_thread.run_sync(self.goes_on.wait, SOON_S)
            yield step(AFTER)
            yield AFTER
            yield ANSWER
        finally:
            self.is_closed.set()


def step(text: str) -> Step:
    return Step(InformationPoint("p", "d", 1, 0, text, 2), 0.0, 0.0)


@pytest.fixture
def held_answer(monkeypatch: pytest.MonkeyPatch) -> HeldAnswer:
    answer = HeldAnswer()
    monkeypatch.setattr(rest, "stream_answer", answer)
    monkeypatch.setattr(tools, "stream_answer", answer)
    return answer


@pytest.fixture
def ann(served: Served) -> Iterator[httpx2.Client]:
    """A client whose token is the only one."""
    headers = {"Authorization": f"Bearer {served.tokens.make('ann')}", "Accept": "application/json, text/event-stream"}
    with httpx2.Client(base_url=served.url.removesuffix("/mcp"), headers=headers, timeout=SOON_S) as client:
        yield client


def revoke(served: Served) -> None:
    served.tokens.revoke(served.tokens.grants()[0].id)


def rest_of_stream(served: Served, response: httpx2.Response, held_answer: HeldAnswer) -> str:
    """What a stream says after its token was revoked, behind what it had said before."""
    parts = response.iter_text()
    said = ""
    while BEFORE not in said:
        said += next(parts)
    revoke(served)
    held_answer.goes_on.set()
    return "".join(parts)


def test_stream_of_ask_over_rest_ends(served: Served, ann: httpx2.Client, held_answer: HeldAnswer) -> None:
    with ann.stream("POST", "/v1/ask", json={"question": "Who?"}) as response:
        assert AFTER not in rest_of_stream(served, response, held_answer)
    assert held_answer.is_closed.wait(SOON_S)
    assert ann.post("/v1/status", json={}).status_code == 401


def test_ended_stream_is_under_way_no_more(served: Served, ann: httpx2.Client, held_answer: HeldAnswer) -> None:
    for _ in range(MOST_AT_ONCE + 1):
        ann.headers["Authorization"] = f"Bearer {served.tokens.make('ann')}"
        held_answer.goes_on.clear()
        with ann.stream("POST", "/v1/ask", json={"question": "Who?"}) as response:
            assert response.status_code == 200
            rest_of_stream(served, response, held_answer)


@pytest.mark.parametrize("keeps_session", [True, False], ids=["2025-11-25", "2026-07-28"])
def test_stream_of_ask_over_mcp_ends(
    served: Served, ann: httpx2.Client, held_answer: HeldAnswer, keeps_session: bool
) -> None:
    call: dict[str, Any] = {"name": "ask", "arguments": {"question": "Who?"}, "_meta": {"progressToken": 7}}
    if keeps_session:
        ann.headers["mcp-session-id"] = send(ann, "initialize", INITIALIZE).headers["mcp-session-id"]
    else:
        ann.headers |= {"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "ask"}
        call["_meta"] |= {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": INITIALIZE["clientInfo"],
            "io.modelcontextprotocol/clientCapabilities": {},
        }
    with ann.stream("POST", "/mcp", json=message("tools/call", call)) as response:
        assert AFTER not in rest_of_stream(served, response, held_answer)
    assert send(ann, "tools/list", {}).status_code == 401


def test_silent_stream_of_a_session_ends_with_its_next_ping(
    served: Served, ann: httpx2.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(EventSourceResponse, "DEFAULT_PING_INTERVAL", 0.2)
    ann.headers["mcp-session-id"] = send(ann, "initialize", INITIALIZE).headers["mcp-session-id"]
    with ann.stream("GET", "/mcp") as response:
        parts = response.iter_text()
        assert "ping" in next(parts)
        revoke(served)
        assert len(list(parts)) < 20
    assert ann.delete("/mcp").status_code == 401


def message(method: str, params: dict[str, Any]) -> dict[str, Any]:
    return json.loads(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))


def send(client: httpx2.Client, method: str, params: dict[str, Any]) -> httpx2.Response:
    return client.post("/mcp", json=message(method, params))
