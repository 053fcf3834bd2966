"""The transports of the server: standard streams for one client, HTTP on this machine for many clients.

It knows sockets and tokens, and no tool. Invariants: each HTTP call needs a token, and a token reaches only its own
namespace. A web page on another site cannot reach the server (``Host`` and ``Origin`` are checked).
"""

from __future__ import annotations

import errno
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from threading import Thread

import anyio
import anyio.to_thread
import uvicorn
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.auth.provider import AccessToken, TokenVerifier
from mcp.server.auth.settings import AuthSettings
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.transport_security import TransportSecuritySettings
from pydantic import AnyHttpUrl
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.routing import Route, request_response
from starlette.types import ASGIApp

from memgraph_rag.errors import MemgraphRagError, SettingsError
from memgraph_rag.server import HOST, PATH
from memgraph_rag.server.connections import BoundedConnection, most_waiting
from memgraph_rag.server.console.operations import OPERATIONS, OWNER_OPERATIONS
from memgraph_rag.server.console.pages import page_routes
from memgraph_rag.server.gate import MOST_BODY, Gate
from memgraph_rag.server.memories import Memories
from memgraph_rag.server.problems import answer_unrouted
from memgraph_rag.server.rest import ROUTE, RestApi
from memgraph_rag.server.server import MemoryServer, make_tool
from memgraph_rag.server.services import Owner as Owner
from memgraph_rag.server.sessions import SessionLimit
from memgraph_rag.server.tokens import Grants
from memgraph_rag.server.tools import BRIEF
from memgraph_rag.server.tracing import Traced

_SCOPE = "memory"
_CLAIM = "namespace"
_GOODBYE_S = 3  # for open streams when the server ends
_IDLE_S = 150  # for an idle connection: longer than clients and proxies keep it, so that they close it first
_LOOKUPS = 4  # threads for checking tokens, separate from the threads of calls


def serve_stdio(memories: Memories, namespace: str) -> None:
    """Serve one client on standard streams until it disconnects. A thread opens the memory in advance.

    If opening fails, the server runs on, and each call gets the error.
    """
    server = MemoryServer(memories, caller_namespace=lambda: namespace)
    Thread(target=_open_ahead, args=(memories, namespace), daemon=True).start()
    anyio.run(server.run_stdio_async)


def serve_http(app: ASGIApp, *, port: int, ready: Callable[[str], None]) -> None:
    """Serve clients at 127.0.0.1 until the process gets a signal to end.

    Args:
        app: the result of ``http_app``.
        port: the port; 0 chooses a free port.
        ready: called with the address when clients can connect.

    Raises:
        SettingsError: the port is not free or not valid.
    """
    listening = _listen(port)
    port = listening.getsockname()[1]
    config = uvicorn.Config(
        app,
        loop="asyncio",
        http=BoundedConnection,
        ws="none",
        backlog=most_waiting(),
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_GOODBYE_S,
        timeout_keep_alive=_IDLE_S,
    )
    with listening:
        ready(f"http://{HOST}:{port}")
        uvicorn.Server(config).run(sockets=[listening])


def token_server(memories: Memories, tokens: Grants, *, owner: Owner | None = None) -> MemoryServer:
    """Return a server that requires a token, whose namespace each call uses.

    Args:
        tokens: the tokens that it takes.
        owner: the further operations that the callers may use; None for none.
    """
    return MemoryServer(
        memories,
        caller_namespace=_read_token_namespace,
        token_verifier=_Verifier(tokens),
        # There is no authorization server, because the user creates tokens. The SDK requires the field anyway.
        auth=AuthSettings(issuer_url=AnyHttpUrl(f"http://{HOST}"), resource_server_url=None, required_scopes=[_SCOPE]),
        owner=owner,
    )


def http_app(server: MemoryServer, *, allowed_hosts: Sequence[str] = (), may_write: bool = False) -> Starlette:
    """Return the ASGI application of a server, with MCP, the REST API, its description and the console.

    MCP and the tools need a token if the server has a verifier. ``/openapi.json``, ``/docs``, ``/health``, ``/metrics``
    and the files of the console never do.

    Args:
        allowed_hosts: further valid names in ``Host`` and ``Origin``, for a proxy in front of this server.
        may_write: whether the console offers to add, correct and forget. A token may do so anyway.
    """
    app = server.streamable_http_app(
        streamable_http_path=PATH,
        # ``Gate`` checks Host and Origin of each request.
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        max_request_body_size=MOST_BODY,
    )
    is_owner = server.services.owner is not None
    operations = (BRIEF, *OPERATIONS, *(OWNER_OPERATIONS if is_owner else ()))
    api = RestApi(server.services, (*server.memory_tools, *map(make_tool, operations)))
    verifier = server.verifier
    app.router.routes[:] = [
        Route(PATH, Gate(SessionLimit(server.session_manager.handle_request), allowed_hosts, verifier)),
        Route(
            ROUTE, Traced(Gate(request_response(api.call), allowed_hosts, verifier), ROUTE, api.tools), methods=["POST"]
        ),
        *(
            Route(path, Gate(request_response(answer), allowed_hosts), methods=["GET"])
            for path, answer in (
                ("/openapi.json", api.describe),
                ("/health", api.health),
                ("/metrics", api.metrics),
            )
        ),
        *page_routes(tuple(allowed_hosts), may_write=may_write, is_owner=is_owner),
    ]
    app.add_exception_handler(HTTPException, answer_unrouted)
    return app


class _Verifier(TokenVerifier):
    """Checks tokens for the SDK."""

    def __init__(self, tokens: Grants) -> None:
        self._tokens = tokens
        self._threads = anyio.CapacityLimiter(_LOOKUPS)

    async def verify_token(self, token: str) -> AccessToken | None:
        grant = await anyio.to_thread.run_sync(self._tokens.find, token, limiter=self._threads)
        if grant is None:
            return None
        return AccessToken(
            token=token,
            client_id=grant.id,
            scopes=[_SCOPE],
            expires_at=grant.expires_at or None,
            subject=grant.namespace,
            claims={_CLAIM: grant.namespace},
        )


def _read_token_namespace() -> str:
    token = get_access_token()
    namespace = (token.claims or {}).get(_CLAIM) if token is not None else None
    if not isinstance(namespace, str):
        raise ToolError("Expected a call with a token, got none. The user can create one: memgraph-rag mcp token.")
    return namespace


def _open_ahead(memories: Memories, namespace: str) -> None:
    """Open the memory and load what a search needs, so that the first call does not wait for it."""
    with suppress(MemgraphRagError):  # the first call raises the error again
        memories.get(namespace).search(namespace, k=1)


def _listen(port: int) -> socket.socket:
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((HOST, port))
        listening.listen(most_waiting())
    except (OSError, OverflowError) as error:
        listening.close()
        taken = isinstance(error, OSError) and error.errno == errno.EADDRINUSE
        got = "another program uses it" if taken else f"an error ({error})"
        raise SettingsError(
            f"Expected a free port of {HOST}, got {port}: {got}. Name another port with --port.", port=port
        ) from error
    return listening
