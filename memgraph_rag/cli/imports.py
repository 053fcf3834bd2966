"""The command ``memgraph-rag import``: archives of this library, exports of other programs, sessions of agents.

It knows no format of an export. Invariant: the same command again stores nothing twice, and continues an interrupted
import.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memgraph_rag.cli import render, sanitize
from memgraph_rag.cli.options import Json, Place
from memgraph_rag.cli.progress import Bars, cost_lines
from memgraph_rag.display import show
from memgraph_rag.text.exports.formats import FORMATS, SESSION_LOGS, read_export
from memgraph_rag.types import SESSION, USER, Document, Failure, Receipt

if TYPE_CHECKING:
    from memgraph_rag import Memory

_STREAM = "-"
_ARCHIVE = "archive"
_ARCHIVE_MARK = b'"memgraph_rag archive"'
_HEAD = 256


def import_files(
    place: Place,
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="FILES",
            help="Archives that 'export' wrote ('-' is standard input), or exports of other programs: files, folders, "
            "zip archives. The name of a format may come first: import chatgpt FILE. The name of a coding agent reads "
            f"the sessions that it kept: {', '.join(SESSION_LOGS)}.",
        ),
    ],
    format_name: Annotated[
        str | None,
        typer.Option(
            "--format", help="Format of the files: archive, chatgpt, claude, slack, …; recognised by default."
        ),
    ] = None,
    user: Annotated[
        str | None, typer.Option(help="Owner of the imported conversations, for scopes and 'forget --user'.")
    ] = None,
    bulk: Annotated[bool, typer.Option("--bulk", help="Import into an empty Neo4j database with neo4j-admin.")] = False,
    files: Annotated[
        Path | None, typer.Option("--files", help="With --bulk: only write the files for neo4j-admin to this folder.")
    ] = None,
    home: Annotated[
        Path | None, typer.Option(help="With --bulk: the --home folder of 'neo4j start', if you set one.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Import archives of this library, what other programs exported, and the sessions of coding agents.

    An archive is stored without a model, after the whole file is checked. Again, an unchanged conversation is skipped,
    and a conversation that has grown is replaced. If one cannot be read, the others are imported all the same, and the
    exit status is 1.

    The sessions of a coding agent (import claude-code) go into the namespace of their project each; --namespace stores
    only those of one project, and files name logs elsewhere.

    --bulk stops the local server, fills its empty database from one archive, and starts the server again.
    """
    if sources[0] in SESSION_LOGS and not Path(sources[0]).exists():
        from memgraph_rag.cli.agent_memories import import_sessions

        if not import_sessions(place, sources[0], [Path(source) for source in sources[1:]], as_json=as_json):
            raise typer.Exit(1)
        return
    if len(sources) > 1 and sources[0] in {_ARCHIVE, *FORMATS} and not Path(sources[0]).exists():
        format_name, sources = sources[0], sources[1:]
    if bulk:
        from memgraph_rag.cli.bulk_import import import_in_bulk

        if len(sources) > 1:
            raise typer.BadParameter("one archive at a time fills a database", param_hint="FILES")
        import_in_bulk(place, _path(sources[0]), files=files, home=home, as_json=as_json)
        return
    if files or home:
        raise typer.BadParameter("goes with --bulk only", param_hint="--files" if files else "--home")
    with Bars() as bars, cost_lines(bars), place.open(progress=bars) as memory:
        outcomes: list[Receipt | Failure] = []
        for source in sources:
            if (format_name or _recognise(source)) == _ARCHIVE:
                stored = memory.maintenance.import_from(_path(source))
                outcomes += stored if as_json else render.print_outcomes(stored)
            else:
                outcomes += _import_export(memory, Path(source), format_name, user, bars, as_json=as_json)
    if as_json:
        render.write_outcomes(outcomes)
    if any(isinstance(outcome, Failure) for outcome in outcomes):
        raise typer.Exit(1)


def _path(source: str) -> Path:
    return Path("/dev/stdin") if source == _STREAM else Path(source)


def _recognise(source: str) -> str | None:
    """Return "archive" for standard input and for a file that says that it is one; None for anything else."""
    path = Path(source)
    if source == _STREAM or path.suffix == ".jsonl":
        return _ARCHIVE
    if not path.is_file():
        return None
    with path.open("rb") as file:
        return _ARCHIVE if _ARCHIVE_MARK in file.read(_HEAD) else None


def _import_export(
    memory: Memory, path: Path, format_name: str | None, user: str | None, bars: Bars, *, as_json: bool
) -> list[Receipt | Failure]:
    """Store the conversations of an export, print their number, and return the outcomes."""
    name, items = read_export(path, format_name)
    read = list(items)
    documents = [_set_owner(item, user) for item in read if isinstance(item, Document)]
    outcomes: list[Receipt | Failure] = [item for item in read if isinstance(item, Failure)]
    for number, outcome in enumerate(memory.add_many(documents), 1):
        outcomes.append(outcome)
        bars("importing", number, len(documents))
    if not as_json:
        _show_summary(name, path, outcomes)
    return outcomes


def _set_owner(document: Document, user: str | None) -> Document:
    if user is None:
        return document
    return replace(document, metadata={**document.metadata, USER: user, SESSION: document.key})


def _show_summary(name: str, path: Path, outcomes: Sequence[Receipt | Failure]) -> None:
    """Print a line for each failure, and one line with the numbers of the other outcomes and of their notes."""
    render.print_outcomes(outcome for outcome in outcomes if isinstance(outcome, Failure))
    actions = Counter("failed" if isinstance(outcome, Failure) else outcome.action.value for outcome in outcomes)
    notes = Counter[str]()
    for outcome in outcomes:
        notes.update({} if isinstance(outcome, Failure) else outcome.notes)
    counts: dict[str, Any] = {"conversations": len(outcomes), **actions, **notes}
    numbers = "  ".join(f"{what}: {count:,}" for what, count in counts.items())
    typer.echo(sanitize.label(f"imported   {name}  {show(path)}  {numbers}"))
