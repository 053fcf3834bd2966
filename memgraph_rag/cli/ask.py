"""``memgraph-rag ask``, and how a question's reading is shown while it happens.

It knows the stream of ``Memory`` and the plain form of answers; it decides nothing. Invariant: what was shown live and
what is shown from a form is the same, line by line.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

import memgraph_rag
from memgraph_rag.cli import json_output
from memgraph_rag.cli.options import Json, Place, SessionOf, UserOf
from memgraph_rag.cli.progress import Bars
from memgraph_rag.cli.render import show_grounds, show_piece, to_stderr, to_stdout, walk_header, walk_line

if TYPE_CHECKING:
    from rich.console import Console

    from memgraph_rag import Answer, Step

__all__ = ["ask", "replay", "show_reading"]


def ask(
    place: Place,
    question: Annotated[str, typer.Argument(help="What you want to know.")],
    strategy: Annotated[
        str | None,
        typer.Option(
            help="How to read: walk (by default), overviews (by default for questions about a whole, where there are "
            "some), pecan, qrmem, top_k; of systems: raptor, raptor_traversal, graphrag_local, graphrag_global, "
            "graphrag_drift, hipporag, hipporag2, longrefiner, sprag, full_context, sliding_window, summary, decom, "
            "llmlingua, longllmlingua, memwalker."
        ),
    ] = None,
    style: Annotated[
        str, typer.Option(help="The answer: short (a phrase), sentence, or detailed (a paragraph with marks).")
    ] = "sentence",
    document: Annotated[
        list[str] | None, typer.Option(help="Read only this one (key, id or path); repeatable.")
    ] = None,
    user: UserOf = None,
    session: SessionOf = None,
    max_seconds: Annotated[float | None, typer.Option(help="Stop reading after so many seconds.")] = None,
    max_tokens: Annotated[int | None, typer.Option(help="Stop reading after so many tokens.")] = None,
    max_nodes: Annotated[int | None, typer.Option(help="Stop reading after so many nodes.")] = None,
    at: Annotated[
        str | None, typer.Option(help="As of this day or moment (2024-05-01): nothing that was said later is read.")
    ] = None,
    trace: Annotated[bool, typer.Option(help="Show the walk, on standard error.")] = True,
    keep_trace: Annotated[
        bool, typer.Option("--keep-trace", help="Store the question, its answer and the walk; 'show' draws them.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Ask a question; the answer cites exact spans of what was added."""
    with Bars() as bars, place.stored(progress=bars) as memory:
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
        items = bars.between(items, "reading", until=lambda item: isinstance(item, str))
        if as_json:
            *_, answer = items
            json_output.write_json(answer.as_dict())  # pyright: ignore[reportAttributeAccessIssue] - the last is an Answer
        else:
            show_reading(items, walk=to_stderr() if trace else None, answer=to_stdout())


def show_reading(items: Iterable[Step | str | Answer], *, walk: Console | None, answer: Console) -> Answer:
    """Show steps, pieces of the answer and its grounds as they come; the answer itself at last."""
    order, written = 0, ""
    for item in items:
        if isinstance(item, memgraph_rag.Step):
            order += 1
            if walk is not None:
                if order == 1:
                    walk_header(walk)
                walk_line(walk, order, item.as_dict())
        elif isinstance(item, str):
            written = show_piece(answer, item, after=written)
        else:
            if not written:
                show_piece(answer, item.text)
            show_grounds(answer, item.as_dict())
            return item
    raise AssertionError("a stream ends with an Answer")


def replay(form: Mapping[str, Any], console: Console) -> None:
    """Show an answer that was kept, as it was shown when it was given."""
    if form["trace"]:
        walk_header(console)
    for order, step in enumerate(form["trace"], 1):
        walk_line(console, order, step)
    show_piece(console, form["text"])
    show_grounds(console, form)
