"""A server over ``Memory`` for agents and programs: the Model Context Protocol, and plain HTTP.

Open ``tools.py`` first: the seven tools. ``rest.py`` offers them over HTTP, ``transports.py`` starts the server. The
room uses the public face of the library and the official SDK (extra ``mcp``). Importing this package imports neither;
its modules do. Invariants: a caller reaches one namespace, its own; each failure reaches the model as a sentence that
it can act on.
"""

from __future__ import annotations

from importlib.util import find_spec

from memgraph_rag.errors import SettingsError

__all__ = ["HOST", "PATH", "require_sdk"]

HOST = "127.0.0.1"
"""The only address that a server listens on."""

PATH = "/mcp"
"""The path of the Model Context Protocol over HTTP."""


def require_sdk() -> None:
    """Check that the package mcp, the official SDK of the Model Context Protocol, is installed, and not in version 1.

    Raises:
        SettingsError: the package is not installed, or its version is below 2.
    """
    if find_spec("mcp") is None or find_spec("mcp.server.mcpserver") is None:
        raise SettingsError(
            "Expected the package mcp, version 2.3 or newer, got no such package. Install it: "
            'pip install "memgraph_rag[mcp]".',
            package="mcp",
        )
