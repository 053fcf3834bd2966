"""A span of OpenTelemetry around each request of REST and each message of MCP, around what ``Memory`` tells.

It knows the names of tools, no tool and no memory. Invariant: a span names a route or a method, a tool of ours and a
status, never a namespace, a token or a text, and of an error its kind alone; who configures no OpenTelemetry gets none.

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

__all__ = ["Traced", "TracedMessages"]

_FAILED = 500
_METHODS = SPEC_CLIENT_METHODS | SPEC_CLIENT_NOTIFICATION_METHODS
_PARENT = ("traceparent", "tracestate")

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
            record_exception=False,
            set_status_on_exception=False,
        ) as span:

            async def sent(message: Message) -> None:
                if message["type"] == "http.response.start":
                    span.set_attribute("http.response.status_code", message["status"])
                    if message["status"] >= _FAILED:
                        span.set_status(Status(StatusCode.ERROR))
                await send(message)

            await self._app(scope, receive, sent)


class TracedMessages:
    """A middleware of MCP: each message within a span. The SDK's own names what the client names, and tells errors.

    Args:
        tools: those that a span may name.
    """

    def __init__(self, tools: Collection[str]) -> None:
        self._tools = frozenset(tools)

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        """Handle a message within its span."""
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
