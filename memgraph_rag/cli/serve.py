"""The commands ``memgraph-rag mcp``, ``serve`` and ``ui``: serve a memory to agents, programs and its owner.

This module opens memories; ``memgraph_rag.server`` implements the protocols. Invariants: with standard streams,
standard output carries only the protocol; a token is printed once, by the command that creates it, and is never an
argument of a process, because all users of the machine see those.
"""

from __future__ import annotations

import os
import signal
import tempfile
import webbrowser
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from datetime import datetime, timezone
from functools import cached_property
from pathlib import Path
from threading import Lock, Thread, Timer
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memgraph_rag.cli import json_output, render
from memgraph_rag.cli.doctor import examine
from memgraph_rag.cli.options import Json, Place, bind_place, parse_layers
from memgraph_rag.cli.sanitize import label as shown
from memgraph_rag.ingestion.layer_choice import FULL, expand_full
from memgraph_rag.models.model_loader import FoundModels, SharedModel
from memgraph_rag.server import require_sdk
from memgraph_rag.server.memories import IDLE_S, Memories
from memgraph_rag.server.tokens import OneToken, TokenFolder

if TYPE_CHECKING:
    from memgraph_rag import Memory, Settings
    from memgraph_rag.contracts import Embedder
app = typer.Typer(
    help="Serve the memory to agents by the Model Context Protocol, and manage tokens.", rich_markup_mode="rich"
)

_PORT = 8765
_CLOSING_S = 10.0
_SHOWING_S = 60.0  # for a browser to start

_AT_ONCE = ("entities", "facts")
"""Layers that need no language model. Facts are among them, because agents store statements and ask what holds now."""

Tokens = Annotated[
    Path | None,
    typer.Option("--tokens", help="Folder of the tokens; a folder in the user's data directory by default."),
]
Port = Annotated[int, typer.Option(help="Port for HTTP; 0 takes a free port.", min=0, max=65535)]
Hosts = Annotated[
    list[str] | None,
    typer.Option("--allow-host", help="Host name of a proxy in front of this server (HTTP); repeatable."),
]
Layers = Annotated[
    str | None,
    typer.Option(
        help="Layers to build, separated by commas; 'full' for entities, points and relations. The language model "
        "writes its layers in the background."
    ),
]
UiWrite = Annotated[bool, typer.Option("--ui-write", help="Let the console add, correct and forget, too.")]


def serve_client(place: Place, ctx: typer.Context, layers: Layers = None) -> None:
    """Serve the memory (MCP) to one client on standard input and output; 'memgraph-rag serve' serves many over HTTP."""
    if ctx.invoked_subcommand is not None:
        return
    settings = _check_settings(place)
    with _memories(place, layers, is_shared=False) as memories:
        _transports().serve_stdio(memories, settings.namespace)


def serve(
    place: Place,
    port: Port = _PORT,
    allow_host: Hosts = None,
    tokens: Tokens = None,
    layers: Layers = None,
    ui_write: UiWrite = False,
) -> None:
    """Serve the memory over HTTP at 127.0.0.1 to programs (REST) and agents (MCP). Each client needs a token."""
    _check_settings(place)
    transports = _transports()
    with _memories(place, layers, is_shared=True) as memories:
        app = transports.http_app(
            transports.token_server(memories, TokenFolder(tokens)), allowed_hosts=allow_host or (), may_write=ui_write
        )
        transports.serve_http(app, port=port, ready=_show_address)


def ui(
    place: Place,
    port: Annotated[int, typer.Option(help="Port; 0 takes a free port.", min=0, max=65535)] = 0,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in the browser.")] = True,
    tokens: Tokens = None,
    ui_write: UiWrite = False,
) -> None:
    """Open the memory in the browser: see, ask and search it. With --ui-write, also add, correct and forget.

    The page is at 127.0.0.1 and needs the token in its address. Without --ui-write the store is opened for reading
    only.
    """
    shown_place = place if ui_write else replace(place, read_only=True)
    settings = _check_settings(shown_place)
    if not ui_write:  # else the file is made
        shown_place.check_file()
    transports = _transports()
    one_token = OneToken(settings.namespace)
    owner = transports.Owner(TokenFolder(tokens), lambda: examine(shown_place))

    def open_page(address: str) -> None:
        page = f"{address}/ui/#token={one_token.token}"
        typer.echo(f"The console is at {page}\nCtrl-C ends it.", err=True)
        if browser:
            leaving.enter_context(_show_page(page))

    with _memories(shown_place, None, is_shared=False) as memories, ExitStack() as leaving:
        server = transports.token_server(memories, one_token, owner=owner)
        app = transports.http_app(server, may_write=ui_write)
        transports.serve_http(app, port=port, ready=open_page)


