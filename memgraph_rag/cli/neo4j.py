"""The commands ``memgraph-rag neo4j start``, ``stop`` and ``status``: run a real Neo4j on this machine.

``memgraph_rag.stores.neo4j.server`` handles processes and files; this module prints the results. Invariant: a password
is printed once, by the command that generated it, and is never a command-line option. ``cli.app`` turns errors into one
line and an exit status.
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from memgraph_rag import Settings
from memgraph_rag.cli.json_output import write_json
from memgraph_rag.cli.options import Json
from memgraph_rag.cli.render import facts
from memgraph_rag.cli.sanitize import plain
from memgraph_rag.stores.neo4j import server as neo4j_server
from memgraph_rag.stores.neo4j.distribution import LTS, NEWEST
from memgraph_rag.stores.neo4j.server import RunningServer

app = typer.Typer(
    help="Run a real Neo4j with Browser on this machine, without Docker.", no_args_is_help=True, rich_markup_mode="rich"
)

_out = Console(soft_wrap=True, emoji=False)
_err = Console(stderr=True, soft_wrap=True)

Home = Annotated[
    Path | None, typer.Option(help="Folder of the server; a folder in the user's data directory by default.")
]


@app.command()
def start(
    *,
    home: Home = None,
    version: Annotated[str, typer.Option(help=f"Version of Neo4j; {LTS} is the long-term release.")] = NEWEST,
    bolt_port: Annotated[int, typer.Option(help="Port for drivers.")] = neo4j_server.BOLT_PORT,
    http_port: Annotated[int, typer.Option(help="Port for Neo4j Browser.")] = neo4j_server.HTTP_PORT,
) -> None:
    """Start Neo4j and leave it running. The first start downloads about 200 MB from Maven Central.

    A server that runs in the folder already is only shown. The password is the setting neo4j.password (NEO4J_PASSWORD,
    or a settings file). Without it, one is generated.
    """
    chosen = Settings.load().neo4j.password
    password = None if chosen is None else chosen.get_secret_value()
    with _err.status("starting Neo4j") as spinner:

        def show(what: str, done: int, total: int) -> None:
            spinner.update(f"{what}: {done} of {total} files" if total else what)

        server = neo4j_server.start(
            home, version=version, password=password, bolt_port=bolt_port, http_port=http_port, progress=show
        )
    _describe(server)
    if server.password_is_new:
        _out.print(f"\nPassword, shown this once: [bold]{server.password}[/bold]")
    if server.password != password:
        _print(f"\nThe password is kept, for you alone, in {server.home / 'credentials.json'}.", style="dim")
    # Memory finds the password of the default folder itself.
    password_given = "" if home is None else ', neo4j={"password": "…"}'
    _print(
        f'\nUse it:  Memory("{server.bolt_uri}"{password_given})        '
        f"Stop it:  memgraph-rag neo4j stop{_home_option(home)}"
    )


@app.command()
def stop(*, home: Home = None) -> None:
    """Stop Neo4j. Its data is kept."""
    with _err.status("stopping Neo4j"):
        was_running = neo4j_server.stop(home)
    _out.print("Neo4j is stopped." if was_running else "Neo4j was not running.")


@app.command()
def status(
    *,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Show whether Neo4j is running, and its addresses."""
    server = neo4j_server.status(home)
    if as_json:
        write_json({"running": server is not None, **(_facts(server) if server else {})})
    elif server is None:
        _print(f"Neo4j is not running. Start it: memgraph-rag neo4j start{_home_option(home)}")
    else:
        _describe(server)


def _home_option(home: Path | None) -> str:
    """Return the --home option for another command, or nothing for the default folder."""
    return "" if home is None else f" --home {shlex.quote(str(home))}"


def _print(text: str, *, style: str = "") -> None:
    """Print text that may hold a path, without markup and control characters."""
    _out.print(plain(text), style=style, markup=False)


def _facts(server: RunningServer) -> dict[str, str | int]:
    return {
        "version": server.version,
        "bolt_uri": server.bolt_uri,
        "browser_url": server.browser_url,
        "user": server.user,
        "home": str(server.home),
        "pid": server.pid,
    }


def _describe(server: RunningServer) -> None:
    _out.print(f"Neo4j {server.version} {'is running' if server.was_running else 'was started'}.")
    places = {"Bolt": server.bolt_uri, "Browser": server.browser_url, "User": server.user, "Folder": server.home}
    _out.print(facts(places))
