"""The command ``memgraph-rag demo``: add a story, ask four questions, and show progress, walk, answers and citations.

It uses the public API of ``Memory``. Invariant: an answer of the last run is shown only if document, model, strategy
and library version are the same; the output then says so.
"""

from __future__ import annotations

import json
from dataclasses import fields, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import platformdirs
import typer

import memgraph_rag
from memgraph_rag.cli import render
from memgraph_rag.cli.ask import replay, show_reading
from memgraph_rag.cli.options import Place, find_file
from memgraph_rag.cli.progress import Bars
from memgraph_rag.errors import SettingsError

if TYPE_CHECKING:
    from rich.console import Console

    from memgraph_rag import Document, Memory
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
    out.print(f"[bold]{_TITLE}[/bold], {len(story.text):,} characters → {place.store}", soft_wrap=True)
    with Bars(forced=True) as bars, place.open(progress=bars) as memory:
        kept = _AnswerFile(_answers_path(place), about=_list_dependencies(memory, story))
        if not _add(memory, story, bars, out, fresh=fresh) or fresh:
            kept.clear()
        for question in QUESTIONS:
            _show_question(memory, question, kept, bars, out)
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


def _add(memory: Memory, story: Document, bars: Bars, out: Console, *, fresh: bool) -> bool:
    """Add the story to the memory. Return True if the memory already held the same text."""
    if fresh and any(record.key == story.key for record in memory.documents()):
        memory.forget(story.key)
    (receipt,) = bars.show_waiting(map(memory.add, [story]), "adding")
    out.print(render.receipt_line(receipt.as_dict()), soft_wrap=True)
    return receipt.action is memgraph_rag.Action.UNCHANGED


def _show_question(memory: Memory, question: str, kept: _AnswerFile, bars: Bars, out: Console) -> None:
    """Print a question with its walk, answer, citations and cost. If nothing changed, the last run's answer is used."""
    out.print()
    out.rule(style="dim")
    form = kept.find(question)
    out.print(question, style="bold cyan", end="\n" if form is None else "")
    if form is not None:
        out.print("  (from the last run; --fresh asks anew)", style="yellow")
        replay(form, out)
        return
    items = memory.stream(question, strategy=_STRATEGY)
    items = bars.show_waiting(items, "reading", until=lambda item: isinstance(item, str))
    kept.keep(question, show_reading(items, walk=out, answer=out).as_dict())


def _command(place: Place) -> str:
    return f'memgraph-rag ask "What did Peter eat?" --store {place.store} --namespace {place.namespace}'


# ── answers of the last run ──────────────────────────────────────────────────────────────────────────────────


def _answers_path(place: Place) -> Path:
    """Return the path of the answers file: in the folder of the store's file, or in the user's data folder."""
    path = find_file(place.store) if place.store else None
    if path is None:
        return platformdirs.user_data_path("memgraph_rag") / "demo-answers.json"
    return path.with_name(f"{path.stem}-answers.json")


def _list_dependencies(memory: Memory, story: Document) -> tuple[str, ...]:
    """Return everything except the question that an answer depends on: text, namespace, models, strategy, version."""
    made_by = (memory.language_model.name, memory.embedder.name, _STRATEGY, memgraph_rag.__version__)
    names = [field.name for record in (memgraph_rag.Step, memgraph_rag.types.Part) for field in fields(record)]
    return (story.sha256, memory.namespace, *made_by, *names)


class _AnswerFile:
    """Answers in a file, each by a hash of its question and of everything else that it depends on.

    Args:
        path: a JSON file. An unreadable file counts as empty.
        about: everything except the question that the answers depend on.
    """

    def __init__(self, path: Path, *, about: tuple[str, ...]) -> None:
        self._path = path
        self._about = about
        try:
            self._answers: dict[str, dict[str, Any]] = dict(json.loads(path.read_text("utf-8")))
        except (OSError, ValueError, TypeError):
            self._answers = {}

    def find(self, question: str) -> dict[str, Any] | None:
        """Return the plain form of the answer to a question, or None if there is none."""
        return self._answers.get(self._key(question))

    def keep(self, question: str, answer: dict[str, Any]) -> None:
        """Write an answer into the file at once, so that an interrupted demo keeps its answers."""
        self._answers[self._key(question)] = answer
        self._path.parent.mkdir(parents=True, exist_ok=True)  # missing if the store is a server
        self._path.write_text(json.dumps(self._answers, indent=1), "utf-8")

    def clear(self) -> None:
        """Drop all answers in memory, because the graph changed."""
        self._answers.clear()

    def _key(self, question: str) -> str:
        return sha256(json.dumps([*self._about, question]).encode()).hexdigest()
