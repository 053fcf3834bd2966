"""Spans of OpenTelemetry: one around each request, over REST and MCP, with those of the memory in it, and no text."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared import _otel
from mcp_agents import Agent, Served, in_loop
from memories import FOX, QUESTION, RIVER
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind

from memgraph_rag.calls import telemetry
from memgraph_rag.errors import MemgraphRagError
from memgraph_rag.memory import Memory
from memgraph_rag.server import tracing

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


WORDS = {
    name: f"canary{number}x"
    for number, name in enumerate(
        (
            *("text", "title", "key", "question", "name", "value", "user", "session", "namespace"),
            *("tool", "method", "prompt", "argument", "uri", "crash", "label"),
        )
    )
}
"""One for each place from which a text could reach a span or a figure."""


def shown_words(exporter: InMemorySpanExporter, figures: str = "") -> list[str]:
    """The places whose word is in a span or a figure."""
    spans = exporter.get_finished_spans()
    assert spans
    shown = "".join(span.to_json() for span in spans) + figures
    return [name for name, word in WORDS.items() if word.lower() in shown.lower()]


CALLS: list[tuple[str, dict[str, Any]]] = [
    ("remember", {
        "text": f"Ann Lee keeps a {WORDS['text']} in the barn. {FOX}", "key": WORDS["key"], "title": WORDS["title"],
        "metadata": {WORDS["name"]: WORDS["value"]}, "user": WORDS["user"], "session": WORDS["session"],
    }),
    ("remember", {"text": WORDS["text"], "metadata": {WORDS["name"]: [WORDS["value"]]}}),
    ("remember", {"messages": [{"role": WORDS["user"], "content": WORDS["text"], "time": WORDS["value"]}]}),
    ("recall", {"query": WORDS["question"], "where": {WORDS["name"]: WORDS["value"]}}),
    ("recall", {"query": WORDS["question"], "documents": [WORDS["key"], WORDS["value"]]}),
    ("recall", {"query": WORDS["question"], "since": WORDS["value"]}),
    ("recall", {WORDS["argument"]: WORDS["value"]}),
    ("ask", {"question": f"Who has the {WORDS['question']} of Ann?", "keep": True}),
    ("ask", {"question": WORDS["question"], "user": WORDS["user"], "session": WORDS["session"]}),
    ("look", {"name": WORDS["key"]}),
    ("look", {"name": WORDS["question"]}),
    ("list_documents", {"after": WORDS["key"]}),
    ("status", {}),
    ("forget", {"name": WORDS["question"], "kind": "question"}),
    ("forget", {"name": WORDS["value"]}),
    ("forget", {"user": WORDS["user"], "session": WORDS["session"]}),
    (WORDS["tool"], {"text": WORDS["text"]}),
]  # fmt: skip


@pytest.fixture
def crash(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each search for the value crashes with a text."""
    search = Memory.search

    def crashing(memory: Memory, query: str, **options: Any) -> Any:
        if query == WORDS["crash"]:
            raise KeyError(WORDS["crash"])
        return search(memory, query, **options)

    monkeypatch.setattr(Memory, "search", crashing)


@pytest.fixture
def program(served: Served) -> Iterator[httpx2.Client]:
    token = served.tokens.make(WORDS["namespace"], label=WORDS["label"])
    headers = {"Authorization": f"Bearer {token}", "Accept": "application/json, text/event-stream"}
    with httpx2.Client(base_url=served.url.removesuffix("/mcp"), headers=headers, timeout=30) as http:
        yield http


@pytest.mark.usefixtures("crash")
def test_no_text_of_rest_calls_is_in_spans_or_figures(exporter: InMemorySpanExporter, program: httpx2.Client) -> None:
    calls = [*CALLS, ("recall", {"query": WORDS["crash"]})]
    statuses = {program.post(f"/v1/{tool}", json=arguments).status_code for tool, arguments in calls}
    assert statuses == {200, 404, 422, 500}
    program.post(f"/v1/recall?{WORDS['value']}", content=WORDS["text"], headers={"Content-Type": "application/json"})
    program.post(f"/{WORDS['uri']}", json={})
    assert shown_words(exporter, program.get("/metrics").text) == []


