"""The commands ``memgraph-rag agent`` and ``hook``: connect coding agents, and serve their hooks.

``memgraph_rag.agents`` holds what they do. What opens a memory is in ``agent_memories``, because a client waits for
``mcp`` at each start. Invariants: no file is written before its diff was shown; a hook exits with status 0, whatever
happens.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import platformdirs
import typer

from memgraph_rag.agents import hook as fast_hook
from memgraph_rag.agents.clients import CLIENTS, list_edits
from memgraph_rag.agents.projects import find_project
from memgraph_rag.cli import json_output
from memgraph_rag.cli.options import Json, Place, bind_place
from memgraph_rag.cli.sanitize import plain
from memgraph_rag.display import show
from memgraph_rag.errors import SettingsError, StoreUnavailable
from memgraph_rag.server import HOST, PATH

try:
    from memgraph_rag.agents.connections import Change, Connections, plan_changes
    from memgraph_rag.server.bridge import bridge
except ImportError as error:
    raise SettingsError(
        f'Expected the packages of the extra "agents", got none of {show(error.name)}. Install memgraph_rag[agents].'
    ) from error

app = typer.Typer(help="Connect coding agents to the memory.", no_args_is_help=True, rich_markup_mode="rich")

_START_S = 60.0

Client = Annotated[str, typer.Argument(metavar="CLIENT", help=f"One of {', '.join(CLIENTS)}.")]
Folder = Annotated[
    Path | None, typer.Option(help="Folder of the local server; a folder in the user's data directory by default.")
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Write without asking.")]


def default_folder() -> Path:
    """Return the folder of the local server; it may not exist."""
    return Path(platformdirs.user_data_dir("memgraph_rag")) / "agents"


@app.command()
def connect(client: Client, *, yes: Yes = False, folder: Folder = None) -> None:
    """Write what a client needs into its settings: the server, hooks where it has them. Shows a diff first."""
    place = _make_folder(folder)
    changes = plan_changes(list_edits(client, home=Path.home(), folder=place))
    if not changes:
        typer.echo(f"{client} is connected already.")
    elif _confirm(changes, yes=yes):
        Connections(place).connect(client, changes)
        typer.echo(f"{client} is connected. Restart it. Copies of changed files: {plain(str(place / 'backups'))}")


@app.command()
def disconnect(client: Client, *, yes: Yes = False, folder: Folder = None) -> None:
    """Take back what 'connect' wrote: a file that did not change since gets its former bytes."""
    connections = Connections(_make_folder(folder))
    changes = connections.plan_disconnect(client)
    if _confirm(changes, yes=yes):
        connections.disconnect(client, changes)
        typer.echo(f"{client} is not connected any more. Its stored sessions stay.")


@app.command()
def status(*, folder: Folder = None, as_json: Json = False) -> None:
    """Show which clients are connected, when each last spoke, and the project of this folder."""
    place = folder or default_folder()
    spoken = place / "spoken"
    form = {
        "server": _is_running(place),
        "project": find_project(Path.cwd()).namespace,
        "clients": {
            name: {
                "connected_at": record["connected_at"],
                "files": [file["path"] for file in record["files"]],
                "last_spoke_at": _moment(spoken / name),
            }
            for name, record in Connections(place).all().items()
        },
    }
    if as_json:
        json_output.write_json(form)
        return
    typer.echo(f"server     {'runs' if form['server'] else 'does not run; the first hook starts it'}")
    typer.echo(f"project    {plain(form['project'])}")
    for name, record in form["clients"].items():
        typer.echo(f"{name}  connected {record['connected_at']}, last spoke {record['last_spoke_at'] or 'never'}")
        for path in record["files"]:
            typer.echo(f"    {plain(path)}")


@app.command(hidden=True)
@bind_place
def serve(place: Place, folder: Folder = None) -> None:
    """Serve hooks and clients of this person until nobody calls. Hooks start it; a second one ends at once."""
    from memgraph_rag.cli.agent_memories import serve_until_idle

    serve_until_idle(place, _make_folder(folder))


@app.command("mcp", hidden=True)
def serve_client(*, folder: Folder = None) -> None:
    """Serve one client on standard streams from the local server, with the memory of the project it was started in."""
    path = _make_folder(folder)
    if not _is_running(path):
        fast_hook.start_server(str(path))
    end = time.monotonic() + _START_S
    while not _is_running(path):
        if time.monotonic() > end:
            log = path / "server.log"
            raise StoreUnavailable(f"Expected the local server, got none in {_START_S:.0f} s. Read {show(log)}.")
        time.sleep(0.1)
    port, secret = fast_hook.read_address(str(path))
    namespace = find_project(Path.cwd()).namespace
    bridge(f"http://{HOST}:{port}{PATH}", f"{secret}.{namespace.encode().hex()}")


def hook(
    event: Annotated[str, typer.Argument(help="Name of the event, as the client writes it.")],
    client: Annotated[str, typer.Option(help=f"One of {', '.join(CLIENTS)}.")] = "claude-code",
    folder: Folder = None,
) -> None:
    """Answer an event of a coding agent, whose JSON is on standard input. Clients call it; errors go into a log."""
    fast_hook.main([str((folder or default_folder()).absolute()), client, event])


def _confirm(changes: list[Change], *, yes: bool) -> bool:
    for change in changes:
        typer.echo(plain(change.diff))
    return yes or typer.confirm("Write this?")


def _make_folder(folder: Path | None) -> Path:
    """Return the absolute path of the server's folder, which only its owner can read. Create it if it is missing."""
    path = (folder or default_folder()).expanduser().absolute()
    try:
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise SettingsError(f"Expected a folder, got {show(str(path))} ({error}). Name another.") from error
    return path


def _is_running(path: Path) -> bool:
    try:
        fast_hook.ask_server(str(path), "/hook/status/none", b"{}")
    except (OSError, ValueError):
        return False
    return True


def _moment(path: Path) -> str:
    if not path.exists():
        return ""
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(path.stat().st_mtime))
