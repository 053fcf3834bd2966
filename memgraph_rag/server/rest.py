"""``RestApi``: the seven tools and further operations over plain HTTP. Each is a POST with JSON in and out.

It knows the tools and the errors, and no socket. Invariants: arguments, results and errors of a tool are the same as
over MCP. A failure is a problem document (RFC 9457) whose detail says what was expected, what was received and what to
do. A call over a limit is refused before its tool runs.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Awaitable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, aclosing, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar, cast

from anyio import to_thread
from mcp.server.elicitation import AcceptedElicitation
from mcp.server.mcpserver.tools import Tool
from prometheus_client import CONTENT_TYPE_LATEST
from pydantic import BaseModel, ValidationError
from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from memgraph_rag import Step, __version__
from memgraph_rag.errors import DocumentNotFound, SettingsError
from memgraph_rag.server.explanations import explain_arguments, explain_unknown
from memgraph_rag.server.problems import PROBLEM, answer_problem, describe_problem
from memgraph_rag.server.results import Answered, Problem
from memgraph_rag.server.services import Call, Services
from memgraph_rag.server.tools import Confirmation, confirm, stream_answer
from memgraph_rag.types import Part

ROUTE = "/v1/{tool}"

_BYTES = "application/octet-stream"

T = TypeVar("T")


class RestApi:
    """Answers HTTP requests for tools.

    Args:
        services: the services that the tools over MCP use too.
        tools: the tools with the schemas of their arguments and results.
    """

    def __init__(self, services: Services, tools: Sequence[Tool]) -> None:
        self._services = services
        self._tools = {tool.name: tool for tool in tools}

    @property
    def tools(self) -> tuple[str, ...]:
        """The names of the tools, in the order in which they were given."""
        return tuple(self._tools)

    async def call(self, request: Request) -> Response:
        """Answer ``POST /v1/{tool}``, whose body is a JSON object of arguments.

        If the request accepts server-sent events, ``ask`` sends the events ``step`` and ``piece``, and at the end
        ``answer`` or ``error``. Each other failure is a problem document, with status 404 for an unknown tool and 400
        for a body that is no JSON object. An empty body means no arguments.
        """
        name = request.path_params["tool"]
        tool = self._tools.get(name)
        if tool is None:
            detail = explain_unknown("a tool", name, sorted(self._tools))
            return answer_problem(Problem(title="UnknownTool", status=404, detail=detail))
        try:
            arguments = tool.fn_metadata.validate_arguments(_parse_object(await request.body()))
        except ValidationError as error:
            detail = explain_arguments(name, error)
            return answer_problem(Problem(title="ValidationError", status=422, detail=detail))
        except SettingsError as error:
            return answer_problem(Problem(title="SettingsError", status=400, detail=str(error)))
        wants_events = name == "ask" and "text/event-stream" in request.headers.get("accept", "")
        response = await _try(self._stream(arguments) if wants_events else self._answer(tool, arguments))
        return self._refuse(name, response) if isinstance(response, Problem) else response

    def _refuse(self, operation: str, problem: Problem) -> Response:
        self._services.failures.add(self._services.caller_namespace(), operation, problem)
        return answer_problem(problem)

    async def describe(self, request: Request) -> Response:  # noqa: ARG002 - Starlette's signature
        """Answer ``GET /openapi.json`` with the description of the API, for client generators. It needs no token."""
        return JSONResponse(openapi(tuple(self._tools.values())))

    async def health(self, request: Request) -> Response:  # noqa: ARG002 - Starlette's signature
        """Answer ``GET /health`` if the server runs. It uses neither the store nor a model, and needs no token."""
        return JSONResponse({"status": "ok", "version": __version__})

    async def metrics(self, request: Request) -> Response:  # noqa: ARG002 - Starlette's signature
        """Answer ``GET /metrics`` with the metrics of all calls, REST and MCP. They name no user and need no token."""
        return Response(self._services.metrics.text(), media_type=CONTENT_TYPE_LATEST)

    async def _stream(self, arguments: dict[str, Any]) -> Response:
        with ExitStack() as call:
            call.enter_context(self._services.count_call())
            return _Stream(self._events(arguments), call.pop_all())

    async def _answer(self, tool: Tool, arguments: dict[str, Any]) -> Response:
        with self._services.count_call(), self._services.metrics.call(tool.name, "rest"):
            result = await self._result(tool, arguments)
            return Response(result, media_type=_BYTES) if isinstance(result, bytes) else JSONResponse(_dump(result))

    async def _result(self, tool: Tool, arguments: dict[str, Any]) -> object:
        call = cast("Call", _PlainCall(_LentContext(self._services)))
        direct: dict[str, Any] = {"call": call}
        if tool.name == "forget":
            # The program is responsible for asking its user. ``confirm`` still checks that the document exists.
            chosen = await tool.fn_metadata.call_fn(confirm, False, {**arguments, "call": call})
            direct["confirmation"] = AcceptedElicitation[Confirmation](data=chosen)
        return await tool.fn_metadata.call_fn(tool.fn, tool.is_async, arguments, direct)

    async def _events(self, arguments: dict[str, Any]) -> AsyncGenerator[ServerSentEvent, None]:
        """Yield the events of an answer. A failure is the last event, because the status line is sent already."""
        keys: dict[str, str] = {}
        async with aclosing(self._count_call(arguments)) as items:
            while (item := await _try(anext(items, None))) is not None:
                if isinstance(item, Problem):
                    self._services.failures.add(self._services.caller_namespace(), "ask", item)
                    yield ServerSentEvent(item.model_dump_json(), event="error")
                elif isinstance(item, Step):
                    form = {**item.as_dict(), "document_key": await self._document_key(item, keys)}
                    yield ServerSentEvent(json.dumps(form), event="step")
                else:
                    yield _event(item)

    async def _document_key(self, step: Step, keys: dict[str, str]) -> str:
        """Return the key of a step's document; empty for an overview, or if the document was forgotten meanwhile.

        Args:
            keys: the keys by id that were read before; the key is added to them.
        """
        document_id = step.node.document_id
        if document_id and document_id not in keys:
            with suppress(DocumentNotFound):
                (record,) = await to_thread.run_sync(partial(self._services.memory.documents, documents=[document_id]))
                keys[document_id] = record.key
        return keys.get(document_id, "")

    async def _count_call(self, arguments: dict[str, Any]) -> AsyncGenerator[Step | Part | str | Answered, None]:
        with self._services.metrics.call("ask", "rest"):
            async with aclosing(stream_answer(self._services, **arguments)) as items:
                async for item in items:
                    yield item


async def _try(work: Awaitable[T]) -> T | Problem:
    """Return the result of the work, or a problem in place of any error of the request."""
    try:
        return await work
    except Exception as error:  # noqa: BLE001 - the outermost edge: every error becomes a response
        return describe_problem(error)


class _Stream(EventSourceResponse):
    """The events of a call, which counts as running from its acceptance, not from its first event."""

    def __init__(
        self, events: AsyncGenerator[ServerSentEvent, None], under_way: AbstractContextManager[object]
    ) -> None:
        super().__init__(events)
        self._call_under_way = under_way

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._call_under_way:
            await super().__call__(scope, receive, send)


@dataclass(frozen=True, slots=True)
class _LentContext:
    lifespan_context: Services


@dataclass(frozen=True, slots=True)
class _PlainCall:
    """The context of a call, for a client that shows neither progress nor forms."""

    request_context: _LentContext
    client_capabilities: None = None

    async def report_progress(self, progress: float, message: str = "") -> None:
        """Do nothing: the client shows no progress."""


def openapi(tools: Sequence[Tool]) -> dict[str, Any]:
    """Return the OpenAPI 3.1 description of these tools, with the schemas that they have over MCP; no other routes."""
    schemas: dict[str, Any] = {"Problem": Problem.model_json_schema()}
    paths = {}
    for tool in tools:
        parameters, result = (
            _hoist_definitions(schema or {}, schemas) for schema in (tool.parameters, tool.output_schema)
        )
        content = {"application/json": {"schema": result}} if tool.name != "whole_map" else {_BYTES: {"schema": {}}}
        if tool.name == "ask":
            content["text/event-stream"] = {"schema": {"type": "string"}}
        paths[ROUTE.format(tool=tool.name)] = {
            "post": {
                "operationId": tool.name,
                "summary": tool.title,
                "description": tool.description,
                "requestBody": {
                    "required": True,
                    "content": {"application/json": {"schema": parameters, "example": _EXAMPLES[tool.name]}},
                },
                "responses": {"200": {"description": "The result of the tool.", "content": content}, **_failures()},
            }
        }
    return {
        "openapi": "3.1.0",
        "info": {"title": "memgraph_rag", "version": __version__, "description": "A long-term memory."},
        "security": [{"token": []}],
        "paths": paths,
        "components": {"schemas": schemas, "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
    }


_EXAMPLES: dict[str, dict[str, Any]] = {
    "remember": {"key": "move", "text": "Ann moved to Lisbon in May 2024. She keeps bees on the roof."},
    "recall": {"query": "Where does Ann keep bees?", "k": 2},
    "ask": {"question": "Where does Ann keep bees?", "style": "short"},
    "forget": {"name": "move"},
    "list_documents": {"limit": 10},
    "look": {"name": "Ann"},
    "status": {},
    "brief": {"max_tokens": 300},
    "search": {"query": "Where does Ann keep bees?", "k": 2},
    "document": {"name": "move"},
    "around": {"name": "Ann"},
    "whole_map": {"most": 1000},
    "statements": {},
    "questions": {},
    "failures": {},
    "add_file": {"name": "bees.md", "content": "IyBCZWVzCgpBbm4ga2VlcHMgYmVlcy4="},
    "question": {"name": "Where does Ann keep bees?"},
    "checks": {},
    "tokens": {},
    "make_token": {"namespace": "ann", "days": 30},
    "revoke_token": {"id": "0123456789ab"},
}
"""Valid arguments for each tool and operation. Those of the tools succeed in this order."""

_FAILURES = {
    400: "The body is not a JSON object, or Content-Type is not application/json.",
    401: "The token is missing or invalid.",
    403: "The memory is read-only, or the request comes from a page of another site.",
    404: "The document or the question does not exist.",
    413: "The body is longer than 40 MiB.",
    421: "The header Host names no host of this server.",
    422: "An argument is invalid.",
    429: "Too many calls of this token, or of all tokens, are running.",
    500: "The store or the model failed.",
    503: "The store or the model failed temporarily.",
}

_HEADERS = {401: "WWW-Authenticate", 429: "Retry-After", 503: "Retry-After"}


def _failures() -> dict[str, Any]:
    """Return the responses of failed calls, by status."""
    content = {PROBLEM: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    responses: dict[str, Any] = {}
    for status, description in _FAILURES.items():
        responses[str(status)] = {"description": description, "content": content}
        if status in _HEADERS:
            responses[str(status)]["headers"] = {_HEADERS[status]: {"schema": {"type": "string"}, "required": True}}
    return responses


def _hoist_definitions(schema: Mapping[str, Any], schemas: dict[str, Any]) -> dict[str, Any]:
    """Return a schema without its definitions, which are moved into ``schemas``."""
    text = json.dumps(schema).replace("#/$defs/", "#/components/schemas/")
    hoisted = json.loads(text)
    schemas |= hoisted.pop("$defs", {})
    return hoisted


def _parse_object(body: bytes) -> dict[str, Any]:
    """Return the JSON object in the body of a request; an empty body means an empty object.

    Raises:
        SettingsError: the body is not a JSON object.
    """
    try:
        value = json.loads(body) if body.strip() else {}
    except (ValueError, RecursionError) as error:
        raise SettingsError(f"Expected a JSON object with the arguments, got no JSON ({error}). Correct it.") from error
    if not isinstance(value, dict):
        kind = type(value).__name__
        raise SettingsError(f"Expected a JSON object with the arguments, got {kind}. Name each argument.")
    return value


def _dump(result: object) -> Any:
    return result.model_dump(mode="json") if isinstance(result, BaseModel) else result


def _event(item: Part | str | Answered) -> ServerSentEvent:
    if isinstance(item, Answered):
        return ServerSentEvent(json.dumps(_dump(item)), event="answer")
    if isinstance(item, Part):
        return ServerSentEvent(json.dumps(item.as_dict()), event="part")
    return ServerSentEvent(json.dumps({"text": item}), event="piece")
