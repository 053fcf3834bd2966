"""A server over ``Memory`` for agents (Model Context Protocol) and for programs (REST).

It uses the public classes of the library, and the official SDK of the protocol (extra ``mcp``). Importing this package
imports neither; importing its modules does. Invariants: a caller reaches only its own namespace. An error reaches the
model as a sentence that says what to do.
"""

from __future__ import annotations

from importlib.util import find_spec

from memgraph_rag.errors import SettingsError

__all__ = ["require_sdk"]


def require_sdk() -> None:
    """Check that the official SDK is installed.

    Raises:
        SettingsError: it is not installed, or its version is below 2.
    """
    if find_spec("mcp") is None or find_spec("mcp.server.mcpserver") is None:
        raise SettingsError(
            "Expected the package mcp, version 2.3 or newer, got no such package. Install it: "
            'pip install "memgraph_rag[mcp]".',
            package="mcp",
        )
