"""The graph around a name as a page inside the chat, where the host shows such pages (MCP Apps).

It knows no memory: the page draws what the tool ``look`` gives. Invariants: the page loads nothing and reaches nobody
but its host; for a client that shows no pages the tool's result is the same.
"""

from __future__ import annotations

from importlib.resources import files

from mcp.server.apps import Apps, ResourceCsp

__all__ = ["ADDRESS", "graph_page"]

ADDRESS = "ui://memgraph_rag/graph.html"


def graph_page() -> Apps:
    """The extension with the page; a tool that names ``ADDRESS`` in its ``_meta`` is shown by it."""
    page = _asset("graph.html")
    for name, file in (("library", "cytoscape.min.js"), ("script", "graph.js")):
        page = page.replace(f"{{{{ {name} }}}}", _asset(file))
    apps = Apps()
    apps.add_html_resource(
        ADDRESS,
        page,
        name="graph",
        title="Graph",
        description="What surrounds a name, drawn as a graph; a click on a name or a document looks around that one.",
        csp=ResourceCsp(connect_domains=[], resource_domains=[]),
        prefers_border=True,
    )
    return apps


def _asset(name: str) -> str:
    return (files("memgraph_rag.server") / "assets" / name).read_text("utf-8")
