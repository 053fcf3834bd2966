"""A server that answers oddly: each reply is read, or is one error of ours that names the server, in time."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from endpoint_faults import Listener
from memories import options

from memgraph_rag import Memory
from memgraph_rag.errors import ModelError, ModelUnavailable
from memgraph_rag.models.embedders.endpoint_embedder import EndpointEmbedder
from memgraph_rag.models.endpoints import limits as endpoint_limits
from memgraph_rag.models.endpoints.address import Address
from memgraph_rag.models.endpoints.client import Ask, Endpoint
from memgraph_rag.models.endpoints.yes_no import read_verdict
from memgraph_rag.testing import FakeEmbedder, FakeRecognizer

ASK = Ask([{"role": "user", "content": "Who?"}], max_tokens=20)
SECONDS = 1.0


class Server(Listener):
    """Answers each request with ``answer``, which writes the raw bytes; a reply of its own for each path."""

    def __init__(self) -> None:
        self.answer: Callable[[BaseHTTPRequestHandler], None] = lambda _: None
        self.requests = 0
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                server.requests += 1
                self.rfile.read(int(self.headers["content-length"]))
                with suppress(OSError):  # the client went
                    server.answer(self)

            def do_GET(self) -> None:
                server.requests += 1
                with suppress(OSError):
                    server.answer(self)

        super().__init__(Handler)


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.close()


@pytest.fixture
def endpoint(server: Server, monkeypatch: pytest.MonkeyPatch) -> Endpoint:
    monkeypatch.setattr("memgraph_rag.models.endpoints.client._PAUSES", lambda _: 0.01)
    return Endpoint(Address(server.url, "m"), seconds=SECONDS)


def begin(handler: BaseHTTPRequestHandler, kind: str = "text/event-stream", **headers: str) -> None:
    handler.send_response(200)
    handler.send_header("content-type", kind)
    handler.send_header("transfer-encoding", "chunked")
    for name, value in headers.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.end_headers()


def write(handler: BaseHTTPRequestHandler, data: bytes) -> None:
    handler.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
    handler.wfile.flush()


def event(**choice: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "finish_reason": "stop", **choice}]}


def streams(*events: Any) -> Callable[[BaseHTTPRequestHandler], None]:
    """A reply of these events, each JSON or bytes."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        begin(handler)
        for each in events:
            write(handler, each if isinstance(each, bytes) else b"data: " + json.dumps(each).encode() + b"\n\n")
        write(handler, b"data: [DONE]\n\n")
        write(handler, b"")

    return answer


def says(body: str) -> Callable[[BaseHTTPRequestHandler], None]:
    """A reply of JSON that does not come in pieces."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        begin(handler, "application/json")
        write(handler, body.encode())
        write(handler, b"")

    return answer


# ── time ─────────────────────────────────────────────────────────────────────────────────────────────────────


def drips(data: bytes, *, behind: str = "headers") -> Callable[[BaseHTTPRequestHandler], None]:
    """The same bytes again and again, far more often than the client's read timeout."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        if behind == "headers":
            begin(handler)
        elif behind == "status":
            handler.wfile.write(b"HTTP/1.1 200 OK\r\nx-header: ")
        elif behind == "chunk size":
            begin(handler)
            handler.wfile.write(b"5;extension=")
        while True:
            if behind == "headers":
                write(handler, data)
            else:
                handler.wfile.write(data)
            time.sleep(0.05)

    return answer


@pytest.mark.parametrize(
    "answer",
    [
        drips(b": PROCESSING\n\n"),
        drips(b"x", behind="status"),
        drips(b"x", behind="chunk size"),
        drips(b"HTTP/1.1 100 Continue\r\n\r\n", behind="nothing"),
    ],
    ids=["comments", "header", "chunk size", "informational"],
)
def test_silent_server_is_cut_at_the_deadline(server: Server, endpoint: Endpoint, answer) -> None:
    server.answer = answer
    with in_time(), pytest.raises(ModelUnavailable, match=r"^Expected .*raise endpoint.seconds"):
        endpoint.write(ASK)


@pytest.mark.parametrize(
    "ask",
    [
        lambda endpoint: endpoint.write(ASK),
        lambda endpoint: list(endpoint.say(ASK)),
        lambda endpoint: endpoint.embed(["one"]),
        lambda endpoint: endpoint.models(),
    ],
    ids=["write", "say", "embed", "models"],
)
def test_dripping_server_is_cut_at_the_deadline(server: Server, endpoint: Endpoint, ask) -> None:
    server.answer = drips(b"d")
    with in_time(), pytest.raises(ModelUnavailable, match=r"^Expected .*raise endpoint.seconds"):
        ask(endpoint)


