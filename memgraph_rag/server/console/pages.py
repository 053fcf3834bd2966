"""The pages: the console at ``/ui``, by which a person sees, asks, corrects and forgets a memory, and ``/docs``.

It serves files of the package and knows no tool: a page speaks to the REST API with a token of its reader, and that of
``/docs`` lets people try each operation of ``/openapi.json``. Invariant: a browser loads nothing from other servers and
runs no script but these files; a Content Security Policy enforces this.
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route, request_response
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memgraph_rag import __version__
from memgraph_rag.server.gate import Gate

CONSOLE = "/ui"
_DOCS = "/docs"

_ASSETS = Path(str(files("memgraph_rag.server") / "assets"))

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data: blob:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


def page_routes(allowed_hosts: tuple[str, ...], *, may_write: bool, is_owner: bool) -> list[BaseRoute]:
    """Return the routes of the pages. Their files need no token, because they hold nothing of a memory.

    Args:
        allowed_hosts: as for ``Gate``.
        may_write: whether the console offers to add, correct and forget.
        is_owner: whether the console offers what only the owner may do.
    """

    async def settings(request: Request) -> Response:  # noqa: ARG001 - Starlette's signature
        return JSONResponse({"version": __version__, "write": may_write, "owner": is_owner})

    async def redirect_to_folder(request: Request) -> Response:
        return RedirectResponse(f"{request.url.path}/")

    def make_gate(app: ASGIApp) -> Gate:
        return Gate(_Guarded(app), allowed_hosts)

    return [
        Route(CONSOLE, make_gate(request_response(redirect_to_folder)), methods=["GET"]),
        Route(f"{CONSOLE}/settings.json", make_gate(request_response(settings)), methods=["GET"]),
        Mount(f"{CONSOLE}/vendor", make_gate(StaticFiles(directory=_ASSETS / "vendor"))),
        Route(_DOCS, make_gate(request_response(redirect_to_folder)), methods=["GET"]),
        Mount(_DOCS, make_gate(StaticFiles(directory=_ASSETS / "docs", html=True))),
        Mount(CONSOLE, make_gate(StaticFiles(directory=_ASSETS / "console", html=True))),
    ]


class _Guarded:
    """An ASGI application whose responses carry the policy, and which browsers ask for anew each time."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, with the headers added."""

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers["Content-Security-Policy"] = _POLICY
                headers["X-Content-Type-Options"] = "nosniff"
                headers["Referrer-Policy"] = "no-referrer"
                headers["Cache-Control"] = "no-cache"
            await send(message)

        await self._app(scope, receive, send_guarded)
