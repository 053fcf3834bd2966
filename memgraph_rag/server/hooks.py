"""The route of hooks on a local server, its one secret, and its end when nobody calls.

It knows HTTP and processes, and no client. Invariants: only who can read the server's file reaches a memory; the
server ends when no request came for a while.
"""

from __future__ import annotations

import json
import os
import secrets
import signal
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from threading import Thread
from typing import Any

from anyio import to_thread
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, request_response
from starlette.types import ASGIApp, Receive, Scope, Send

from memgraph_rag.private_files import write_private
from memgraph_rag.server.gate import Gate
from memgraph_rag.server.memories import Memories
from memgraph_rag.server.tokens import Grant
from memgraph_rag.server.transports import http_app, serve_http, token_server

Answer = Callable[[str, str, Mapping[str, Any]], str]
"""Returns the text that a hook prints, for a client, an event and its input."""


class OwnerTokens:
    """The tokens of the person who owns the server's file: the secret alone, or ``SECRET.NAMESPACE`` in hexadecimals.

    The secret opens every namespace, because who can read it can read the store.
    """

    def __init__(self, secret: str, namespace: str) -> None:
        self._secret, self._namespace = secret, namespace

    def find(self, token: str) -> Grant | None:
        """Return the grant of a token; None for a wrong one."""
        secret, _, name = token.partition(".")
        if not secrets.compare_digest(secret.encode(), self._secret.encode()):
            return None
        try:
            return Grant("owner", bytes.fromhex(name).decode() or self._namespace, "", 0)
        except ValueError:
            return None


def hook_app(memories: Memories, tokens: OwnerTokens, answer: Answer, *, finish: Callable[[], None]) -> Starlette:
    """Return the application of a server for one person: MCP and the REST API, and ``POST /hook/CLIENT/EVENT``.

    Args:
        answer: returns the text that a hook prints, for a client, an event, and what the client gave with the event.
        finish: called when the server ends, after the last answer and before the memories are closed.
    """
    server = token_server(memories, tokens)

    async def call(request: Request) -> Response:
        given: Any = json.loads(await request.body() or b"{}")
        client, event = request.path_params["client"], request.path_params["event"]
        text = await to_thread.run_sync(answer, client, event, given if isinstance(given, dict) else {})
        return Response(text, media_type="application/json")

    @asynccontextmanager
    async def live(app: Starlette) -> AsyncIterator[Any]:
        async with inner_lifespan(app) as state:
            yield state
        await to_thread.run_sync(finish)

    app = http_app(server)
    inner_lifespan, app.router.lifespan_context = app.router.lifespan_context, live
    gated = Gate(request_response(call), (), server.verifier)
    app.router.routes.append(Route("/hook/{client}/{event}", gated, methods=["POST"]))
    return app


def serve_hooks(app: Starlette, secret: str, path: Path, *, idle_s: float) -> None:
    """Serve at a free port of 127.0.0.1 until no request came for ``idle_s`` seconds.

    Args:
        path: the private file with port and secret, which is removed at the end.
    """
    counted = _Counted(app, idle_s)

    def ready(address: str) -> None:
        form = {"port": int(address.rsplit(":", 1)[1]), "secret": secret, "pid": os.getpid()}
        write_private(path, json.dumps(form).encode())
        Thread(target=counted.end_when_idle, name="memgraph_rag idle", daemon=True).start()

    try:
        serve_http(counted, port=0, ready=ready)
    finally:
        path.unlink(missing_ok=True)


class _Counted:
    """An application that knows when it was last called."""

    def __init__(self, app: ASGIApp, idle_s: float) -> None:
        self._app, self._idle_s = app, idle_s
        self._last, self._running = time.monotonic(), 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a call on."""
        self._running += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._running -= 1
            self._last = time.monotonic()

    def end_when_idle(self) -> None:
        """End the process by SIGTERM when no call ran for a while. The lifespan is a call that never ends."""
        while time.monotonic() - self._last < self._idle_s or self._running > 1:
            time.sleep(min(1.0, self._idle_s / 4))
        os.kill(os.getpid(), signal.SIGTERM)