@contextmanager
def in_time() -> Iterator[None]:
    started = time.monotonic()
    yield
    assert time.monotonic() - started < SECONDS + 2


def test_kept_connection_gets_new_deadline(server: Server, endpoint: Endpoint) -> None:
    server.answer = streams(event(delta={"content": "Tom ran."}))
    assert endpoint.write(ASK).text == "Tom ran."
    time.sleep(SECONDS + 0.2)
    assert endpoint.write(ASK).text == "Tom ran."
    server.answer = drips(b"d")
    with pytest.raises(ModelUnavailable):
        endpoint.write(ASK)


# ── length ───────────────────────────────────────────────────────────────────────────────────────────────────


def test_text_beyond_max_tokens_is_cut(server: Server, endpoint: Endpoint) -> None:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        begin(handler)
        while True:
            write(handler, b"data: " + json.dumps(event(delta={"content": "abcd " * 2_000})).encode() + b"\n\n")

    server.answer = answer
    reply = endpoint.write(ASK)
    assert (len(reply.text), reply.finish) == (20 * 64, "length")
    assert "".join(endpoint.say(ASK)) == reply.text


@pytest.mark.parametrize("kind", ["text/event-stream", "application/json"])
def test_endless_reply_is_refused_at_once(
    server: Server, endpoint: Endpoint, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        begin(handler, kind)
        while True:
            write(handler, b"x" * 100_000)

    monkeypatch.setattr(endpoint_limits, "MOST_BYTES", 2**20)
    server.answer = answer
    with pytest.raises(
        ModelError, match=r"^Expected an answer of at most 1 MiB from http.*, got a longer one"
    ) as caught:
        endpoint.write(ASK) if "event" in kind else endpoint.embed(["one"])
    assert not caught.value.retryable
    assert server.requests == 1


def test_compressed_reply_is_refused(server: Server, endpoint: Endpoint) -> None:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        assert handler.headers["accept-encoding"] == "identity"
        begin(handler, content_encoding="gzip")
        write(handler, b"")

    server.answer = answer
    with pytest.raises(ModelError, match="compressed"):
        endpoint.write(ASK)


# ── content ──────────────────────────────────────────────────────────────────────────────────────────────────

NO_REPLIES = {
    "choices are text": {"choices": "abc"},
    "choices are a number": {"choices": 5},
    "content is a number": event(delta={"content": 5}),
    "content is a list": event(delta={"content": ["a"]}),
    "content is an object": event(delta={"content": {"a": 1}}),
    "reason is a number": event(delta={"content": "x"}, finish_reason=5),
    "reason is an object": event(delta={"content": "x"}, finish_reason={"a": 1}),
}


@pytest.mark.parametrize("name", NO_REPLIES)
def test_malformed_reply_is_refused(server: Server, endpoint: Endpoint, name: str) -> None:
    server.answer = streams(NO_REPLIES[name])
    with pytest.raises(ModelError, match=r"^Expected .* from the model server at http") as caught:
        endpoint.write(ASK)
    assert not caught.value.retryable


def test_error_of_a_server_names_no_layer(server: Server, tmp_path: Path) -> None:
    server.answer = streams(NO_REPLIES["choices are text"])
    more = options(model=f"{server.url}#m", reader="none", layers=("outline",), embedder=FakeEmbedder())
    with Memory(tmp_path / "notes.lbug", **{**more, "recognizer": FakeRecognizer()}) as memory:
        with pytest.raises(ModelError, match="from the model server at http"):
            memory.add("# A\n\nTom ran home. It rained. " * 20)
        assert memory.maintenance.examine() == []
        assert not memory.documents()


BROKEN = {
    "choices are null": {"choices": None},
    "choice is null": {"choices": [None]},
    "list": [1, 2],
    "number": 5,
    "half JSON": b"data: {nope\n\n",
    "deep JSON": b"data: " + b"[" * 100_000 + b"\n\n",
    "long number": b'data: {"choices": [], "usage": {"prompt_tokens": ' + b"9" * 5_000 + b"}}\n\n",
    "error": {"error": "boom"},
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_reply_is_retryable(server: Server, endpoint: Endpoint, name: str) -> None:
    server.answer = streams(BROKEN[name])
    with pytest.raises(ModelUnavailable, match=r"^Expected .*http"):
        endpoint.write(ASK)
    assert server.requests > 1


def test_unstorable_characters_are_replaced(server: Server, endpoint: Endpoint) -> None:
    server.answer = streams(event(delta={"content": "a\0b \ud800 Tom"}))
    assert endpoint.write(ASK).text == "a\ufffdb \ufffd Tom"
    assert "".join(endpoint.say(ASK)) == "a\ufffdb \ufffd Tom"


@pytest.mark.parametrize(
    "usage",
    [5, "many", {"prompt_tokens": "many", "completion_tokens": 1}, {"prompt_tokens": -5, "completion_tokens": 10**30}],
    ids=repr,
)
def test_invalid_usage_is_estimated(server: Server, endpoint: Endpoint, usage: object) -> None:
    server.answer = streams({**event(delta={"content": "Tom ran."}), "usage": usage})
    assert 0 < endpoint.write(ASK).usage.generated_tokens < 10


@pytest.mark.parametrize(
    "content",
    [
        [{"top_logprobs": [{"token": "Yes", "logprob": None}]}],
        [{"top_logprobs": [{"token": "Yes", "logprob": "high"}]}],
        [{"top_logprobs": [{"token": "Yes", "logprob": float("nan")}]}],
        [{"top_logprobs": [{"logprob": -1}]}],
        [{"top_logprobs": 5}],
        ["Yes"],
        {"a": 1},
    ],
    ids=str,
)
def test_invalid_log_probabilities_are_left_out(server: Server, endpoint: Endpoint, content: object) -> None:
    server.answer = streams(event(delta={"content": "Yes"}, logprobs={"content": content}))
    reply = endpoint.write(ASK)
    assert reply.top == ()
    assert read_verdict(reply.text, reply.top).p_yes == 1.0


@pytest.mark.parametrize(
    "logprob",
    [50.0, 1e308, 10**400, -(10**400), float("-inf"), float("inf")],
    ids=lambda n: f"{n:.1e}" if isinstance(n, float) else str(n)[:3],
)
def test_log_probabilities_beyond_all_bounds_give_a_probability(
    server: Server, endpoint: Endpoint, logprob: float
) -> None:
    top = [{"token": "Yes", "logprob": logprob}, {"token": "No", "logprob": -1.0}]
    server.answer = streams(event(delta={"content": "Yes"}, logprobs={"content": [{"top_logprobs": top}]}))
    reply = endpoint.write(ASK)
    assert 0.0 <= read_verdict(reply.text, reply.top).p_yes <= 1.0


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "1e999", "Mon, 01 Jan 0001 00:00:00 -0000", "x"])
def test_invalid_pause_is_ignored(server: Server, endpoint: Endpoint, value: str) -> None:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(429)
        handler.send_header("retry-after", value)
        handler.send_header("content-length", "0")
        handler.end_headers()

    server.answer = answer
    with pytest.raises(ModelUnavailable, match="status 429") as caught:
        endpoint.write(ASK)
    assert caught.value.retry_after_s in (None, 0.0)