@pytest.mark.usefixtures("crash")
@pytest.mark.parametrize("version", ["2025-11-25", "2026-07-28"])
def test_no_text_of_mcp_messages_is_in_spans_or_figures(
    exporter: InMemorySpanExporter, program: httpx2.Client, version: str
) -> None:
    client = {"name": WORDS["label"], "version": "1"}
    opening = {"protocolVersion": version, "capabilities": {}, "clientInfo": client}

    def send(method: str, params: dict[str, Any]) -> httpx2.Response:
        headers: dict[str, str] = {}
        if version == "2026-07-28":
            headers = {"mcp-protocol-version": version, "mcp-method": method}
            if (named := params.get("name", params.get("uri"))) is not None:
                headers["mcp-name"] = str(named)
            prefix = "io.modelcontextprotocol/"
            meta = {"protocolVersion": version, "clientInfo": client, "clientCapabilities": {}}
            params = {**params, "_meta": {f"{prefix}{name}": value for name, value in meta.items()}}
        message = {"jsonrpc": "2.0", "id": WORDS["value"], "method": method, "params": params}
        return program.post("/mcp", json=message, headers=headers)

    if version == "2025-11-25":
        program.headers["mcp-session-id"] = send("initialize", opening).headers["mcp-session-id"]
    for tool, arguments in [*CALLS, ("recall", {"query": WORDS["crash"]})]:
        send("tools/call", {"name": tool, "arguments": arguments})
    for uri in (WORDS["uri"], f"memory://documents/{WORDS['uri']}", f"memory://questions/{WORDS['question']}"):
        send("resources/read", {"uri": uri})
    send("prompts/get", {"name": WORDS["prompt"], "arguments": {"question": WORDS["question"]}})
    send("prompts/get", {"name": "answer_from_memory", "arguments": {"question": WORDS["question"]}})
    send("prompts/get", {"name": "answer_from_memory", "arguments": {WORDS["argument"]: WORDS["question"]}})
    send("tools/call", {"name": [WORDS["tool"]], "arguments": WORDS["argument"]})
    send(WORDS["method"], {"name": WORDS["name"]})
    names = {span.name for span in exporter.get_finished_spans()}
    assert {"tools/call remember", "tools/call recall", "tools/call", "resources/read", "prompts/get"} <= names
    assert shown_words(exporter, program.get("/metrics").text) == []


def test_no_text_of_a_memory_is_in_its_spans(exporter: InMemorySpanExporter, memory: Memory, tmp_path: Path) -> None:
    described = {WORDS["name"]: WORDS["value"], "user": WORDS["user"], "session": WORDS["session"]}
    text = f"Ann Lee keeps a {WORDS['text']} in the barn. {FOX}"
    memory.add(text, key=WORDS["key"], title=WORDS["title"], metadata=described)
    list(memory.add_many([tmp_path / WORDS["uri"], RIVER]))
    memory.search(WORDS["question"], where={WORDS["name"]: WORDS["value"]}, user=WORDS["user"])
    memory.ask(f"Who has the {WORDS['question']} of Ann?", keep_trace=True)
    memory.maintenance.examine()
    memory.maintenance.export_to(tmp_path / WORDS["uri"])
    list(memory.maintenance.import_from(tmp_path / WORDS["uri"]))
    memory.forget(question=memory.questions()[0].text)
    for failing in (
        lambda: memory.search(WORDS["question"], documents=[WORDS["value"]]),
        lambda: memory.ask(WORDS["question"], documents=[WORDS["value"]]),
        lambda: memory.forget(WORDS["value"]),
        lambda: memory.forget(question=WORDS["question"]),
        lambda: list(memory.maintenance.import_from(tmp_path / WORDS["label"])),
    ):
        with pytest.raises(MemgraphRagError):
            failing()
    memory.forget(WORDS["key"])
    events = {"add", "search", "ask", "examine", "export", "forget", "forget_question"}
    assert {f"memgraph_rag.{event}" for event in events} <= {span.name for span in exporter.get_finished_spans()}
    assert shown_words(exporter) == []


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