@contextmanager
def _show_page(page: str) -> Iterator[None]:
    """Open a page in the browser by a private file that leads to it.

    The file is in the home folder, where browsers in a sandbox can read it. It is removed after a minute, or at the end
    of the block. If it cannot be written, the user has to open the page.
    """
    try:
        descriptor, name = tempfile.mkstemp(".html", "memgraph-rag-", Path.home())
    except OSError:
        yield
        return
    file = Path(name)
    with os.fdopen(descriptor, "w", encoding="utf-8") as written:
        written.write(f'<!DOCTYPE html><meta http-equiv="refresh" content="0; url={page}"><a href="{page}">Memory</a>')
    removal = Timer(_SHOWING_S, file.unlink, kwargs={"missing_ok": True})
    removal.daemon = True
    removal.start()
    try:
        webbrowser.open(file.as_uri())
        yield
    finally:
        removal.cancel()
        file.unlink(missing_ok=True)


def _transports() -> Any:
    """Return the module of the transports. It needs the SDK, so it is imported when a server starts."""
    from memgraph_rag.server import transports

    return transports


def _check_settings(place: Place) -> Settings:
    """Return the settings. Raise at once for errors that would fail every request: a missing SDK, a wrong setting."""
    require_sdk()
    return place.settings()


@contextmanager
def _memories(place: Place, layers: str | None, *, is_shared: bool, **settings: Any) -> Iterator[Memories]:
    """Yield the memories of a server. Close them when the server ends, also after SIGTERM.

    Args:
        is_shared: whether clients of several namespaces reach the server.
        settings: settings of each memory, in place of the user's settings.
    """
    given = parse_layers(layers)
    at_once, later = _split(given["layers"] if given else _default_layers(place))
    openings = _Openings(place, at_once, shares=is_shared, **settings)
    memories = Memories(openings, later=later, idle_s=IDLE_S if is_shared else None)
    restore = signal.signal(  # over HTTP raised again by uvicorn, at its end
        signal.SIGTERM, lambda *_: Thread(target=_end, args=(memories,), name="memgraph_rag end", daemon=True).start()
    )
    try:
        yield memories
    finally:
        memories.close()
        signal.signal(signal.SIGTERM, restore)


def open_memories(place: Place, **settings: Any) -> AbstractContextManager[Memories]:
    """Return a context manager that opens the memories of a server of one person, and closes them at its end.

    Args:
        settings: settings of each memory, in place of the user's settings.

    Raises:
        SettingsError: the SDK is missing, or a setting is wrong.
    """
    _check_settings(place)
    return _memories(place, None, is_shared=True, **settings)


app.callback(invoke_without_command=True)(bind_place(serve_client))


@app.command()
def token(
    *,
    namespace: Annotated[str, typer.Option(help="The only namespace that the token gives access to.")],
    label: Annotated[str, typer.Option(help="Name of the token's owner, shown by 'mcp tokens'.")] = "",
    days: Annotated[int | None, typer.Option(help="Days until the token expires; never by default.")] = None,
    tokens: Tokens = None,
) -> None:
    """Create a token for a namespace and print it. Only its hash is stored."""
    typer.echo(TokenFolder(tokens).make(namespace, label=label, days=days))
    typer.echo("This is shown once. Clients send it as the header: Authorization: Bearer TOKEN", err=True)


