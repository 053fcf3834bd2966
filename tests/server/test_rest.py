"""The tools over plain HTTP, by a real server on a socket: the same results, problems for errors, and a limit."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import pytest
from mcp_agents import Connect, Served, in_loop
from memories import FOX, QUESTION, RIVER
from tables import table

from memgraph_rag import __version__
from memgraph_rag.errors import ModelError, ModelUnavailable, StoreReadOnly, StoreUnavailable
from memgraph_rag.memory import Memory
from memgraph_rag.server.metrics import Metrics
from memgraph_rag.testing import FakeSession

Post = Callable[..., httpx2.Response]


@pytest.fixture
def post(served: Served) -> Iterator[Post]:
    """Calls a tool as a program of the namespace ann does."""
    token = served.tokens.make("ann")
    address = served.url.removesuffix("/mcp")
    with httpx2.Client(base_url=address, headers={"Authorization": f"Bearer {token}"}, timeout=30) as client:

        def call(tool: str, /, *, headers: dict[str, str] | None = None, **arguments: Any) -> httpx2.Response:
            return client.post(f"/v1/{tool}", json=arguments, headers=headers)

        yield call


@pytest.fixture
def get(served: Served) -> Callable[..., httpx2.Response]:
    return lambda path, **headers: httpx2.get(served.url.removesuffix("/mcp") + path, headers=headers)


def test_a_program_remembers_recalls_asks_and_forgets(post: Post) -> None:
    stored = post("remember", text=FOX, key="fox").json()
    assert stored["counts"]["Segment"] == 5
    assert post("recall", query="fox", k=1).json()["passages"][0]["document_key"] == "fox"
    answer = post("ask", question=QUESTION).json()
    assert answer["citations"][0]["quote"] in FOX
    assert post("status").json()["documents"] == 1
    post("remember", messages=[{"role": "user", "content": "Tea at five."}])
    assert [line["text"] for line in post("brief").json()["lines"]] == ["Tea at five."]
    assert post("forget", name="fox").json()["forgotten"] is True
    assert post("list_documents").json()["total"] == 1


@in_loop
async def test_a_result_is_the_same_as_over_mcp(connect: Connect, memory: Memory, post: Post) -> None:
    memory.add(FOX, key="fox")
    async with connect() as agent:
        for tool, arguments in {
            "recall": {"query": QUESTION},
            "list_documents": {},
            "look": {"name": "Ann"},
            "status": {},
        }.items():
            plain = await asyncio.to_thread(post, tool, **arguments)
            assert plain.json() == await agent(tool, **arguments)


def test_ask_streams_steps_pieces_and_the_answer(post: Post) -> None:
    post("remember", text=FOX, key="fox")
    response = post("ask", question=QUESTION, headers={"Accept": "text/event-stream"})
    assert response.headers["content-type"].startswith("text/event-stream")
    events = [_event(block) for block in response.text.replace("\r\n", "\n").strip().split("\n\n")]
    names = [name for name, _ in events]
    assert names == sorted(names, key=("step", "piece", "answer").index)
    assert {"step", "piece"} < set(names)
    assert {data["document_key"] for name, data in events if name == "step"} == {"fox"}
    assert names.count("answer") == 1
    assert "".join(data["text"] for name, data in events if name == "piece").strip() == events[-1][1]["text"]
    whole = post("ask", question=QUESTION).json()
    assert {**events[-1][1], "usage": {}} == {**whole, "usage": {}}


def test_stream_holds_an_event_for_each_part_after_its_steps(post: Post, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FakeSession, "answer", lambda *_, **__: iter(["1950"]))
    post("remember", text="Ann Lee was born in 1950.", key="ann", title="Ann Lee")
    post("remember", text="Bo Ray was born in 1950.", key="bo", title="Bo Ray")
    question = "Who was born first, Ann Lee or Bo Ray?"
    response = post("ask", question=question, headers={"Accept": "text/event-stream"})
    blocks = response.text.replace("\r\n", "\n").strip().split("\n\n")
    events = [_event(block) for block in blocks if not block.startswith(":")]  # a slow machine is pinged
    parts = [data for name, data in events if name == "part"]
    assert [part["question"] for part in parts] == ["When was Ann Lee born?", "When was Bo Ray born?"]
    assert [part["question"] for part in events[-1][1]["parts"]] == [part["question"] for part in parts]
    assert events[0][0] == "step"


def _event(block: str) -> tuple[str, dict[str, Any]]:
    fields = dict(line.split(": ", 1) for line in block.split("\n"))
    return fields["event"], json.loads(fields["data"])


def test_an_error_in_a_stream_is_its_last_event(post: Post) -> None:
    response = post("ask", question=QUESTION, documents=["nobody"], headers={"Accept": "text/event-stream"})
    (event,) = [_event(block) for block in response.text.replace("\r\n", "\n").strip().split("\n\n")]
    assert event[0] == "error"
    assert event[1]["title"] == "DocumentNotFound"


@table(
    ("tool", "arguments", "status", "detail"),
    [
        ("forget", {"name": "nobody"}, 404, "Expected the key or id of a document"),
        ("recall", {"query": 3, "more": 1}, 422, "got query: Input should be a valid string (got 3); more:"),
        ("recall", {}, 422, "query: Field required"),
        ("ask", {"question": "Who?", "keep": 1}, 422, "keep: Input should be a valid boolean"),
        ("recall", {"query": " "}, 422, "Expected a question"),
        ("remember", {}, 422, "Expected text or messages, got neither"),
        ("forget", {"name": "fox", "confirmation": {"action": "accept"}}, 422, "confirmation"),
        ("nothing", {}, 404, "Expected a tool out of add_file, around, ask"),
    ],
)
def test_wrong_request_gets_a_problem_with_its_reason(post: Post, tool, arguments, status, detail) -> None:
    response = post(tool, **arguments)
    problem = response.json()
    assert response.headers["content-type"] == "application/problem+json"
    assert (response.status_code, problem["status"]) == (status, status)
    assert detail in problem["detail"]
    assert "Traceback" not in response.text


@table(("body", "got"), [("[1]", "got list"), ("{", "got no JSON"), ("[" * 100_000, "got no JSON")])
def test_a_body_that_is_no_object_is_refused(served: Served, body: str, got: str) -> None:
    headers = {"Authorization": f"Bearer {served.tokens.make('ann')}", "Content-Type": "application/json"}
    response = httpx2.post(served.url.replace("/mcp", "/v1/recall"), content=body, headers=headers)
    assert response.status_code == 400
    assert got in response.json()["detail"]


@table(
    ("error", "status", "waits"),
    [
        (ModelUnavailable("Expected an answer, got none.", name="m"), 503, True),
        (ModelError("Expected a model, got none.", name="m"), 500, False),
        (StoreReadOnly("Expected a store that may be changed, got none."), 403, False),
        (KeyError("secret"), 500, False),
    ],
)
def test_a_failure_has_the_status_that_says_who_can_mend_it(post: Post, monkeypatch, error, status, waits) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(Memory, "search", fail)
    response = post("recall", query="fox")
    assert response.status_code == status
    assert ("Retry-After" in response.headers) is waits
    assert "secret" not in response.text


def test_a_token_reaches_its_own_namespace_only(post: Post, served: Served) -> None:
    post("remember", text=FOX, key="fox")
    headers = {"Authorization": f"Bearer {served.tokens.make('tom')}"}
    assert post("remember", text=RIVER, key="river", headers=headers).status_code == 200
    assert post("forget", name="fox", headers=headers).status_code == 404
    assert {item["text"] in RIVER for item in post("recall", query="fox", headers=headers).json()["passages"]} == {True}


@table(
    ("headers", "status"),
    [
        ({"Authorization": ""}, 401),
        ({"Authorization": "Bearer mgr_wrong"}, 401),
        ({"Host": "evil.example"}, 421),
        ({"Origin": "http://evil.example"}, 403),
        ({"Content-Type": "text/plain"}, 400),
    ],
)
def test_call_without_permission_is_refused(post: Post, get, headers: dict[str, str], status: int) -> None:
    check_problem(post("status", headers=headers), status, get)


def test_a_body_without_end_is_refused(post: Post, get) -> None:
    check_problem(post("remember", text="x" * (41 * 2**20)), 413, get)


def check_problem(response: httpx2.Response, status: int, get: Callable[..., httpx2.Response]) -> None:
    """Assert that a refusal is a problem document, as the description says."""
    assert response.headers["content-type"] == "application/problem+json"
    assert (response.status_code, response.json()["status"]) == (status, status)
    assert response.json()["detail"].startswith("Expected")
    described = get("/openapi.json").json()["paths"]["/v1/status"]["post"]["responses"][str(status)]
    assert set(described["content"]) == {"application/problem+json"}
    assert all(name in response.headers for name in described.get("headers", {}))


def test_address_that_is_not_there_is_a_problem(get) -> None:
    lost, wrong = get("/v2"), get("/v1/status")
    assert [response.json()["title"] for response in (lost, wrong)] == ["NotFound", "MethodNotAllowed"]
    assert [response.headers["content-type"] for response in (lost, wrong)] == ["application/problem+json"] * 2
    assert wrong.headers["allow"] == "POST"


def test_the_description_holds_every_tool_and_no_lost_reference(get) -> None:
    description = get("/openapi.json").json()
    tools = {"ask", "brief", "forget", "list_documents", "look", "recall", "remember", "status"}
    assert {f"/v1/{tool}" for tool in tools} <= set(description["paths"])
    assert "$defs" not in json.dumps(description)
    schemas = description["components"]["schemas"]
    references = [text.split('"')[0] for text in json.dumps(description).split('"#/components/schemas/')[1:]]
    assert set(references) <= set(schemas)
    assert {"Passage", "Problem", "Quote"} <= set(references)


def test_page_of_the_api_loads_its_own_files_alone(get) -> None:
    assert get("/docs").headers["location"] == "/docs/"
    response = get("/docs/")
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    rule = dict(part.strip().split(" ", 1) for part in response.headers["content-security-policy"].split(";"))
    assert (rule["default-src"], rule["script-src"], rule["connect-src"]) == ("'none'", "'self'", "'self'")
    texts = [get(f"/docs/{name}").text for name in ("docs.css", "docs.js")]
    assert re.findall(r'(?:src|href)="([^"]+)"', response.text) == ["docs.css", "../openapi.json", "docs.js"]
    assert 'fetch("../openapi.json")' in texts[1]
    assert re.findall(r"https?://|innerHTML|<style|style=", "".join((response.text, *texts))) == []
    assert get("/docs/", Host="evil.example").status_code == 421


def test_health_needs_no_token(get) -> None:
    assert get("/health").json() == {"status": "ok", "version": __version__}
    assert get("/health", Host="evil.example").status_code == 421


def test_metrics_name_tools_and_outcomes_and_no_caller(post: Post, get) -> None:
    post("remember", text=FOX, key="fox")
    post("recall", query="fox")
    post("forget", name="nobody")
    post("ask", question=QUESTION, documents=["nobody"], headers={"Accept": "text/event-stream"})
    response = get("/metrics")
    assert response.headers["content-type"].startswith("text/plain")
    lines = dict(line.rsplit(" ", 1) for line in response.text.splitlines() if not line.startswith("#"))

    def calls(tool: str, outcome: str = "ok") -> float:
        return float(lines[f'memgraph_rag_call_seconds_count{{outcome="{outcome}",tool="{tool}",way="rest"}}'])

    assert calls("remember") == calls("recall") == 1
    assert calls("forget", "DocumentNotFound") == calls("ask", "DocumentNotFound") == 1
    assert {value for name, value in lines.items() if name.startswith("memgraph_rag_calls_under_way")} == {"0.0"}
    assert "ann" not in response.text
    assert "fox" not in response.text
    assert get("/metrics", Host="evil.example").status_code == 421


def test_metrics_count_a_failed_call_by_its_own_error() -> None:
    figures = Metrics()
    with pytest.raises(StoreUnavailable), figures.call("status", "rest"):
        raise StoreUnavailable("gone") from OSError("no route")
    assert 'outcome="StoreUnavailable"' in figures.text().decode()
    assert "OSError" not in figures.text().decode()


@table("at", ["9999-12-31", "9999-12-31T23:59:59.999999-14:00", "0001-01-01T00:00:00+14:00"])
def test_ends_of_the_calendar_are_moments(post: Post, at: str) -> None:
    post("remember", text=FOX, key="fox")
    found = post("recall", query="fox", at=at)
    assert found.status_code == 200
    assert bool(found.json()["passages"]) is at.startswith("9999")
    assert post("ask", question=QUESTION, at=at).status_code == 200
