"""Real sockets: clients that send slowly or nothing are closed, and keep nobody out."""

from __future__ import annotations

import json
import os
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest
from mcp_agents import Served

from memgraph_rag.memory import Memory
from memgraph_rag.server import connections

HALF = b"POST /v1/recall HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Half: "
SHORT_S = 0.4
LONG_S = 15.0

Connect = Callable[[], socket.socket]


@pytest.fixture
def short_times(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "_HEAD_S", SHORT_S)
    monkeypatch.setattr(connections, "_BODY_S", SHORT_S)


@pytest.fixture
def connect(served: Served) -> Iterator[Connect]:
    """Opens a connection to the server."""
    address = urlsplit(served.url)
    with ExitStack() as opened:

        def connected() -> socket.socket:
            new = socket.create_connection((address.hostname, address.port), timeout=LONG_S)
            return opened.enter_context(new)

        yield connected


def received(connection: socket.socket, *, until: bytes) -> bytes:
    """What the server sends until these bytes end it: head and body come as two packets, and may be read as two."""
    got = b""
    while not got.endswith(until):
        packet = connection.recv(65536)
        assert packet, got
        got += packet
    return got


def seconds_until_closed(connection: socket.socket, *, trickle: bytes = b"") -> float:
    """How long the server keeps the connection; a byte is sent each twentieth of a second meanwhile."""
    began = time.monotonic()
    connection.settimeout(0.05)
    while time.monotonic() < began + LONG_S:
        try:
            if trickle:
                connection.sendall(trickle)
            if not connection.recv(65536):
                break
        except TimeoutError:
            continue
        except OSError:
            break
    return time.monotonic() - began


@pytest.mark.usefixtures("short_times")
@pytest.mark.parametrize("trickle", [b"", b"a"], ids=["silent", "trickling"])
@pytest.mark.parametrize("first", [b"", HALF], ids=["nothing", "half a head"])
def test_head_that_does_not_arrive_closes_the_connection(connect: Connect, first: bytes, trickle: bytes) -> None:
    connection = connect()
    connection.sendall(first)
    assert SHORT_S * 0.8 < seconds_until_closed(connection, trickle=trickle) < LONG_S / 2


@pytest.mark.usefixtures("short_times")
def test_second_head_of_a_connection_is_bounded_too(connect: Connect) -> None:
    connection = connect()
    connection.sendall(b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
    assert connection.recv(65536).startswith(b"HTTP/1.1 200")
    time.sleep(2 * SHORT_S)  # between two requests a connection may wait longer
    connection.sendall(HALF)
    assert SHORT_S * 0.8 < seconds_until_closed(connection, trickle=b"a") < LONG_S / 2


@pytest.mark.usefixtures("short_times")
@pytest.mark.parametrize("path", ["/v1/recall", "/mcp"])
@pytest.mark.parametrize("has_token", [True, False])
def test_body_that_does_not_arrive_closes_the_connection(
    connect: Connect, served: Served, caplog: pytest.LogCaptureFixture, path: str, has_token: bool
) -> None:
    token = served.tokens.make("ann") if has_token else "none"
    head = (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n"
        "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: 1000000\r\n"
    )
    connection = connect()
    connection.sendall(f"{head}\r\n".encode())
    assert SHORT_S * 0.8 < seconds_until_closed(connection, trickle=b" ") < LONG_S / 2
    time.sleep(0.2)
    assert [record.getMessage() for record in caplog.records if record.levelname == "ERROR"] == []


@pytest.mark.usefixtures("short_times")
def test_long_answer_is_waited_for(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Memory, "search", lambda *_, **__: time.sleep(3 * SHORT_S) or [])
    headers = {"Authorization": f"Bearer {served.tokens.make('ann')}"}
    address = served.url.replace("/mcp", "/v1/recall")
    assert httpx2.post(address, json={"query": "fox"}, headers=headers).status_code == 200


def test_new_connection_replaces_an_idle_one_but_no_call(
    connect: Connect, served: Served, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(connections, "_most_connections", lambda: 3)
    monkeypatch.setattr(connections.BoundedConnection, "_logged_at", -connections._SILENT_S)
    begun, goes_on = threading.Event(), threading.Event()

    def wait(*_: object, **__: object) -> list[object]:
        begun.set()
        assert goes_on.wait(LONG_S)
        return []

    monkeypatch.setattr(Memory, "search", wait)
    headers = {"Authorization": f"Bearer {served.tokens.make('ann')}", "Content-Type": "application/json"}
    body = json.dumps({"query": "fox"})
    lines = [f"{name}: {value}\r\n" for name, value in {**headers, "Content-Length": len(body)}.items()]
    calling = connect()
    calling.sendall(f"POST /v1/recall HTTP/1.1\r\nHost: 127.0.0.1\r\n{''.join(lines)}\r\n{body}".encode())
    assert begun.wait(LONG_S)
    half_sent = [connect() for _ in range(20)]
    for connection in half_sent:
        connection.sendall(HALF)
    assert httpx2.get(served.url.replace("/mcp", "/health")).status_code == 200
    goes_on.set()
    assert calling.recv(65536).startswith(b"HTTP/1.1 200")
    assert sum("connections of this process are open" in record.getMessage() for record in caplog.records) == 1


def test_new_connection_replaces_one_that_waits_for_its_next_request(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "_most_connections", lambda: 3)
    health = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    kept_alive = [connect() for _ in range(3)]
    for connection in kept_alive:
        connection.sendall(health)
        assert received(connection, until=b"}").startswith(b"HTTP/1.1 200")
    new = connect()
    new.sendall(health)
    assert received(new, until=b"}").startswith(b"HTTP/1.1 200")
    assert kept_alive[0].recv(65536) == b""


@pytest.mark.slow
def test_half_sent_heads_do_not_keep_clients_out(tmp_path: Path) -> None:
    """A process of few descriptors, all of which the heads would take."""
    program = "from memgraph_rag.server import connections as c; c._HEAD_S = 3.0; import serve_with_fakes as s; s.run()"
    command = [sys.executable, "-c", program, "serve", "--port", "0"]
    command += ["--store", str(tmp_path / "notes.lbug"), "--tokens", str(tmp_path / "tokens")]
    process = subprocess.Popen(
        command,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256)),
    )
    assert process.stderr is not None
    try:
        address = process.stderr.readline().split()[3].removesuffix("/mcp")
        httpx2.get(f"{address}/health", timeout=60).raise_for_status()
        port = urlsplit(address).port
        with ExitStack() as opened:
            half_sent = []
            for _ in range(400):
                connection = opened.enter_context(socket.create_connection(("127.0.0.1", port), timeout=LONG_S))
                connection.sendall(HALF)
                half_sent.append(connection)
            began = time.monotonic()
            assert httpx2.get(f"{address}/health", timeout=LONG_S).status_code == 200
            assert time.monotonic() - began < 3
            assert max(seconds_until_closed(connection) for connection in half_sent) < LONG_S
    finally:
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=30)
    assert said.count("connections of this process are open") == 1
    assert len(said.splitlines()) <= 3  # where the address is told, and the line
