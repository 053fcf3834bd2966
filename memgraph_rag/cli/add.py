"""``memgraph-rag add``, ``deepen`` and ``forget``: what changes the memory.

It reads standard input, and leaves files to the library. Invariant: one line, or one JSON entry, for each source.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import memgraph_rag
from memgraph_rag.cli import json_output, render
from memgraph_rag.cli.options import Json, Place, file_of, layers_given, metadata_given
from memgraph_rag.cli.progress import Bars
from memgraph_rag.errors import DocumentError, MemgraphRagError

if TYPE_CHECKING:
    from memgraph_rag import Failure, Memory, Receipt
    from memgraph_rag.text.folders import Folder  # for the type checker only

__all__ = ["add", "deepen", "forget", "remove_layer"]

logger = logging.getLogger(__name__)

_STDIN = "-"

OpenIEFile = Annotated[
    str | None,
    typer.Option("--openie", metavar="FILE", help="Triples of an OpenIE file (HippoRAG's form), stored as relations."),
]


def add(
    place: Place,
    files: Annotated[
        list[str] | None,
        typer.Argument(help="Files or folders: text, Markdown, HTML, PDF, CSV, JSON, code; '-' is standard input."),
    ] = None,
    stdin: Annotated[bool, typer.Option("--stdin", help="The same as '-'.")] = False,
    key: Annotated[str | None, typer.Option(help="Your name for it; by default its path, or a hash.")] = None,
    title: Annotated[str | None, typer.Option(help="By default the file's own.")] = None,
    metadata: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="Kept with each document, to search by; repeatable.")
    ] = None,
    layers: Annotated[
        str | None,
        typer.Option(help="What to build beyond segments, with commas between, or 'none'; entities by default."),
    ] = None,
    openie: OpenIEFile = None,
    ray: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS", help="Build on this Ray cluster; 'auto': on this machine's, or one begun here."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Add files, and folders with all in them. What is stored just so stays; other content of a key replaces it."""
    names = [*(files or ()), *([_STDIN] if stdin else ())]
    _check_usage(names, named=key is not None or title is not None, ray=ray)
    text = _read_stdin() if _STDIN in names else ""
    with Bars() as bars, place.open(progress=bars, **layers_given(layers, openie)) as memory:
        given = _Given(memory, names, text)
        described = metadata_given(metadata, "--metadata")
        if len(names) == 1 and not given.folders and ray is None:
            add_one = partial(memory.add, key=key, title=title, metadata=described)
            outcomes = _alone(add_one, next(iter(given)), as_json=as_json)
        else:
            outcomes = memory.add_many(given, metadata=described, ray=ray)
        results = _forms(given.names, bars.between(outcomes, "adding"))
        failed = _show_json(results, given.folders) if as_json else _show_lines(results)
    if not as_json:
        _show_left_out(given.folders)
    if failed:
        raise typer.Exit(1)


def deepen(
    place: Place,
    documents: Annotated[list[str] | None, typer.Argument(help="Keys or ids; all documents by default.")] = None,
    layers: Annotated[
        str | None, typer.Option(help="Which layers, with commas between; entities and points by default.")
    ] = None,
    openie: OpenIEFile = None,
    max_tokens: Annotated[
        int | None, typer.Option(min=1, help="Stop when the model has read and written so many; the same call goes on.")
    ] = None,
    max_seconds: Annotated[float | None, typer.Option(help="Begin no document later than that; for idle time.")] = None,
    as_json: Json = False,
) -> None:
    """Build the layers that documents still lack, the oldest document first. After Ctrl-C nothing is written twice."""
    with Bars() as bars, place.stored(progress=bars) as memory:
        chosen = layers_given(layers, openie).get("layers")
        outcomes = memory.deepen(
            documents or None, layers=chosen, limits=memgraph_rag.Limits(tokens=max_tokens, seconds=max_seconds)
        )
        results = _told(bars.between(outcomes, "building"))
        failed = _show_json(results) if as_json else _show_lines(results)
    if failed:
        raise typer.Exit(1)


def remove_layer(
    place: Place,
    layer: Annotated[str, typer.Argument(help="context, facts, or a layer of your own.")],
    documents: Annotated[list[str] | None, typer.Argument(help="Keys or ids; all documents by default.")] = None,
    as_json: Json = False,
) -> None:
    """Take a layer away; without context, segments are embedded as they were before it. 'deepen' builds it again."""
    with place.stored() as memory:
        results = _told(memory.maintenance.remove_layer(layer, documents or None))
        failed = _show_json(results) if as_json else _show_lines(results)
    if failed:
        raise typer.Exit(1)


def _check_usage(names: Sequence[str], *, named: bool, ray: str | None) -> None:
    if not names:
        raise typer.BadParameter("name a file, or '-' for standard input", param_hint="FILES")
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


