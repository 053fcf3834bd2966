"""The list of commands, and the Typer app that runs them.

It opens no memory. A command's module is imported when the command is called, so a call imports only the modules that
it needs. Invariants: an error of this library prints one line on standard error and exits with status 1; Ctrl-C prints
one line and exits with 130; wrong usage, or an invalid variable or settings file, exits with 2.
"""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import Annotated, Any, NamedTuple

import typer
from typer.core import TyperGroup

from memgraph_rag import __version__
from memgraph_rag.cli import exit_status
from memgraph_rag.cli.options import bind_place

_HELP = "Long-term memory in Neo4j or in one file: add documents, ask questions, get exact citations."


class Command(NamedTuple):
    """The location of a command and its line in the list of commands.

    Attributes:
        module: name of a module of ``memgraph_rag.cli``, without the package, such as "doctor".
        function: name of the command's function in that module, or of the Typer app of a group of commands.
        help: first line of the function's docstring, or of the app's help.
    """

    module: str
    function: str
    help: str

    def load(self, name: str) -> Any:
        """Import the command and return it as a click command.

        Args:
            name: the command's name in the list.
        """
        loaded = getattr(import_module(f"memgraph_rag.cli.{self.module}"), self.function)
        if isinstance(loaded, typer.Typer):
            return typer.main.get_group(loaded)
        alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode="rich")
        alone.command(name)(bind_place(loaded) if "place" in inspect.signature(loaded).parameters else loaded)
        return typer.main.get_command(alone)


COMMANDS = {
    "add": Command(
        "add",
        "add",
        "Add files and whole folders. A changed file replaces its stored document; an unchanged file is skipped.",
    ),
    "ask": Command("ask", "ask", "Ask a question. The answer cites exact spans of the stored documents."),
    "search": Command(
        "inspection",
        "search",
        "Find the passages that are relevant to a query. Without --judge the language model is not used.",
    ),
    "brief": Command(
        "inspection",
        "brief",
        "Show what to know before a conversation: what holds, wishes, open ends, decisions, what was spoken of last.",
    ),
    "show": Command(
        "inspection",
        "show",
        "Show the graph around a document, an entity, a kept question or an overview, or the text of one node.",
    ),
    "documents": Command("inspection", "documents", "List the documents."),
    "questions": Command(
        "inspection",
        "questions",
        "List the kept questions, newest first. For a stale question, list the documents that changed since.",
    ),
    "deepen": Command(
        "add",
        "deepen",
        "Build missing layers, oldest document first. After Ctrl-C, the same command continues where it stopped.",
    ),
    "remove-layer": Command(
        "add",
        "remove_layer",
        "Remove a layer; 'deepen' rebuilds it. Removing 'context' embeds the segments again without headers.",
    ),
    "forget": Command(
        "add",
        "forget",
        "Remove a document, everything that only this document supports, and the kept questions that used it.",
    ),
    "purge": Command(
        "maintenance",
        "purge",
        "Rewrite an embedded file so that it holds no byte of forgotten or replaced documents.",
    ),
    "reembed": Command(
        "maintenance",
        "reembed",
        "Embed all documents of the store again with --embedder. Searches use the old embeddings until it is done.",
    ),
    "status": Command(
        "inspection",
        "status",
        "Count nodes and relationships by type, and show the store, its schema, the models and the built layers.",
    ),
    "config": Command(
        "config",
        "config",
        "Show each setting, its value, and its source: an option, a variable, a file, or the default.",
    ),
    "doctor": Command("doctor", "doctor", "Check every part and advise how to fix it. Exit status 1 if a check fails."),
    "calibrate": Command(
        "calibrate",
        "calibrate",
        "Measure which attention heads rank passages, and when the model's Yes is reliable. Later questions use it.",
    ),
    "evaluate": Command(
        "evaluate",
        "evaluate",
        "Score searches and strategies on folders of questions. A second run does only the missing work.",
    ),
    "demo": Command(
        "demo",
        "demo",
        "Add a short story to a separate store and ask four questions: progress, walk, answers and citations.",
    ),
    "serve": Command(
        "serve",
        "serve",
        "Serve the memory over HTTP at 127.0.0.1 to programs (REST) and agents (MCP). Each client needs a token.",
    ),
    "ui": Command(
        "serve",
        "ui",
        "Open the memory in the browser: see, ask and search it. With --ui-write, also add, correct and forget.",
    ),
    "agent": Command("agent", "app", "Connect coding agents to the memory."),
    "hook": Command(
        "agent",
        "hook",
        "Answer an event of a coding agent, whose JSON is on standard input. Clients call it; errors go into a log.",
    ),
    "export": Command(
        "maintenance",
        "export_file",
        "Export all documents of the namespace, or of one user, as an archive or in a form that other programs read.",
    ),
    "import": Command(
        "imports",
        "import_files",
        "Import archives of this library, what other programs exported, and the sessions of coding agents.",
    ),
    "models": Command(
        "models",
        "models",
        "List the values that --model can take: packaged models, the hub's cache, servers on this machine.",
    ),
    "neo4j": Command("neo4j", "app", "Run a real Neo4j with Browser on this machine, without Docker."),
    "mcp": Command("serve", "app", "Serve the memory to agents by the Model Context Protocol, and manage tokens."),
}
"""All commands by name, in the order in which ``--help`` lists them."""


class _Root(TyperGroup):
    """The group of all commands. It turns errors into one line and an exit status."""

    def make_context(self, *given: Any, **more: Any) -> Any:
        with exit_status.one_line(), exit_status.plain_usage():
            return super().make_context(*given, **more)

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Look up a command by name and import it."""
        name, listed, rest = super().resolve_command(ctx, args)
        return name, COMMANDS[name].load(name) if name and listed else listed, rest

    def invoke(self, ctx: Any) -> Any:
        with exit_status.one_line(), exit_status.plain_usage():
            return super().invoke(ctx)


def _do_nothing() -> None:
    """Represent a command in the list until ``_Root.resolve_command`` imports it."""


app = typer.Typer(
    cls=_Root, help=_HELP, no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode="rich"
)  # fmt: skip
for _name, _command in COMMANDS.items():
    app.command(_name, help=_command.help)(_do_nothing)


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"memgraph_rag {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Declare the options that precede a command."""
