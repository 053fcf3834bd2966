"""The list of commands, and the exit status of each.

It knows no memory. A module of commands is imported when one of its commands is called, so that a call imports what it
needs and the list of commands nothing. Invariant: an error of our own is one line on standard error and exit status 1;
Ctrl-C is one line and 130; wrong usage is 2, as is a variable or a file of settings that cannot be used.
"""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import Annotated, Any, NamedTuple

import typer
from typer.core import TyperGroup

from memgraph_rag import __version__
from memgraph_rag.cli import exit_status
from memgraph_rag.cli.options import at_place

__all__ = ["COMMANDS", "Command", "app"]

_HELP = "Long-term memory in Neo4j or in one file: add documents, ask questions, get exact citations."


class Command(NamedTuple):
    """Where a command is, and what the list of commands says of it.

    Attributes:
        module: of ``memgraph_rag.cli``.
        function: or the Typer app of a group of commands.
        help: the first line of the function's docstring, or of the app's help.
    """

    module: str
    function: str
    help: str

    def load(self, name: str) -> Any:
        """Import the command, as typer runs it."""
        loaded = getattr(import_module(f"memgraph_rag.cli.{self.module}"), self.function)
        if isinstance(loaded, typer.Typer):
            return typer.main.get_group(loaded)
        alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode="rich")
        alone.command(name)(at_place(loaded) if "place" in inspect.signature(loaded).parameters else loaded)
        return typer.main.get_command(alone)


COMMANDS = {
    "add": Command(
        "add",
        "add",
        "Add files, and folders with all in them. What is stored just so stays; other content of a key replaces it.",
    ),
    "ask": Command("ask", "ask", "Ask a question; the answer cites exact spans of what was added."),
    "search": Command(
        "inspection", "search", "Find the passages that bear on a query, without asking the language model."
    ),
    "show": Command(
        "inspection",
        "show",
        "Show what surrounds a document, an entity, a kept question or an overview; of a node its text.",
    ),
    "documents": Command("inspection", "documents", "List the documents."),
    "questions": Command(
        "inspection",
        "questions",
        "List the questions that were kept, the newest first; of a stale one what changed since it was asked.",
    ),
    "deepen": Command(
        "add",
        "deepen",
        "Build the layers that documents still lack, the oldest document first. After Ctrl-C nothing is written twice.",
    ),
    "remove-layer": Command(
        "add",
        "remove_layer",
        "Take a layer away; without context, segments are embedded as they were before it. 'deepen' builds it again.",
    ),
    "forget": Command(
        "add",
        "forget",
        "Remove a document, everything that rests on it alone, and kept questions that rest on it, stale ones too.",
    ),
    "purge": Command(
        "maintenance",
        "purge",
        "Rewrite an embedded file so that not a byte of what was forgotten or replaced is left in it.",
    ),
    "reembed": Command(
        "maintenance",
        "reembed",
        "Embed everything in the store anew, by the embedder that --embedder names. Until then the old ones serve.",
    ),
    "status": Command(
        "inspection",
        "status",
        "Count what is stored, by label and relationship type; tell store, schema, models and which layers are built.",
    ),
    "config": Command(
        "config",
        "config",
        "Show each setting, its value, and where it came from: an option, a variable, a file, or the default.",
    ),
    "doctor": Command(
        "doctor", "doctor", "Check every part and say what to do; exit status 1 where something needed fails."
    ),
    "calibrate": Command(
        "calibrate",
        "calibrate",
        "Measure which heads of the language model rank, and when its Yes may be trusted; later questions use it.",
    ),
    "evaluate": Command(
        "evaluate",
        "evaluate",
        "Score searches and strategies on folders of questions; a second run does only what is missing.",
    ),
    "demo": Command(
        "demo",
        "demo",
        "Add a short story and ask it three questions: bars, walk, answers, citations. A store of its own is used.",
    ),
    "serve": Command(
        "agents",
        "serve",
        "Serve the memory over HTTP at 127.0.0.1: to programs (REST) and to agents (MCP), each with a token.",
    ),
    "export": Command(
        "maintenance",
        "export_file",
        "Write all documents of the namespace, or of a user, with all that was built of them, into one file.",
    ),
    "import": Command(
        "maintenance",
        "import_file",
        "Store the documents of an exported file; no model is used. Other documents of the same keys are replaced.",
    ),
    "models": Command(
        "models",
        "models",
        "List what --model could be here: packaged models, the hub's cache, servers on this machine.",
    ),
    "neo4j": Command("server", "app", "A real Neo4j with Browser on this machine, without Docker."),
    "mcp": Command("agents", "app", "The memory as a server of the Model Context Protocol, for agents."),
}
"""All commands by name, in the order of the list."""


class _Root(TyperGroup):
    """All commands; the one place where errors become lines and exit statuses."""

    def make_context(self, *given: Any, **more: Any) -> Any:
        with exit_status.one_line(), exit_status.plain_usage():
            return super().make_context(*given, **more)

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Find a command by its name in the list, and import it."""
        name, listed, rest = super().resolve_command(ctx, args)
        return name, COMMANDS[name].load(name) if name and listed else listed, rest

    def invoke(self, ctx: Any) -> Any:
        with exit_status.one_line(), exit_status.plain_usage():
            return super().invoke(ctx)


def _listed() -> None:
    """Stand for a command in the list."""


app = typer.Typer(
    cls=_Root, help=_HELP, no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode="rich"
)  # fmt: skip
for _name, _command in COMMANDS.items():
    app.command(_name, help=_command.help)(_listed)


def _show_version(asked: bool) -> None:
    if asked:
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
