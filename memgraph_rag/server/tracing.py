"""Creates an OpenTelemetry span for each REST request and each MCP message; the spans of ``Memory`` are inside it.

It knows the names of tools, and neither tools nor memories. Invariant: a span holds a route or a method, the name of a
tool of this server and a status, never a namespace, a token or a text, and of an error only its class. Without a
configured OpenTelemetry there are no spans.

Source: OpenTelemetry's semantic conventions of HTTP servers and MCP; W3C Trace Context for what a client sends along.
"""

from __future__ import annotations

from collections.abc import Collection
from contextlib import ExitStack
from functools import partial
from typing import Any

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.types import CallToolResult
from mcp.types.methods import SPEC_CLIENT_METHODS, SPEC_CLIENT_NOTIFICATION_METHODS
from opentelemetry.propagate import extract
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, get_tracer
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_FAILED = 500
_METHODS = SPEC_CLIENT_METHODS | SPEC_CLIENT_NOTIFICATION_METHODS
_PARENT = ("traceparent", "tracestate")

_tracer = get_tracer("memgraph_rag")


class Traced:
    """An ASGI application for one route, with a span for each request until its response is sent.

    Args:
        route: the route with parameters in braces, as in the description of the API.
        tools: the valid names for ``{tool}``. Another name could be any text, so the span does not hold it.
    """

    def __init__(self, app: ASGIApp, route: str, tools: Collection[str]) -> None:
        self._app, self._route, self._tools = app, route, frozenset(tools)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request inside a span."""
        method, tool = scope["method"], scope["path_params"].get("tool")
        route = self._route.replace("{tool}", tool) if tool in self._tools else self._route
        with _tracer.start_as_current_span(
            f"{method} {route}",
            context=extract(dict(Headers(scope=scope))),
            kind=SpanKind.SERVER,
            attributes={"http.request.method": method, "http.route": route},
            record_exception=False,
            set_status_on_exception=False,
        ) as span:

            async def record_and_send(message: Message) -> None:
                if message["type"] == "http.response.start":
                    span.set_attribute("http.response.status_code", message["status"])
                    if message["status"] >= _FAILED:
                        span.set_status(Status(StatusCode.ERROR))
                await send(message)

            await self._app(scope, receive, record_and_send)


class TracedMessages:
    """A middleware of MCP with a span for each message.

    It replaces the middleware of the SDK, whose spans hold names and error texts of the client.

    Args:
        tools: the names of tools that a span may hold.
    """

    def __init__(self, tools: Collection[str]) -> None:
        self._tools = frozenset(tools)

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        """Handle a message inside a span."""
        method = ctx.method if ctx.method in _METHODS else "unknown"
        tool = (ctx.params or {}).get("name") if method == "tools/call" else None
        is_ours = isinstance(tool, str) and tool in self._tools
        sent = {name: value for name, value in (ctx.meta or {}).items() if name in _PARENT and isinstance(value, str)}
        with _tracer.start_as_current_span(
            f"{method} {tool}" if is_ours else method,
            context=extract(sent) if sent else None,
            kind=SpanKind.SERVER,
            attributes={"mcp.method.name": method, **({"gen_ai.tool.name": tool} if is_ours else {})},
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            with ExitStack() as handling:
                handling.push(partial(_mark_failed, span))
                result = await call_next(ctx)
            if isinstance(result, CallToolResult) and result.is_error:
                span.set_attribute("error.type", "tool_error")
                span.set_status(Status(StatusCode.ERROR))
            return result


def _mark_failed(span: Span, kind: type[BaseException] | None, *_: object) -> None:
    """Say in a span by which error its work failed; a call that is cancelled has not failed."""
    if kind is not None and issubclass(kind, Exception):
        span.set_attribute("error.type", kind.__name__)
        span.set_status(Status(StatusCode.ERROR))
