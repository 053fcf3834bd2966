"""``memgraph-rag mcp`` and ``serve``: the memory as a server that agents and programs call, and the tokens they need.

It opens memories and knows no protocol: that is ``memgraph_rag.mcp``. Invariants: over standard streams nothing but the
protocol is written to standard output; a token is printed once, by the command that makes it.
"""

from __future__ import annotations

import logging
import os
import secrets
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from functools import cached_property, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memgraph_rag.cli import json_output
from memgraph_rag.cli.options import Json, Place, at_place, layers_given, start_logging
from memgraph_rag.cli.sanitize import label as shown
from memgraph_rag.display import show

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from memgraph_rag import Memory, Settings
    from memgraph_rag.contracts import Embedder, LanguageModel
    from memgraph_rag.mcp.memories import Memories
    from memgraph_rag.models.shared_model import ModelAddress, ModelProcess

__all__ = ["app", "serve"]

app = typer.Typer(help="The memory as a server of the Model Context Protocol, for agents.", rich_markup_mode="rich")

_PORT = 8765

_AT_ONCE = ("entities", "facts")
"""Layers that need no language model; facts, because agents store what people say, and ask what holds now."""

Tokens = Annotated[
    Path | None, typer.Option("--tokens", help="Folder of the tokens; by default one in the user's data directory.")
]
Port = Annotated[int, typer.Option(help="Over HTTP; 0 takes one that is free.", min=0, max=65535)]
Hosts = Annotated[
    list[str] | None, typer.Option("--allow-host", help="Over HTTP: name of a proxy before this server; repeatable.")
]
Workers = Annotated[
    int, typer.Option("--workers", help="Processes that serve one Neo4j together, with one language model.", min=1)
]
Layers = Annotated[
    str | None,
    typer.Option(help="What to build, with commas between; points and relations follow in the background."),
]


def serve_agents(
    place: Place,
    ctx: typer.Context,
    http: Annotated[bool, typer.Option("--http", help="Many clients with tokens, at 127.0.0.1.")] = False,
    port: Port = _PORT,
    allow_host: Hosts = None,
    tokens: Tokens = None,
    layers: Layers = None,
) -> None:
    """Serve the memory to one client on standard input and output; with --http as memgraph-rag serve does."""
    if ctx.invoked_subcommand is not None:
        return
    if http:
        serve(place, port, allow_host, tokens, layers)
        return
    settings = _checked_settings(place)
    from memgraph_rag.mcp.transports import serve_stdio

    with _memories(place, layers) as memories:
        serve_stdio(memories, settings.namespace)


def serve(
    place: Place,
    port: Port = _PORT,
    allow_host: Hosts = None,
    tokens: Tokens = None,
    layers: Layers = None,
    workers: Workers = 1,
) -> None:
    """Serve the memory over HTTP at 127.0.0.1: to programs (REST) and to agents (MCP), each with a token."""
    settings = _checked_settings(place)
    if workers > 1 and "://" not in settings.store:
        from memgraph_rag.errors import SettingsError

        raise SettingsError(
            f"Expected a Neo4j server for {workers} workers, got {show(settings.store)}, which one process has open. "
            "Leave --workers out, or serve a Neo4j: --store neo4j://HOST.",
            store=settings.store,
        )
    from memgraph_rag.mcp.transports import serve_http
    from memgraph_rag.models.address import is_address

    _finish_former_jobs(place, layers, settings)
    server = _Server(place, layers, tokens, tuple(allow_host or ()))
    if workers == 1:
        signal.signal(signal.SIGTERM, lambda *_: os._exit(0))  # raised again by uvicorn, when all is closed
        serve_http(server, port=port, ready=_show_address)
        return
    with TemporaryDirectory(prefix="memgraph_rag-") as folder, ExitStack() as ending:
        # What prometheus_client reads in the workers when it is imported.
        figures = Path(os.environ.setdefault("PROMETHEUS_MULTIPROC_DIR", folder))
        model = None if is_address(settings.model) else ending.enter_context(_model_process(settings, Path(folder)))
        shared = _Shared(figures, Path(folder) / "building.lock", secrets.token_bytes(32), model)
        serve_http(replace(server, shared=shared), port=port, workers=workers, ready=_show_address)