@app.command("tokens")
def list_tokens(*, tokens: Tokens = None, as_json: Json = False) -> None:
    """List the tokens: id, namespace, label and dates, without the secret.

    The oldest comes first. Expired and damaged tokens are listed too, revoked tokens are not.
    """
    grants = TokenFolder(tokens).grants()
    if as_json:
        json_output.write_json(
            [
                {
                    "id": grant.id,
                    "namespace": grant.namespace,
                    "label": grant.label,
                    "created_at": _moment(grant.created_at),
                    "expires_at": _moment(grant.expires_at),
                    "damaged": grant.is_damaged,
                }
                for grant in grants
            ]
        )
        return
    rows = [
        (
            grant.id,
            shown(grant.namespace),
            "damaged: revoke it" if grant.is_damaged else shown(grant.label),
            _moment(grant.created_at),
            _moment(grant.expires_at),
        )
        for grant in grants
    ]
    render.to_stdout().print(render.table(("id", "namespace", "label", "made", "holds until"), rows))


@app.command()
def revoke(
    token_id: Annotated[str, typer.Argument(metavar="ID", help="Id of the token, as 'mcp tokens' lists it.")],
    *,
    tokens: Tokens = None,
) -> None:
    """Revoke a token. The server refuses it from the next request on."""
    grant = TokenFolder(tokens).revoke(token_id)
    typer.echo(f"revoked    {grant.id} of {shown(grant.namespace)}")


def _end(memories: Memories) -> None:
    """Close the memories, which releases the store's file, and end the process with status 0.

    An exception would not end the process: the thread that reads standard input would still wait for a line. The
    main thread does not wait here, since the signal may have interrupted an import that an opening memory waits for. A
    model's call may not end, so closing has limited time.
    """
    closing_thread = Thread(target=memories.close, name="memgraph_rag closing", daemon=True)
    closing_thread.start()
    closing_thread.join(_CLOSING_S)
    os._exit(0)


def _show_address(address: str) -> None:
    typer.echo(
        f"Serving agents at {address}/mcp and programs at {address}/v1, as {address}/docs says. "
        f"The console is at {address}/ui.\n"
        "Each client needs a token: memgraph-rag mcp token --namespace NAME",
        err=True,
    )


def _moment(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, timezone.utc).isoformat() if seconds else ""


def _split(layers: Sequence[str] | None) -> tuple[Sequence[str], tuple[str, ...]]:
    """Return the layers to build before ``remember`` returns, and the layers to build in the background.

    The language model writes the layers of the second group. ``None`` gives the default layers.
    """
    if layers is None:
        return _AT_ONCE, ()
    names = expand_full(layers)
    at_once = tuple(layer for layer in names if layer in _AT_ONCE)
    return at_once, tuple(layer for layer in names if layer not in _AT_ONCE)


def _default_layers(place: Place) -> Sequence[str] | None:
    """Return all layers and facts for a language model of 7 billion weights or more on a GPU, else None."""
    settings = place.settings()
    models = FoundModels(settings, stored_recognizer=str, journal=None)
    return (FULL, *_AT_ONCE) if models.is_large_on_gpu else None


class _Openings:
    """A callable that opens the memory of a namespace at a place.

    Args:
        place: the shared options of the command line.
        layers: the layers that the memory builds when it adds a document.
        shares: whether several namespaces are opened. They then share one embedder and one language model.
        settings: settings of each memory, in place of the user's settings.
    """

    def __init__(self, place: Place, layers: Sequence[str], *, shares: bool, **settings: Any) -> None:
        self._place = place
        self._given = {"layers": layers, **settings}
        self._shares = shares
        self._sharing = Lock()
        self._embedder: Embedder | None = None

    def __call__(self, namespace: str, *, progress: Callable[[str, int, int], None]) -> Memory:
        more: dict[str, Any] = {**self._given, "progress": progress}
        place = replace(self._place, namespace=namespace)
        if not self._shares:
            return place.open(**more)
        with self._sharing:  # two threads must not load the models twice
            more |= {"model": self._language_model, "reader": "none"}
            if self._embedder is None:  # the first memory knows which embedder wrote the store
                memory = place.open(**more)
                self._embedder = memory.embedder
                return memory
        return place.open(**more, embedder=self._embedder)

    @cached_property
    def _language_model(self) -> SharedModel:
        return SharedModel(self._place.settings())
