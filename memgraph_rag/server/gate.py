"""``Gate``: checks the token, the headers ``Host`` and ``Origin``, and the size of each request.

It knows HTTP and tokens, and no tool. Invariants: the application does not run for a request without a valid token, or
from a page on another site. A refusal is a problem document. A stream ends when its token is no longer valid.
"""

from __future__ import annotations

import re
from collections.abc import Collection

import anyio
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import TokenVerifier
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memgraph_rag.server.problems import answer_problem
from memgraph_rag.server.results import Problem

MOST_BODY = 40 * 2**20  # bytes of a request: the longest text of ``Memory.add``, 32 MiB, with its escapes

_NO_TOKEN = Problem(
    title="NoToken",
    status=401,
    detail="Expected the header Authorization: Bearer TOKEN with a valid token, got none. The user can create a token: "
    "memgraph-rag mcp token --namespace NAME.",
)
_TOO_LONG = Problem(
    title="TooLong",
    status=413,
    detail=f"Expected at most {MOST_BODY // 2**20} MiB, got more. Send the text as several documents.",
)
_WRONG_TYPE = Problem(
    title="WrongContentType",
    status=400,
    detail="Expected the header Content-Type: application/json, got another or none. Send JSON with this header.",
)
_WRONG_ORIGIN = Problem(
    title="WrongOrigin",
    status=403,
    detail="Expected no header Origin, or the origin of an allowed host, got another. Pages of other sites may not "
    "call this server.",
)
_WRONG_HOST = Problem(
    title="WrongHost",
    status=421,
    detail="Expected the header Host with 127.0.0.1, localhost or an allowed host, got another. The user can allow the "
    "name of a proxy: memgraph-rag serve --allow-host NAME.",
)

_LOCAL = re.compile(r"(127\.0\.0\.1|localhost|\[::1\])(:\d{1,5})?")


class Gate:
    """An ASGI application that passes valid requests to another application.

    Args:
        allowed_hosts: further valid names in ``Host`` and ``Origin``, for a proxy in front of this server.
        verifier: checks tokens. Without it no token is needed.
    """

    def __init__(self, app: ASGIApp, allowed_hosts: Collection[str], verifier: TokenVerifier | None = None) -> None:
        self._app, self._allowed_hosts, self._verifier = app, frozenset(allowed_hosts), verifier

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request with a refusal, or pass it on with its whole body; do nothing if the client disconnects."""
        user = scope.get("user")
        if self._verifier is not None and not isinstance(user, AuthenticatedUser):
            challenge = {"WWW-Authenticate": f'Bearer error="invalid_token", error_description="{_NO_TOKEN.title}"'}
            await answer_problem(_NO_TOKEN, challenge)(scope, receive, send)
            return
        refusal = self._refusal(Headers(scope=scope), scope["method"])
        if refusal is not None:
            await answer_problem(refusal)(scope, receive, send)
            return
        body = await _read_body(scope, receive)
        if body is None:
            await answer_problem(_TOO_LONG)(scope, receive, send)
        elif body["type"] == "http.request":  # otherwise the client has disconnected
            token = user.access_token.token if isinstance(user, AuthenticatedUser) else ""
            await self._answer(scope, _prepend_message(body, receive), send, token)

    def _refusal(self, headers: Headers, method: str) -> Problem | None:
        """Return the problem with the headers of a request, or None."""
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if method == "POST" and kind != "application/json":
            return _WRONG_TYPE
        if not self._is_ours(headers.get("host", "")):
            return _WRONG_HOST
        origins = [origin.partition("://") for origin in headers.getlist("origin") if origin]
        are_ours = (
            (scheme == "http" and self._is_ours(host)) or (scheme == "https" and host in self._allowed_hosts)
            for scheme, _, host in origins
        )
        return None if all(are_ours) else _WRONG_ORIGIN

    def _is_ours(self, host: str) -> bool:
        return host in self._allowed_hosts or _LOCAL.fullmatch(host) is not None

    async def _answer(self, scope: Scope, receive: Receive, send: Send, token: str) -> None:
        """Let the application answer. End a stream before the first part that follows the end of its token."""
        with anyio.CancelScope() as answering:

            async def send_while_valid(message: Message) -> None:
                is_part, verifier = bool(message.get("more_body")), self._verifier
                if is_part and verifier is not None and await verifier.verify_token(token) is None:
                    await send({"type": "http.response.body", "body": b""})
                    answering.cancel()
                else:
                    await send(message)

            await self._app(scope, receive, send_while_valid)


async def _read_body(scope: Scope, receive: Receive) -> Message | None:
    """Return a message with the whole body, or the message of a disconnect; None if the body is too long."""
    declared = Headers(scope=scope).get("content-length", "")
    if declared.isdecimal() and int(declared) > MOST_BODY:
        return None
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return message
        body += message.get("body", b"")
        if len(body) > MOST_BODY:
            return None
        if not message.get("more_body"):
            return {"type": "http.request", "body": bytes(body), "more_body": False}


def _prepend_message(message: Message, receive: Receive) -> Receive:
    """Return a ``receive`` that returns this message first, and then the further messages of the client."""
    messages = [message]

    async def first() -> Message:
        return messages.pop() if messages else await receive()

    return first