def _finish_former_jobs(place: Place, layers: str | None, settings: Settings) -> None:
    """Store what a former version accepted and did not store, and tell the user so."""
    from memgraph_rag.mcp.former_jobs import finish_jobs, folder_of_jobs

    folder = folder_of_jobs(settings.store, settings.neo4j_database)
    if place.read_only or settings.read_only or not folder.is_dir():
        return
    from memgraph_rag.mcp.memories import Memories

    at_once, _ = _split(layers_given(layers).get("layers"))
    with closing(Memories(_Openings(place, at_once, shares=True))) as memories:
        try:
            for line in finish_jobs(folder, memories):
                typer.echo(shown(line), err=True)
        except Exception as error:  # noqa: BLE001 - the server serves all the same
            why = f"{type(error).__name__}: {error}"
            typer.echo(f"What a former version accepted waits in {folder} for the next start. {shown(why)}", err=True)


def _checked_settings(place: Place) -> Settings:
    """Refuse at once what no request could mend."""
    from memgraph_rag.mcp import require_sdk

    require_sdk()
    return place.settings()


@contextmanager
def _memories(place: Place, layers: str | None) -> Iterator[Memories]:
    """The memories of a server on standard streams, closed at its end, also where it is told to end."""
    from memgraph_rag.mcp.memories import Memories

    at_once, later = _split(layers_given(layers).get("layers"))
    memories = Memories(_Openings(place, at_once, shares=False), later=later)
    restore = signal.signal(signal.SIGTERM, lambda *_: _end(memories))
    try:
        yield memories
    finally:
        memories.close()
        signal.signal(signal.SIGTERM, restore)


@dataclass(frozen=True, slots=True)
class _Shared:
    """What the workers of a server have in common.

    Attributes:
        figures: the folder of prometheus_client's files.
        building: the lock of who builds costly layers.
        state_key: seals what clients carry from one request to the next.
        model: where the language model is; None where an address serves it.
    """

    figures: Path
    building: Path
    state_key: bytes = field(repr=False)
    model: ModelAddress | None = field(repr=False)


def _model_process(settings: Settings, folder: Path) -> ModelProcess:
    """The process that holds the language model of all workers; it knows no database."""
    from memgraph_rag.models.shared_model import ModelProcess
    from memgraph_rag.operations.model_loader import open_language_model, without_database

    return ModelProcess(partial(open_language_model, without_database(settings)), folder)


@dataclass(frozen=True, slots=True)
class _Server:
    """Makes the application that is served over HTTP, in this process or in a worker.

    Attributes:
        shared: with other workers; None where there is one process.
        is_verbose: as the command's ``--verbose``, for workers.
    """

    place: Place
    layers: str | None
    tokens: Path | None
    allowed_hosts: tuple[str, ...]
    shared: _Shared | None = None
    is_verbose: bool = field(default_factory=lambda: logging.getLogger("memgraph_rag").isEnabledFor(logging.DEBUG))

    def __call__(self) -> Starlette:
        """The application; its end closes the memories."""
        from memgraph_rag.mcp.memories import IDLE_S, Memories
        from memgraph_rag.mcp.metrics import Metrics
        from memgraph_rag.mcp.tokens import TokenFolder
        from memgraph_rag.mcp.transports import http_app, token_server
        from memgraph_rag.models.shared_model import end_with_parent

        shared = self.shared
        if shared is not None:
            start_logging(verbose=self.is_verbose)
            end_with_parent()
        at_once, later = _split(layers_given(self.layers).get("layers"))
        memories = Memories(
            _Openings(self.place, at_once, shares=True, model=shared.model if shared else None),
            later=later,
            idle_s=IDLE_S,
            lock=shared.building if shared else None,
        )
        server = token_server(
            memories,
            TokenFolder(self.tokens),
            metrics=Metrics(shared.figures) if shared else None,
            state_key=shared.state_key if shared else None,
        )
        return http_app(
            server,
            allowed_hosts=self.allowed_hosts,
            keeps_sessions=shared is None,
            at_end=memories.close,
        )


