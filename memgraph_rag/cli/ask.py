"""The command ``memgraph-rag ask``: print the walk and the answer of a question while ``Memory.stream`` yields them.

It also prints stored answers in their plain form (``as_dict()``). Invariant: a live answer and its stored form print
the same lines.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

import memgraph_rag
from memgraph_rag.cli import json_output
from memgraph_rag.cli.options import Json, Place, SessionOf, UserOf
from memgraph_rag.cli.progress import Bars
from memgraph_rag.cli.render import part_line, show_grounds, show_piece, to_stderr, to_stdout, walk_header, walk_line

if TYPE_CHECKING:
    from rich.console import Console

    from memgraph_rag import Answer, Step
    from memgraph_rag.types import Part


def ask(
    place: Place,
    question: Annotated[str, typer.Argument(help="The question.")],
    strategy: Annotated[
        str | None,
        typer.Option(
            help="Reading strategy: walk (default), overviews (default for questions about all documents, if overviews "
            "exist), pecan, qrmem, top_k; from systems: raptor, raptor_traversal, graphrag_local, "
            "graphrag_global, graphrag_drift, hipporag, hipporag2, longrefiner, sprag, full_context, sliding_window, "
            "llmlingua, longllmlingua, llmlingua2, selective_context, memwalker."
        ),
    ] = None,
    style: Annotated[
        str,
        typer.Option(help="Answer style: short (a phrase), sentence, or detailed (a paragraph with citation marks)."),
    ] = "sentence",
    document: Annotated[
        list[str] | None, typer.Option(help="Read only this document (key, id or path); repeatable.")
    ] = None,
    user: UserOf = None,
    session: SessionOf = None,
    max_seconds: Annotated[float | None, typer.Option(help="Stop reading after this many seconds.")] = None,
    max_tokens: Annotated[int | None, typer.Option(help="Stop reading after this many tokens.")] = None,
    max_nodes: Annotated[int | None, typer.Option(help="Stop reading after this many nodes.")] = None,
    at: Annotated[
        str | None, typer.Option(help="Ignore everything that was said after this day or time (2024-05-01).")
    ] = None,
    trace: Annotated[bool, typer.Option(help="Show the walk, on standard error.")] = True,
    keep_trace: Annotated[
        bool, typer.Option("--keep-trace", help="Store the question, its answer and the walk; 'show' displays them.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Ask a question. The answer cites exact spans of the stored documents."""
    with Bars() as bars, place.open_existing(progress=bars) as memory:
        items = memory.stream(
            question,
            strategy=strategy,
            style=style,  # pyright: ignore[reportArgumentType]
            documents=document or None,
            user=user,
            session=session,
            limits=memgraph_rag.Limits(seconds=max_seconds, tokens=max_tokens, nodes=max_nodes),
            at=at,
            keep_trace=keep_trace,
        )
        items = bars.show_waiting(items, "reading", until=lambda item: isinstance(item, str))
        if as_json:
            *_, answer = items
            json_output.write_json(answer.as_dict())  # pyright: ignore[reportAttributeAccessIssue] - the last is an Answer
        else:
            show_reading(items, walk=to_stderr() if trace else None, answer=to_stdout())


def show_reading(items: Iterable[Step | Part | str | Answer], *, walk: Console | None, answer: Console) -> Answer:
    """Print the steps, the parts, the pieces of the answer and its sources as they arrive, and return the answer.

    Args:
        items: the stream of ``Memory.stream``; its last item is the ``Answer``.
        walk: console for the steps; None prints no steps.
        answer: console for the answer and its sources.
    """
    order, number, written = 0, 0, ""
    for item in items:
        if isinstance(item, memgraph_rag.Step):
            order += 1
            if walk is not None:
                if order == 1:
                    walk_header(walk)
                walk_line(walk, order, item.as_dict())
        elif isinstance(item, str):
            written = show_piece(answer, item, after=written)
        elif isinstance(item, memgraph_rag.Answer):
            if not written:
                show_piece(answer, item.text)
            show_grounds(answer, item.as_dict())
            return item
        else:
            number += 1
            if walk is not None:
                part_line(walk, number, item.as_dict())
    raise AssertionError("a stream ends with an Answer")


def replay(form: Mapping[str, Any], console: Console) -> None:
    """Print a stored answer with its walk, as ``show_reading`` printed it.

    Args:
        form: the plain form of an ``Answer`` (``as_dict()``).
    """
    if form["trace"]:
        walk_header(console)
    parts = list(enumerate(form["parts"], 1))
    for order, step in enumerate(form["trace"], 1):
        walk_line(console, order, step)
        for number, part in parts:
            if part["nodes_read"] == order:
                part_line(console, number, part)
    show_piece(console, form["text"])
    show_grounds(console, form)
