"""The commands that change the memory: ``memgraph-rag add``, ``deepen``, ``remove-layer`` and ``forget``.

This module reads standard input; the library reads files. Invariant: each source gives one line, or one JSON entry.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import memgraph_rag
from memgraph_rag.cli import json_output, render, sanitize
from memgraph_rag.cli.options import Json, Place, find_file, parse_layers, parse_metadata
from memgraph_rag.cli.progress import Bars, cost_lines
from memgraph_rag.errors import DocumentError, MemgraphRagError

if TYPE_CHECKING:
    from memgraph_rag import Failure, Memory, Receipt
    from memgraph_rag.text.folders import Folder  # for the type checker only

logger = logging.getLogger(__name__)

_STDIN = "-"

OpenIEFile = Annotated[
    str | None,
    typer.Option(
        "--openie",
        metavar="FILE",
        help="Store the triples of an OpenIE file (HippoRAG's format), for the HippoRAG searches.",
    ),
]


def add(
    place: Place,
    names: Annotated[
        list[str],
        typer.Argument(
            metavar="FILES", help="Files or folders: text, Markdown, HTML, PDF, CSV, JSON, code; '-' is standard input."
        ),
    ],
    key: Annotated[
        str | None, typer.Option(help="Key of the document; its path by default, or a hash of the text.")
    ] = None,
    title: Annotated[str | None, typer.Option(help="Title of the document; the file's own title by default.")] = None,
    metadata: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="Metadata of each document, for search filters; repeatable."),
    ] = None,
    layers: Annotated[
        str | None,
        typer.Option(
            help="Layers to build beyond segments, separated by commas; 'full' for entities, points and relations, "
            "'none'. Entities by default, 'full' with 7 billion weights or more on a GPU."
        ),
    ] = None,
    openie: OpenIEFile = None,
    ray: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="Build on this Ray cluster; 'auto' uses or starts one on this machine."),
    ] = None,
    include: Annotated[
        list[str] | None,
        typer.Option(metavar="KIND", help="Take files of a kind that a folder leaves out: svg, css, lock; repeatable."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Add files and whole folders. A changed file replaces its stored document; an unchanged file is skipped.

    If a source cannot be added, the others are added all the same, and the exit status is 1.
    """
    _check_usage(names, named=key is not None or title is not None, ray=ray)
    text = _read_stdin() if _STDIN in names else ""
    with Bars() as bars, cost_lines(bars), place.open(progress=bars, **parse_layers(layers, openie)) as memory:
        given = _Sources(memory, names, text, include or ())
        described = parse_metadata(metadata, "--metadata")
        if len(names) == 1 and not given.folders and ray is None:
            add_one = partial(memory.add, key=key, title=title, metadata=described)
            outcomes = _add_alone(add_one, next(iter(given)), as_json=as_json)
        else:
            outcomes = memory.add_many(given, metadata=described, ray=ray)
        _show(_name_failures(bars.show_waiting(outcomes, "adding"), given.names), given.folders, as_json=as_json)


def deepen(
    place: Place,
    documents: Annotated[list[str] | None, typer.Argument(help="Keys or ids; all documents by default.")] = None,
    layers: Annotated[
        str | None,
        typer.Option(help="Layers to build, separated by commas, or 'full'; entities and points by default."),
    ] = None,
    openie: OpenIEFile = None,
    max_tokens: Annotated[
        int | None,
        typer.Option(min=1, help="Stop after this many tokens, read or written; the same command continues."),
    ] = None,
    max_seconds: Annotated[float | None, typer.Option(help="Begin no document after this many seconds.")] = None,
    as_json: Json = False,
) -> None:
    """Build missing layers, oldest document first. After Ctrl-C, the same command continues where it stopped.

    If a document fails, the others go on, and the exit status is 1.
    """
    with Bars() as bars, cost_lines(bars), place.open_existing(progress=bars) as memory:
        chosen = parse_layers(layers, openie).get("layers")
        outcomes = memory.deepen(
            documents or None, layers=chosen, limits=memgraph_rag.Limits(tokens=max_tokens, seconds=max_seconds)
        )
        _show(bars.show_waiting(outcomes, "building"), as_json=as_json)


def remove_layer(
    place: Place,
    layer: Annotated[str, typer.Argument(help="Layer to remove: context, facts, or a layer of your own.")],
    documents: Annotated[list[str] | None, typer.Argument(help="Keys or ids; all documents by default.")] = None,
    as_json: Json = False,
) -> None:
    """Remove a layer; 'deepen' rebuilds it. Removing 'context' embeds the segments again without headers.

    A document without the layer is unchanged. If a document fails, the others go on, and the exit status is 1.
    """
    with place.open_existing() as memory:
        _show(memory.maintenance.remove_layer(layer, documents or None), as_json=as_json)


def _check_usage(names: Sequence[str], *, named: bool, ray: str | None) -> None:
    if names.count(_STDIN) > 1:
        raise typer.BadParameter("standard input can be read once", param_hint="FILES")
    if named and (len(names) > 1 or Path(names[0]).is_dir()):
        raise typer.BadParameter("one document at a time can get a key or a title", param_hint="--key, --title")
    if named and ray is not None:
        raise typer.BadParameter("a document with a key or a title is built in this process", param_hint="--ray")