app.callback(invoke_without_command=True)(at_place(serve_agents))


@app.command()
def token(
    *,
    namespace: Annotated[str, typer.Option(help="The one namespace that the token reaches.")],
    label: Annotated[str, typer.Option(help="Whose it is, for the list.")] = "",
    days: Annotated[int | None, typer.Option(help="How long it holds; for ever by default.")] = None,
    tokens: Tokens = None,
) -> None:
    """Make a token for a namespace and print it; only its hash is kept."""
    from memgraph_rag.mcp.tokens import TokenFolder

    typer.echo(TokenFolder(tokens).make(namespace, label=label, days=days))
    typer.echo("This is shown once. Clients send it as the header: Authorization: Bearer TOKEN", err=True)


@app.command("tokens")
def list_tokens(*, tokens: Tokens = None, as_json: Json = False) -> None:
    """List the tokens that were made, without what they are."""
    from memgraph_rag.cli import render
    from memgraph_rag.mcp.tokens import TokenFolder

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
    token_id: Annotated[str, typer.Argument(metavar="ID", help="As mcp tokens lists it.")], *, tokens: Tokens = None
) -> None:
    """Make a token worthless from the next request on."""
    from memgraph_rag.mcp.tokens import TokenFolder

    grant = TokenFolder(tokens).revoke(token_id)
    typer.echo(f"revoked    {grant.id} of {shown(grant.namespace)}")


def _end(memories: Memories) -> None:
    """End as a client or a supervisor wants it: the file is given back.

    Not by an exception: the thread that reads standard input waits for a line that does not come.
    """
    memories.close()
    os._exit(0)


def _show_address(address: str) -> None:
    typer.echo(
        f"Serving agents at {address}/mcp and programs at {address}/v1, as {address}/docs says.\n"
        "Each needs a token: memgraph-rag mcp token --namespace NAME",
        err=True,
    )


def _moment(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, timezone.utc).isoformat() if seconds else ""


def _split(layers: Sequence[str] | None) -> tuple[Sequence[str], tuple[str, ...]]:
    """What is built before ``remember`` returns, and what follows: the layers that a language model writes."""
    if layers is None:
        return _AT_ONCE, ()
    at_once = tuple(layer for layer in layers if layer in _AT_ONCE)
    return at_once, tuple(layer for layer in layers if layer not in _AT_ONCE)


class _Openings:
    """Opens the memory of a namespace at a place.

    Args:
        shares: whether several namespaces are opened, which then share one embedder and one language model.
        model: where that is, if another process holds it.
    """

    def __init__(self, place: Place, layers: Sequence[str], *, shares: bool, model: ModelAddress | None = None) -> None:
        self._place = place
        self._layers = layers
        self._shares = shares
        self._model_address = model
        self._sharing = Lock()

    def __call__(self, namespace: str, *, progress: Callable[[str, int, int], None]) -> Memory:
        more: dict[str, Any] = {"layers": self._layers, "progress": progress}
        if self._shares:
            with self._sharing:  # two threads must not load two
                more["embedder"] = self._embedder
                if self._language_model is not None:
                    more |= {"model": self._language_model, "reader": "none"}
        return replace(self._place, namespace=namespace).open(**more)

    @cached_property
    def _embedder(self) -> Embedder:
        from memgraph_rag.operations.model_loader import open_embedder

        settings = self._place.settings()
        return open_embedder(settings.embedder, settings)

    @cached_property
    def _language_model(self) -> LanguageModel | None:
        """None where there is none: then the call that needs it says so."""
        from memgraph_rag.errors import ModelNotFound
        from memgraph_rag.operations.model_loader import open_language_model

        try:
            if self._model_address is None:
                return open_language_model(self._place.settings())
            from memgraph_rag.models.shared_model import SharedModel

            model = SharedModel(self._model_address)
            _ = model.name
        except ModelNotFound:
            return None
        return model
