"""The page that draws the result of the tool ``look`` inside a chat, for hosts that show such pages (MCP Apps).

It knows no memory. Invariants: the page loads nothing and communicates only with its host. The result of the tool is
the same for clients that do not show pages.
"""

from __future__ import annotations

from importlib.resources import files

from mcp.server.apps import Apps, ResourceCsp

__all__ = ["ADDRESS", "graph_page"]

ADDRESS = "ui://memgraph_rag/graph.html"


def graph_page() -> Apps:
    """Return the extension with the page. The page shows the results of tools with ``ADDRESS`` in their ``_meta``."""
    page = _asset("graph.html")
    for name, file in (("library", "cytoscape.min.js"), ("script", "graph.js")):
        page = page.replace(f"{{{{ {name} }}}}", _asset(file))
    apps = Apps()
    apps.add_html_resource(
        ADDRESS,
        page,
        name="graph",
        title="Graph",
        description="Draws the graph around a name. A click on a name or a document shows the graph around it.",
        csp=ResourceCsp(connect_domains=[], resource_domains=[]),
        prefers_border=True,
    )
    return apps


def _asset(name: str) -> str:
    return (files("memgraph_rag.server") / "assets" / name).read_text("utf-8")
