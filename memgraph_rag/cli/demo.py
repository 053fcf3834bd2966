"""The command ``memgraph-rag demo``: add a story, ask four questions, and show progress, walk, answers and citations.

It uses the public API of ``Memory``, which keeps the questions. Invariant: an answer of the last run is shown only if
the document, the model and the strategy are the same; the output then says so.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import platformdirs
import typer

import memgraph_rag
from memgraph_rag.cli import render
from memgraph_rag.cli.ask import replay, show_reading
from memgraph_rag.cli.options import Place
from memgraph_rag.cli.progress import Bars
from memgraph_rag.errors import SettingsError

if TYPE_CHECKING:
    from rich.console import Console

    from memgraph_rag import Answer, Document, Memory
QUESTIONS = (
    "Why did Peter's mother tell him not to go into Mr. McGregor's garden?",
    "What did Peter lose while he was running away?",
    "What did Mrs. Rabbit give Peter at the end of the day?",
    "What did the mother of the hero of The Tale of Peter Rabbit buy at the baker's?",  # taken apart
)

_STORY = "peter_rabbit.txt"
_TITLE = "The Tale of Peter Rabbit"
_STRATEGY = "walk"


def demo(
    place: Place,
    fresh: Annotated[bool, typer.Option("--fresh", help="Add the story and ask the questions again.")] = False,
) -> None:
    """Add a short story to a separate store and ask four questions: progress, walk, answers and citations.

    If nothing changed since the last run, its answers are shown again. --store and --namespace name others.
    """
    out, story, place = render.to_stdout(), read_story(), _demo_place(place)
    out.print(_TITLE, style="bold", end="")
    typer.echo(f", {len(story.text):,} characters → {place.store}")
    with Bars(forced=True) as bars, place.open(progress=bars) as memory:
        if fresh and any(record.key == story.key for record in memory.documents()):
            memory.forget(story.key)  # and the kept questions with it
        (receipt,) = bars.show_waiting(map(memory.add, [story]), "adding")
        render.print_outcomes([receipt])
        for question in QUESTIONS:
            _show_question(memory, question, bars, out)
    out.print(f"\nAsk it yourself:  {_command(place)}", style="dim", markup=False, soft_wrap=True)


def _demo_place(place: Place) -> Place:
    """Return the place with a separate store and a separate namespace as defaults."""
    store = place.store or str(platformdirs.user_data_path("memgraph_rag") / "demo.lbug")
    return replace(place, store=store, namespace=place.namespace or "demo")


def read_story() -> Document:
    """Return the story as a document. It is read from the package or, in a checkout, from ``examples``.

    Raises:
        SettingsError: the file is missing.
    """
    package = Path(__file__).parent.parent
    for path in (package / "_examples" / _STORY, package.parent / "examples" / _STORY):
        if path.is_file():
            # The document is made from text and not from a path, so two checkouts hold the same document.
            return memgraph_rag.Document(path.read_text("utf-8"), _STORY, title=_TITLE)
    raise SettingsError(f"Expected the story {_STORY} beside the package, got none. Reinstall memgraph_rag.")


def _show_question(memory: Memory, question: str, bars: Bars, out: Console) -> None:
    """Print a question with its walk, answer, citations and cost. If nothing changed, the last run's answer is used."""
    out.print()
    out.rule(style="dim")
    answer = _find_kept(memory, question)
    out.print(question, style="bold cyan", end="\n" if answer is None else "")
    if answer is not None:
        out.print("  (from the last run; --fresh asks anew)", style="yellow")
        replay(answer.as_dict(), out)
        return
    items = memory.stream(question, strategy=_STRATEGY, keep_trace=True)
    items = bars.show_waiting(items, "reading", until=lambda item: isinstance(item, str))
    show_reading(items, walk=out, answer=out)


def _find_kept(memory: Memory, question: str) -> Answer | None:
    """Return the kept answer to a question, if the same model read the present story for it by the same strategy."""
    made_by = (memory.language_model.name, _STRATEGY)
    for kept in memory.questions(question):
        if not kept.is_stale and (kept.answer.model, kept.answer.strategy) == made_by:
            return kept.answer
    return None


def _command(place: Place) -> str:
    return f'memgraph-rag ask "What did Peter eat?" --store {place.store} --namespace {place.namespace}'
