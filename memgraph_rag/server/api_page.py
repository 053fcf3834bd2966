"""The web page that describes the REST API and lets people try each tool.

It knows no tool: the script of the page reads ``/openapi.json``. Invariant: the page loads nothing from other servers
and sends only to its own server; a Content Security Policy makes browsers enforce this.
"""

from __future__ import annotations

import base64
import hashlib
import re
from importlib.resources import files

from starlette.responses import HTMLResponse

__all__ = ["api_page"]


def api_page() -> HTMLResponse:
    """Return the page with a policy that allows only its own script and style, by their hashes."""
    page = _asset("api.html").replace("{{ script }}", _asset("api.js"))
    script, style = (_hash_source(tag, page) for tag in ("script", "style"))
    rule = f"default-src 'none'; script-src {script}; style-src {style}; connect-src 'self'"
    return HTMLResponse(
        page,
        headers={"Content-Security-Policy": f"{rule}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
    )


def _asset(name: str) -> str:
    return (files("memgraph_rag.server") / "assets" / name).read_text("utf-8")


def _hash_source(tag: str, page: str) -> str:
    """Return the source expression for the content of a tag. Source: Content Security Policy, level 2."""
    (inner,) = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
    return f"'sha256-{base64.b64encode(hashlib.sha256(inner.encode()).digest()).decode()}'"
