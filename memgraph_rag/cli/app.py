"""The list of commands, and the exit status of each.

It knows no memory. Invariant: an error of our own is one line on standard error and exit status 1; Ctrl-C is one line
and 130; wrong usage is 2, as is a variable or a file of settings that cannot be used.
"""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from memgraph_rag.cli import exit_status
from memgraph_rag.cli.add import add, deepen, forget, remove_layer
from memgraph_rag.cli.agents import app as agents
from memgraph_rag.cli.agents import serve
from memgraph_rag.cli.ask import ask
from memgraph_rag.cli.calibrate import calibrate
from memgraph_rag.cli.config import config
from memgraph_rag.cli.demo import demo
from memgraph_rag.cli.doctor import doctor
from memgraph_rag.cli.evaluate import evaluate
from memgraph_rag.cli.inspection import documents, questions, search, show, status
from memgraph_rag.cli.maintenance import export_file, import_file, purge, reembed
from memgraph_rag.cli.models import models
from memgraph_rag.cli.options import at_place

__all__ = ["app"]

_HELP = "Long-term memory in Neo4j or in one file: add documents, ask questions, get exact citations."


class _Root(TyperGroup):
    """All commands; the one place where errors become lines and exit statuses."""

    def make_context(self, *given: Any, **more: Any) -> Any:
        with exit_status.one_line(), exit_status.plain_usage():
            return super().make_context(*given, **more)

    def invoke(self, ctx: Any) -> Any:
        with exit_status.one_line(), exit_status.plain_usage():
            return super().invoke(ctx)


class _Neo4j(TyperGroup):
    """The commands of ``cli.server``, imported when they are asked for: they load the driver."""

    def _loaded(self) -> Any:
        from memgraph_rag.cli.server import app as server

        return typer.main.get_command(server)

    def list_commands(self, ctx: Any) -> list[str]:
        return self._loaded().list_commands(ctx)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        return self._loaded().get_command(ctx, cmd_name)


app = typer.Typer(
    cls=_Root, help=_HELP, no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode="rich"
)  # fmt: skip
for _command in (
    add, ask, search, show, documents, questions, deepen, remove_layer, forget, purge, reembed, status, config,
    doctor, calibrate, evaluate, demo, serve,
):  # fmt: skip
    app.command()(at_place(_command))
for _name, _command in {"export": export_file, "import": import_file}.items():
    app.command(_name)(at_place(_command))
app.command()(models)
app.add_typer(
    typer.Typer(cls=_Neo4j, no_args_is_help=True, help="A real Neo4j with Browser on this machine, without Docker."),
    name="neo4j",
)

app.add_typer(agents, name="mcp")


def _show_version(asked: bool) -> None:
    if asked:
        from memgraph_rag import __version__

        typer.echo(f"memgraph_rag {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and end.")
    ] = False,
) -> None:
    """What comes before a command."""