def _read_stdin() -> str:
    try:
        return typer.get_binary_stream("stdin").read().decode("utf-8")
    except UnicodeDecodeError as error:
        raise DocumentError(
            f"Expected UTF-8 text on standard input, got an error: {error.reason} at byte {error.start}. "
            "Give the text as a file: its encoding is then detected.",
            position=error.start,
        ) from error


def _add_alone(
    add_one: Callable[[str | Path], Receipt], source: str | Path, *, as_json: bool
) -> Iterator[Receipt | Failure]:
    """Yield the receipt of one source. With ``as_json`` an error becomes a ``Failure``; otherwise it is raised."""
    try:
        yield add_one(source)
    except MemgraphRagError as error:
        if not as_json:
            raise
        yield memgraph_rag.Failure(str(source), error)


class _Sources:
    """The sources to add: each file, the text of standard input, and the files of each folder.

    Attributes:
        names: the names of the sources that were yielded so far.
        folders: the folders on the command line.
    """

    def __init__(self, memory: Memory, names: Sequence[str], text: str, include: Sequence[str]) -> None:
        from memgraph_rag.text.folders import Folder

        is_folder = {name: name != _STDIN and Path(name).is_dir() for name in names}
        own = find_file(memory.settings.store)
        files = [own] if own else []
        kinds = [kind for listed in include for kind in listed.split(",")]
        self.folders = [Folder(Path(name), without=files, include=kinds) for name in names if is_folder[name]]
        self.names: list[str] = []
        self._given = names
        self._is_folder = is_folder
        self._text = text

    def __iter__(self) -> Iterator[str | Path]:
        folders = iter(self.folders)
        for name in self._given:
            sources = next(folders) if self._is_folder[name] else [self._text if name == _STDIN else Path(name)]
            for source in sources:
                self.names.append(str(source) if self._is_folder[name] else name)
                yield source


def _name_failures(outcomes: Iterable[Receipt | Failure], names: Sequence[str]) -> Iterator[Receipt | Failure]:
    """Yield the outcomes; a failure has the name of its source.

    Args:
        names: the names of the sources, in the order of the outcomes.
    """
    for place, outcome in enumerate(outcomes):
        yield outcome if isinstance(outcome, memgraph_rag.Receipt) else replace(outcome, source=names[place])


def _show(outcomes: Iterable[Receipt | Failure], folders: Sequence[Folder] | None = None, *, as_json: bool) -> None:
    """Print one line for each outcome as it arrives, or all as one JSON object, then the skipped files of folders.

    Raises:
        typer.Exit: there was a failure.
    """
    done = [*outcomes] if as_json else render.print_outcomes(outcomes)
    if as_json:
        left_out = [item for folder in folders or () for item in folder.left_out.items()]
        listed = [{"path": str(path), "reason": reason} for path, reason in left_out]
        render.write_outcomes(done, **({} if folders is None else {"left_out": listed}))
    else:
        _show_left_out(folders or ())
    if not all(isinstance(outcome, memgraph_rag.Receipt) for outcome in done):
        raise typer.Exit(1)


def _show_left_out(folders: Iterable[Folder]) -> None:
    """Print one line for each reason why files of a folder were skipped, with the first file names.

    With ``--verbose`` every skipped file is logged.
    """
    for folder in folders:
        for path, reason in folder.left_out.items():
            logger.debug("left out: %s (%s)", sanitize.plain(str(path)), reason)
        for line in render.format_left_out(folder.path, folder.left_out, of_kind=folder.OF_KIND):
            render.to_stderr().print(line, soft_wrap=True)


def forget(
    place: Place,
    document: Annotated[
        str | None, typer.Argument(help="Key, id or path of a document; with --question a question's text or id.")
    ] = None,
    question: Annotated[bool, typer.Option("--question", help="Forget a kept question, not a document.")] = False,
    user: Annotated[str | None, typer.Option(help="Forget all documents of this user instead.")] = None,
    session: Annotated[str | None, typer.Option(help="With --user: forget only this conversation.")] = None,
    as_json: Json = False,
) -> None:
    """Remove a document, everything that only this document supports, and the kept questions that used it.

    Stale questions that used the document are removed too.
    """
    if question and (user or session):
        raise typer.BadParameter("a question is of no user", param_hint="--question")
    if user is not None and document is None:
        _forget_user(place, user, session, as_json=as_json)
        return
    if document is None or user is not None or session is not None:
        raise typer.BadParameter("name a document, or --user and perhaps --session")
    with place.open_existing() as memory:
        if not question:
            receipt = memory.forget(document)
            if as_json:
                json_output.write_json(receipt.as_dict())
            else:
                render.print_outcomes([receipt])
            return
        memory.forget(question=document)
    form = {"question": document, "action": "forgotten"}
    render.write_result(form, f"forgotten  {document}", as_json=as_json)


def _forget_user(place: Place, user: str, session: str | None, *, as_json: bool) -> None:
    with place.open_existing() as memory:
        receipts = memory.forget(user=user, session=session)
    if as_json:
        json_output.write_json({"receipts": [receipt.as_dict() for receipt in receipts]})
        return
    if not render.print_outcomes(receipts):
        whose = user if session is None else f"{user}, session {session}"
        typer.echo(sanitize.label(f"nothing is stored of {whose}"))
