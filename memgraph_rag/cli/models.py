"""The command ``memgraph-rag models``: the values that ``--model`` can take on this machine, and downloads.

It prints the lists of ``models.files.available``. Invariants: it connects to no server without ``--endpoints`` or
``--fetch``; the size of a download is told before it begins.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from memgraph_rag.cli import json_output, render
from memgraph_rag.cli.options import Json
from memgraph_rag.cli.sanitize import line
from memgraph_rag.display import show
from memgraph_rag.models.files.available import PORTS, local_models, local_servers
from memgraph_rag.models.recognizers.stanza_fetch import find_stanza_download


def models(
    endpoints: Annotated[
        bool, typer.Option("--endpoints", help="Also look for model servers at the usual ports of this machine.")
    ] = False,
    fetch: Annotated[
        str | None,
        typer.Option(metavar="stanza:LANGUAGE", help="Download Stanford's models that find names in a language."),
    ] = None,
    as_json: Json = False,
) -> None:
    """List the values that --model can take: packaged models, the hub's cache, servers on this machine.

    Servers are looked for only with --endpoints. With --fetch a recognizer of names is downloaded instead.
    """
    if fetch is not None:
        _fetch(fetch, as_json=as_json)
        return
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


def _fetch(wanted: str, *, as_json: bool) -> None:
    """Download a recognizer, after a line on standard error that tells its size."""
    kind, _, which = wanted.partition(":")
    language, _, package = which.partition("/")
    if kind != "stanza" or not language:
        raise typer.BadParameter(
            f"Expected stanza:LANGUAGE, such as stanza:en, or stanza:LANGUAGE/PACKAGE, got {show(wanted)}. Packaged "
            "models are installed by pip.",
            param_hint="--fetch",
        )
    download = find_stanza_download(language, package)
    count, place = len(download.files), line(str(download.folder))
    files = f"{count} file{'s' * (count != 1)}, {download.size / 1e6:,.0f} MB, to {place}"
    typer.echo(f"downloading {files}" if count else f"nothing to download: all is in {place}", err=True)
    name = download.fetch().name
    form = {"recognizer": name, "folder": str(download.folder), "bytes": download.size}
    render.write_result(form, f"ready      {name}", as_json=as_json)
