"""A span of OpenTelemetry around each request of the REST API, of which the spans of ``Memory`` are children.

It knows no tool and no memory. Over MCP the SDK makes such a span itself. Invariant: a span names a route, a method and
a status, never a namespace, a token or a text; who configures no OpenTelemetry gets none.

Source: OpenTelemetry's semantic conventions of HTTP servers; W3C Trace Context for what a client sends along.
"""

from __future__ import annotations

from collections.abc import Collection

from opentelemetry.propagate import extract
from opentelemetry.trace import SpanKind, Status, StatusCode, get_tracer
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["Traced"]

_FAILED = 500

_tracer = get_tracer("memgraph_rag")


class Traced:
    """An application of one route within spans, each of which lasts until the response is sent whole.

    Args:
        route: as it is written in the description, with parameters in braces.
        tools: what ``{tool}`` in it may be; of another name, which could be any text, nothing is said.
    """

    def __init__(self, app: ASGIApp, route: str, tools: Collection[str] = ()) -> None:
        self._app, self._route, self._tools = app, route, frozenset(tools)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request within its span."""
        method, tool = scope["method"], scope["path_params"].get("tool")
        route = self._route.replace("{tool}", tool) if tool in self._tools else self._route
        with _tracer.start_as_current_span(
            f"{method} {route}",
            context=extract(dict(Headers(scope=scope))),
            kind=SpanKind.SERVER,
            attributes={"http.request.method": method, "http.route": route},
        ) as span:

            async def sent(message: Message) -> None:
                if message["type"] == "http.response.start":
                    span.set_attribute("http.response.status_code", message["status"])
                    if message["status"] >= _FAILED:
                        span.set_status(Status(StatusCode.ERROR))
                await send(message)

            await self._app(scope, receive, sent)