@pytest.mark.parametrize(
    "embedding",
    [
        "[NaN,0]",
        "[Infinity,0]",
        "[0,0]",
        "[1e999,0]",
        '"ab"',
        "null",
        "[]",
        "[[1],[2]]",
        '["a","b"]',
        '{"a":1}',
        "[null,1]",
    ],
)
def test_invalid_embedding_is_refused(server: Server, endpoint: Endpoint, embedding: str) -> None:
    server.answer = says(f'{{"data": [{{"index": 0, "embedding": {embedding}}}]}}')
    with pytest.raises(ModelError, match=r"^Expected vectors of .* from the model server at http"):
        EndpointEmbedder(endpoint).embed(["one"])


@pytest.mark.parametrize(
    "data", ["5", "{}", "[]", '[{"embedding": [1, 0]}]', '[{"embedding": [1]}, {"embedding": [1, 0]}]']
)
def test_embeddings_of_wrong_number_or_length_are_refused(server: Server, endpoint: Endpoint, data: str) -> None:
    server.answer = says(f'{{"data": {data}}}')
    with pytest.raises(ModelError, match=r"^Expected .*vectors"):
        EndpointEmbedder(endpoint).embed(["one", "two"])


def test_embeddings_of_any_length_and_order_become_units(server: Server, endpoint: Endpoint) -> None:
    items = ['{"index": 1, "embedding": [0, 1e30]}', '{"index": 0, "embedding": [3e-30, 4e-30]}']
    server.answer = says(f'{{"data": [{", ".join(items)}]}}')
    rows = EndpointEmbedder(endpoint).embed(["one", "two"])
    np.testing.assert_allclose(rows, [[0.6, 0.8], [0.0, 1.0]], atol=1e-6)


@pytest.mark.parametrize("listed", ['[{"id": "m", "meta": [5]}]', '[{"id": ["m"]}]', '[{"id": "m", "n_ctx": true}]'])
def test_malformed_list_gives_no_window(server: Server, endpoint: Endpoint, listed: str) -> None:
    server.answer = says(f'{{"data": {listed}}}')
    assert endpoint.window() is None
