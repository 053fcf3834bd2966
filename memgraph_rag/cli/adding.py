"""``memgraph-rag add`` and ``forget``: what changes the memory.

It reads standard input, and leaves files to the library. Invariant: one line, or one JSON entry, for each source.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memgraph_rag.cli import forms
from memgraph_rag.cli.place import Json, Place
from memgraph_rag.errors import DocumentError, MemgraphRagError

if TYPE_CHECKING:
    from memgraph_rag import Failure, Memory, Receipt

__all__ = ["add", "deepen", "forget"]

_STDIN = "-"


def add(
    place: Place,
    files: Annotated[
        list[str] | None, typer.Argument(help="Text, Markdown, HTML or PDF; '-' for text from standard input.")
    ] = None,
    stdin: Annotated[bool, typer.Option("--stdin", help="The same as '-'.")] = False,
    key: Annotated[str | None, typer.Option(help="Your name for it; by default its path, or a hash.")] = None,
    title: Annotated[str | None, typer.Option(help="By default the file's own.")] = None,
    layers: Annotated[
        str | None, typer.Option(help="What to build beyond segments, with commas between, or 'none'.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Add documents. The same content again changes nothing; other content under the same key takes its place."""
    from memgraph_rag.cli.progress import Bars

    names = [*(files or ()), *([_STDIN] if stdin else ())]
    _check_usage(names, named=key is not None or title is not None)
    sources = [_read_stdin() if name == _STDIN else Path(name) for name in names]
    with Bars() as bars, place.open(progress=bars, **_layers_given(layers)) as memory:
        if len(sources) == 1:
            outcomes = _alone(memory, sources[0], key=key, title=title, as_json=as_json)
        else:
            outcomes = memory.add_many(sources)
        told = _forms(names, bars.between(outcomes, "adding"))
        failed = _show_json(told) if as_json else _show_lines(told)
    if failed:
        raise typer.Exit(1)


def deepen(
    place: Place,
    documents: Annotated[list[str] | None, typer.Argument(help="Keys or ids; all documents by default.")] = None,
    layers: Annotated[
        str | None, typer.Option(help="Which layers, with commas between; entities and points by default.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Build the layers that documents still lack. After Ctrl-C what the model has written is not written again."""
    from memgraph_rag.cli.progress import Bars

    with Bars() as bars, place.stored(progress=bars) as memory:
        outcomes = memory.deepen(documents or None, layers=_layers_given(layers).get("layers"))
        told = _told(bars.between(outcomes, "building"))
        failed = _show_json(told) if as_json else _show_lines(told)
    if failed:
        raise typer.Exit(1)


def _check_usage(names: Sequence[str], *, named: bool) -> None:
    if not names:
        raise typer.BadParameter("name a file, or '-' for standard input", param_hint="FILES")
    if names.count(_STDIN) > 1:
        raise typer.BadParameter("standard input can be read once", param_hint="FILES")
    if named and len(names) > 1:
        raise typer.BadParameter("one document at a time can get a key or a title", param_hint="--key, --title")


def _layers_given(names: str | None) -> dict[str, Any]:
    """The argument of ``Memory``; nothing where the option is not given."""
    if names is None:
        return {}
    return {"layers": () if names == "none" else tuple(name.strip() for name in names.split(","))}


def _read_stdin() -> str:
    try:
        return typer.get_binary_stream("stdin").read().decode("utf-8")
    except UnicodeDecodeError as error:
        raise DocumentError(
            f"Expected UTF-8 text on standard input, but: {error.reason} at byte {error.start}. "
            "Give the text as a file: its encoding is then detected.",
            position=error.start,
        ) from error


def _alone(
    memory: Memory, source: str | Path, *, key: str | None, title: str | None, as_json: bool
) -> Iterator[Receipt | Failure]:
    """The receipt of one source. Its failure is an entry in JSON, else the command's own error."""
    from memgraph_rag import Failure

    try:
        yield memory.add(source, key=key, title=title)
    except MemgraphRagError as error:
        if not as_json:
            raise
        yield Failure(str(source), error)


def _forms(names: Iterable[str], outcomes: Iterable[Receipt | Failure]) -> Iterator[tuple[bool, dict[str, Any]]]:
    """Whether each source was added, and the form of its receipt or failure, as it comes."""
    for name, (added, form) in zip(names, _told(outcomes), strict=True):
        yield added, form if added else form | {"source": name}


def _told(outcomes: Iterable[Receipt | Failure]) -> Iterator[tuple[bool, dict[str, Any]]]:
    from memgraph_rag import Receipt

    for outcome in outcomes:
        if isinstance(outcome, Receipt):
            yield True, forms.receipt_form(outcome)
        else:
            yield False, forms.failure_form(outcome)


def _show_lines(told: Iterable[tuple[bool, dict[str, Any]]]) -> int:
    """One line for each source as it comes; how many failed."""
    from memgraph_rag.cli import render

    out, failed = render.to_stdout(), 0
    for added, form in told:
        failed += not added
        out.print(render.receipt_line(form) if added else render.failure_line(form), soft_wrap=True)
    return failed


def _show_json(told: Iterable[tuple[bool, dict[str, Any]]]) -> int:
    """All sources as one object; how many failed."""
    receipts, failures = [], []
    for added, form in told:
        (receipts if added else failures).append(form)
    forms.write_json({"receipts": receipts, "failures": failures})
    return len(failures)


def forget(
    place: Place,
    document: Annotated[str, typer.Argument(help="Key or id of a document; with --question text or id of a question.")],
    question: Annotated[bool, typer.Option("--question", help="Forget a kept question, not a document.")] = False,
    as_json: Json = False,
) -> None:
    """Remove a document, everything that rests on it alone, and kept questions that rest on it, stale ones too."""
    from memgraph_rag.cli import render

    with place.stored() as memory:
        if question:
            memory.forget_question(document)
            form: dict[str, Any] = {"question": document, "action": "forgotten"}
        else:
            form = forms.receipt_form(memory.forget(document))
    if as_json:
        forms.write_json(form)
    elif question:
        render.to_stdout().print(render.label(f"forgotten  {document}"), markup=False, soft_wrap=True)
    else:
        render.to_stdout().print(render.receipt_line(form), soft_wrap=True)
