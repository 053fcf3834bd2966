"""``SessionLimit``: limits the number of MCP 2025 sessions of a token.

It knows the header that names a session, and no tool. Invariants: a token cannot use up the sessions of other tokens. A
session with a running request is never ended to make room.
"""

from __future__ import annotations

from collections import defaultdict

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.streamable_http import MCP_SESSION_ID_HEADER
from mcp.shared.inbound import MCP_PROTOCOL_VERSION_HEADER
from mcp.types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memgraph_rag.server.problems import answer_problem
from memgraph_rag.server.results import Problem

MOST_SESSIONS = 64
"""Sessions of one token. The SDK allows 10,000 in all, and ends a session after half an hour without a request."""

_FAILED, _NOT_FOUND = 400, 404

_TOO_MANY = Problem(
    title="TooManySessions",
    status=429,
    detail=f"Expected at most {MOST_SESSIONS} sessions of a token in use, got one more. End a session (DELETE).",
)


class SessionLimit:
    """An MCP application with a limit of sessions per token. At the limit, a new session replaces an idle one.

    That is the session that was used longest ago. A server without tokens has one limit for all callers.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        # For each token, the number of running requests by session id; the session used longest ago comes first.
        self._sessions: defaultdict[str, dict[str, int]] = defaultdict(dict)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on. If it opens a session at the limit, first end the idle session that was used longest ago.

        If no session is idle, the request is refused with 429. A request of an unknown session is passed on.
        """
        user = scope.get("user")
        owner = user.access_token.client_id if isinstance(user, AuthenticatedUser) else ""  # a server without tokens
        sessions, headers = self._sessions[owner], Headers(scope=scope)
        session_id, version = headers.get(MCP_SESSION_ID_HEADER), headers.get(MCP_PROTOCOL_VERSION_HEADER)
        if session_id is None and version in (None, *HANDSHAKE_PROTOCOL_VERSIONS):
            await self._open(sessions, scope, receive, send)
        elif session_id in sessions:
            await self._use(session_id, sessions, scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _open(self, sessions: dict[str, int], scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on a request that opens a session, or refuse it if all sessions of the token are in use."""
        while len(sessions) >= MOST_SESSIONS:
            idle = next((session_id for session_id, under_way in sessions.items() if not under_way), None)
            if idle is None:
                await answer_problem(_TOO_MANY)(scope, receive, send)
                return
            del sessions[idle]
            await _end(self._app, idle, scope)
        session_id = f"opening {id(scope)}"  # a placeholder until the session has an id
        sessions[session_id] = 1

        async def note(message: Message) -> None:
            nonlocal session_id
            if message["type"] == "http.response.start" and message["status"] < _FAILED:
                opened = Headers(raw=message["headers"]).get(MCP_SESSION_ID_HEADER)
                if opened is not None:
                    del sessions[session_id]
                    session_id = opened
                    sessions[session_id] = 1
            await send(message)

        try:
            await self._app(scope, receive, note)
        finally:
            if session_id.startswith("opening"):
                del sessions[session_id]
            elif session_id in sessions:
                sessions[session_id] -= 1

    async def _use(self, session_id: str, sessions: dict[str, int], scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on a request of a session. The session is in use meanwhile, and becomes the one used last."""
        sessions[session_id] = sessions.pop(session_id) + 1

        async def note(message: Message) -> None:
            if message["type"] == "http.response.start":
                is_deleted = scope["method"] == "DELETE" and message["status"] < _FAILED
                if is_deleted or message["status"] == _NOT_FOUND:
                    sessions.pop(session_id, None)
            await send(message)

        try:
            await self._app(scope, receive, note)
        finally:
            if session_id in sessions:
                sessions[session_id] -= 1


async def _end(app: ASGIApp, session_id: str, scope: Scope) -> None:
    """End a session with a DELETE request, as its client would.

    Args:
        scope: the scope of another request with the same token.
    """
    headers = [(name, value) for name, value in scope["headers"] if name in (b"host", b"authorization")]
    headers.append((MCP_SESSION_ID_HEADER.encode(), session_id.encode()))

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        del message

    await app({**scope, "method": "DELETE", "headers": headers}, receive, send)
