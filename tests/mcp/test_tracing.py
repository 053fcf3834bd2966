"""Spans of OpenTelemetry: one around each request, over REST and MCP, with those of the memory in it, and no text."""

from __future__ import annotations

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared import _otel
from mcp_agents import Agent, Served, in_loop
from memories import FOX, QUESTION
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind

from memgraph_rag.mcp import tracing
from memgraph_rag.operations import telemetry

TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


@pytest.fixture
def exporter(monkeypatch: pytest.MonkeyPatch) -> InMemorySpanExporter:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracer = provider.get_tracer("test")
    monkeypatch.setattr(telemetry, "_tracer", lambda: tracer)
    monkeypatch.setattr(tracing, "_tracer", tracer)
    monkeypatch.setattr(_otel, "_tracer", tracer)
    return exporter


def parents(exporter: InMemorySpanExporter) -> dict[str, str]:
    """The name of each span's parent, by its own; empty where it has none here."""
    spans = exporter.get_finished_spans()
    names = {span.context.span_id: span.name for span in spans}
    return {span.name: names.get(span.parent.span_id, "") if span.parent else "" for span in spans}


def one(exporter: InMemorySpanExporter, name: str) -> ReadableSpan:
    (span,) = (span for span in exporter.get_finished_spans() if span.name == name)
    return span


def test_rest_calls_are_parents_of_what_the_memory_does(served: Served, exporter: InMemorySpanExporter) -> None:
    headers = {"Authorization": f"Bearer {served.tokens.make('secret-namespace')}"}
    with httpx2.Client(base_url=served.url.removesuffix("/mcp"), headers=headers, timeout=30) as http:
        traced = {"traceparent": f"00-{TRACE}-{PARENT}-01"}
        http.post("/v1/remember", json={"text": FOX, "key": "secret-key"}, headers=traced)
        http.post("/v1/recall", json={"query": QUESTION})
        events = {"Accept": "text/event-stream"}
        assert "event: answer" in http.post("/v1/ask", json={"question": QUESTION}, headers=events).text
        http.post("/v1/forget", json={"name": "nobody"})
        http.post("/v1/secret-tool", json={})
        http.get("/health")
    assert parents(exporter) == {
        "memgraph_rag.add": "POST /v1/remember",
        "POST /v1/remember": "",
        "memgraph_rag.search": "POST /v1/recall",
        "POST /v1/recall": "",
        "memgraph_rag.ask": "POST /v1/ask",
        "POST /v1/ask": "",
        "POST /v1/forget": "",
        "POST /v1/{tool}": "",
    }
    remember = one(exporter, "POST /v1/remember")
    assert remember.parent is not None
    assert (f"{remember.context.trace_id:032x}", f"{remember.parent.span_id:016x}") == (TRACE, PARENT)
    assert remember.kind is SpanKind.SERVER
    assert remember.attributes == {
        "http.request.method": "POST",
        "http.route": "/v1/remember",
        "http.response.status_code": 200,
    }
    asked, answered = one(exporter, "POST /v1/ask"), one(exporter, "memgraph_rag.ask")
    assert asked.start_time <= answered.start_time <= answered.end_time <= asked.end_time
    assert (one(exporter, "POST /v1/forget").attributes or {})["http.response.status_code"] == 404
    shown = "".join(span.to_json() for span in exporter.get_finished_spans())
    assert [word for word in ("secret", "fox", "box", "Ann") if word in shown] == []


@in_loop
async def test_mcp_calls_are_parents_of_what_the_memory_does(served: Served, exporter: InMemorySpanExporter) -> None:
    headers = {"Authorization": f"Bearer {served.tokens.make('ann')}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=30) as http,
        Client(streamable_http_client(served.url, http_client=http)) as client,
    ):
        agent = Agent(client)
        await agent("remember", text=FOX, key="fox")
        await agent("recall", query=QUESTION)
        await agent("ask", question=QUESTION)
    found = parents(exporter)
    assert {name: found[f"memgraph_rag.{name}"] for name in ("add", "search", "ask")} == {
        "add": "tools/call remember",
        "search": "tools/call recall",
        "ask": "tools/call ask",
    }
