"""A proxy before a real model server that answers in its place, breaks off or keeps silent, as it is told.

It knows HTTP, and nothing of models. Invariant: without a fault everything passes through as it is.
"""

from __future__ import annotations

import json
import threading
import time
from collections import deque
from contextlib import closing, suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPResponse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

__all__ = ["Fault", "FaultyProxy", "Listener"]


class _QuietServer(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """Clients leave in the midst of a request."""


class Listener:
    """A server on a port of its own, whose requests a handler answers in threads, without a log."""

    def __init__(self, handler: type[BaseHTTPRequestHandler]) -> None:
        handler.protocol_version, handler.log_message = "HTTP/1.1", lambda *_: None
        self._server = _QuietServer(("127.0.0.1", 0), handler)
        self.port: int = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}/v1"
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@dataclass(frozen=True)
class Fault:
    """What happens to one request.

    Attributes:
        status: answered in the server's place, with ``headers`` and ``body``; 0 lets the server answer.
        events: of the server's stream so many are passed, then it ends; None passes all.
        is_clean: whether that looks like an end, or the connection breaks.
        silence_s: before anything else happens.
    """

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: str = ""
    events: int | None = None
    is_clean: bool = False
    silence_s: float = 0.0


class FaultyProxy(Listener):
    """Listens on a port of its own.

    Attributes:
        faults: of the next requests, one each; those after them pass.
        always: happens to each request for which there is none in ``faults``.
        bodies: what was asked for, in order.
        most_at_once: requests that were open at a time.
    """

    def __init__(self, upstream_port: int) -> None:
        self.faults: deque[Fault] = deque()
        self.always: Fault | None = None
        self.bodies: list[dict[str, Any]] = []
        self.most_at_once = 0
        self._open: set[object] = set()
        self._lock = threading.Lock()
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._handle(b"")

            def do_POST(self) -> None:
                self._handle(self.rfile.read(int(self.headers.get("content-length", 0))))

            def _handle(self, body: bytes) -> None:
                fault = proxy.begin(self, body)
                with suppress(OSError):  # the client went
                    self._act(fault, body)
                proxy.end(self)

            def _act(self, fault: Fault, body: bytes) -> None:
                time.sleep(fault.silence_s)
                if fault.status:
                    self._answer(fault)
                else:
                    self._pass(fault, body)

            def _answer(self, fault: Fault) -> None:
                self.send_response(fault.status)
                for name, value in {"content-type": "application/json", **fault.headers}.items():
                    self.send_header(name, value)
                data = fault.body.encode()
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def _pass(self, fault: Fault, body: bytes) -> None:
                kept = {name: value for name, value in self.headers.items() if name.lower() != "host"}
                with closing(HTTPConnection("127.0.0.1", upstream_port, timeout=60)) as upstream:
                    upstream.request(self.command, self.path, body or None, kept)
                    with upstream.getresponse() as answer:
                        self._copy(answer, fault.events)
                if fault.events is None or fault.is_clean:
                    self.wfile.write(b"0\r\n\r\n")
                else:
                    self.close_connection = True
                    self.connection.close()

            def _copy(self, answer: HTTPResponse, events: int | None) -> None:
                self.send_response(answer.status)
                self.send_header("content-type", answer.headers["content-type"])
                self.send_header("transfer-encoding", "chunked")
                self.end_headers()
                passed = 0
                for line in answer:
                    if events is not None and passed >= events:
                        break
                    passed += line == b"\n"
                    if line.startswith(b"data: [DONE]"):
                        proxy.end(self)  # the client reads no further, and may ask again at once
                    self.wfile.write(f"{len(line):x}\r\n".encode() + line + b"\r\n")
                    self.wfile.flush()

        super().__init__(Handler)

    def begin(self, handler: object, body: bytes) -> Fault:
        with self._lock:
            self.bodies.append(json.loads(body) if body else {})
            self._open.add(handler)
            self.most_at_once = max(self.most_at_once, len(self._open))
            return self.faults.popleft() if self.faults else self.always or Fault()

    def end(self, handler: object) -> None:
        with self._lock:
            self._open.discard(handler)