def _alone(
    add_one: Callable[[str | Path], Receipt], source: str | Path, *, as_json: bool
) -> Iterator[Receipt | Failure]:
    """The receipt of one source. Its failure is an entry in JSON, else the command's own error."""
    try:
        yield add_one(source)
    except MemgraphRagError as error:
        if not as_json:
            raise
        yield memgraph_rag.Failure(str(source), error)


class _Given:
    """What the user named, as sources: of a folder its files.

    Attributes:
        names: of the sources that were taken so far.
        folders: those that were named.
    """

    def __init__(self, memory: Memory, names: Sequence[str], text: str) -> None:
        from memgraph_rag.text.folders import Folder

        is_folder = {name: name != _STDIN and Path(name).is_dir() for name in names}
        own = file_of(memory.settings.store)
        files = [own] if own else []
        self.folders = [Folder(Path(name), without=files) for name in names if is_folder[name]]
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


def _forms(names: Sequence[str], outcomes: Iterable[Receipt | Failure]) -> Iterator[tuple[bool, dict[str, Any]]]:
    """Whether each source was added, and the form of its receipt or failure, as it comes."""
    for place, (added, form) in enumerate(_told(outcomes)):
        yield added, form if added else form | {"source": names[place]}


def _told(outcomes: Iterable[Receipt | Failure]) -> Iterator[tuple[bool, dict[str, Any]]]:
    for outcome in outcomes:
        yield isinstance(outcome, memgraph_rag.Receipt), outcome.as_dict()


def _show_lines(results: Iterable[tuple[bool, dict[str, Any]]]) -> int:
    """One line for each source as it comes; how many failed."""
    out, failed = render.to_stdout(), 0
    for added, form in results:
        failed += not added
        out.print(render.receipt_line(form) if added else render.failure_line(form), soft_wrap=True)
    return failed


def _show_left_out(folders: Iterable[Folder]) -> None:
    """One line for each reason why files of a folder were left out, with the first of them; all with ``--verbose``."""
    for folder in folders:
        for path, reason in folder.left_out.items():
            logger.debug("left out: %s (%s)", render.plain(str(path)), reason)
        for line in render.left_out_lines(folder.path, folder.left_out):
            render.to_stderr().print(line, soft_wrap=True)


def _show_json(results: Iterable[tuple[bool, dict[str, Any]]], folders: Sequence[Folder] | None = None) -> int:
    """All sources as one object, with what was left out of folders where they are given; how many failed."""
    receipts, failures = [], []
    for added, form in results:
        (receipts if added else failures).append(form)
    form: dict[str, Any] = {"receipts": receipts, "failures": failures}
    if folders is not None:
        left_out = [(path, reason) for folder in folders for path, reason in folder.left_out.items()]
        form["left_out"] = [{"path": str(path), "reason": reason} for path, reason in left_out]
    json_output.write_json(form)
    return len(failures)


def forget(
    place: Place,
    document: Annotated[
        str | None, typer.Argument(help="Key, id or path of a document; with --question text or id of a question.")
    ] = None,
    question: Annotated[bool, typer.Option("--question", help="Forget a kept question, not a document.")] = False,
    user: Annotated[str | None, typer.Option(help="Instead: all that this user said, or was added as theirs.")] = None,
    session: Annotated[str | None, typer.Option(help="With --user: of theirs only this conversation.")] = None,
    as_json: Json = False,
) -> None:
    """Remove a document, everything that rests on it alone, and kept questions that rest on it, stale ones too."""
    if question and (user or session):
        raise typer.BadParameter("a question is of no user", param_hint="--question")
    if user is not None and document is None:
        _forget_user(place, user, session, as_json=as_json)
        return
    if document is None or user is not None or session is not None:
        raise typer.BadParameter("name a document, or --user and perhaps --session")
    with place.stored() as memory:
        if question:
            memory.forget(question=document)
            form: dict[str, Any] = {"question": document, "action": "forgotten"}
        else:
            form = memory.forget(document).as_dict()
    if as_json:
        json_output.write_json(form)
    elif question:
        render.to_stdout().print(render.label(f"forgotten  {document}"), markup=False, soft_wrap=True)
    else:
        render.to_stdout().print(render.receipt_line(form), soft_wrap=True)


def _forget_user(place: Place, user: str, session: str | None, *, as_json: bool) -> None:
    with place.stored() as memory:
        forms = [receipt.as_dict() for receipt in memory.forget(user=user, session=session)]
    if as_json:
        json_output.write_json({"receipts": forms})
        return
    for form in forms:
        render.to_stdout().print(render.receipt_line(form), soft_wrap=True)
    if not forms:
        whose = user if session is None else f"{user}, session {session}"
        render.to_stdout().print(render.label(f"nothing is stored of {whose}"), markup=False, soft_wrap=True)
