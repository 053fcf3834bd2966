"""The command ``memgraph-rag models``: the values that ``--model`` can take on this machine.

It prints the lists of ``models.files.available``. Invariant: it connects to no server without ``--endpoints``.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from memgraph_rag.cli import json_output, render
from memgraph_rag.cli.options import Json
from memgraph_rag.models.files.available import PORTS, local_models, local_servers

__all__ = ["models"]


def models(
    endpoints: Annotated[
        bool, typer.Option("--endpoints", help="Also look for model servers at the usual ports of this machine.")
    ] = False,
    as_json: Json = False,
) -> None:
    """List the values that --model can take: packaged models, the hub's cache, servers on this machine.

    Servers are looked for only with --endpoints.
    """
    listed = [*local_models(), *(local_servers() if endpoints else ())]
    if as_json:
        json_output.write_json([asdict(model) for model in listed])
        return
    out = render.to_stdout()
    rows = [(model.name or "?", model.kind, "ready" if model.is_ready else "not yet", model.note) for model in listed]
    out.print(render.table(("model", "kind", "", "note"), rows))
    if not endpoints:
        out.print("Servers on this machine were not asked: memgraph-rag models --endpoints", soft_wrap=True)
    elif not any(model.kind == "endpoint" for model in listed):
        ports = ", ".join(f"{port} ({name})" for port, name in PORTS.items())
        out.print(f"No server answered on this machine's ports {ports}.", soft_wrap=True)
