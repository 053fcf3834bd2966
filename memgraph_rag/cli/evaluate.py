"""The command ``memgraph-rag evaluate``: score strategies and searches on questions with known answers, and their cost.

It opens the memories and writes the files; the package ``evaluation`` asks and scores. Invariant: each outcome is
stored at once, so an interrupted run continues where it stopped.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from memgraph_rag.cli import json_output
from memgraph_rag.cli.options import Json, Place
from memgraph_rag.cli.progress import Bars
from memgraph_rag.cli.sanitize import plain
from memgraph_rag.contracts import MODES, Layer, Strategy
from memgraph_rag.display import show
from memgraph_rag.errors import DocumentError, SettingsError
from memgraph_rag.evaluation.dataset import Folder, closed, read_folder
from memgraph_rag.evaluation.machine import machine_line, model_line, version_line
from memgraph_rag.evaluation.outcomes import Outcomes
from memgraph_rag.evaluation.plots import draw, require_matplotlib
from memgraph_rag.evaluation.report import Scorecard, intervals_line
from memgraph_rag.evaluation.runs import Run
from memgraph_rag.evaluation.scores import require_metrics
from memgraph_rag.ingestion.layer_choice import relations_with_pool
from memgraph_rag.memory import DEFAULT_LAYERS, Memory
from memgraph_rag.search.modes import find_mode
from memgraph_rag.strategies import DEFAULT, ablations_of, find_strategy
from memgraph_rag.strategies.qrmem import Qrmem
from memgraph_rag.types import Limits

__all__ = ["evaluate"]

_POOL_QUESTIONS = 3
"""Questions for each batch; the paper gives no number."""


def evaluate(
    place: Place,
    data: Annotated[list[Path], typer.Option(help="A folder with docs.jsonl and questions.jsonl; repeatable.")],
    strategies: Annotated[list[str] | None, typer.Option(help="Name of a reading strategy; repeatable.")] = None,
    modes: Annotated[
        list[str] | None,
        typer.Option(
            help="Search mode: graph, hybrid, keywords, vector, segments; repeatable. By default the first four."
        ),
    ] = None,
    ablate: Annotated[
        list[str] | None,
        typer.Option(help="Answer with this strategy, and without each of its parts in turn (ablations); repeatable."),
    ] = None,
    changes: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="STRATEGY.ARGUMENT=VALUE",
            help="Answer with another argument of a strategy too: qrmem.rounds=4, top_k.mode=graph; repeatable.",
        ),
    ] = None,
    setting: Annotated[
        str,
        typer.Option(help="Search all documents of the folder (corpus), or each question's own paragraphs (closed)."),
    ] = "corpus",
    limit: Annotated[
        int | None, typer.Option(min=2, help="Maximum number of questions of each folder, evenly spaced.")
    ] = None,
    documents: Annotated[
        int | None, typer.Option(min=1, help="Ask only about this many documents of the folder.")
    ] = None,
    layers: Annotated[
        list[str] | None,
        typer.Option(help="Layer to build from the documents; repeatable. Entities by default."),
    ] = None,
    max_tokens: Annotated[int | None, typer.Option(min=1, help="Stop reading after so many tokens.")] = None,
    max_nodes: Annotated[int | None, typer.Option(min=1, help="Stop reading after so many nodes.")] = None,
    out: Annotated[Path, typer.Option(help="Folder for outcomes, summary, table and plots.")] = Path("evaluation"),
    plots: Annotated[bool, typer.Option(help="Draw quality against tokens and seconds.")] = True,
    as_json: Json = False,
) -> None:
    """Score searches and strategies on folders of questions. A second run does only the missing work.

    With strategies, searches are scored only in the --modes that are named. A question that ended in an error is not
    asked again.
    """
    if setting not in ("corpus", "closed"):
        raise typer.BadParameter(f"Expected corpus or closed, got {show(setting)}.", param_hint="--setting")
    readings = _readings(strategies or (), ablate or (), changes or ())
    _check_modes(modes or ())
    _check_packages(with_answers=bool(readings), with_plots=plots)
    folders = [read_folder(path) for path in data]
    chosen = [folder.about(documents).limited(limit) for folder in folders]
    chosen = [closed(folder) if setting == "closed" else folder.needed() for folder in chosen]
    for folder in chosen if readings else ():
        _require_answers(folder)
    names = layers or DEFAULT_LAYERS
    has_pool = _has_pool(names, readings.values())
    built = _with_pool(names, place) if has_pool else names
    outcomes = Outcomes(out)
    limits = Limits(tokens=max_tokens, nodes=max_nodes)
    scorecards, headers = [], []
    with Bars() as bars:
        for folder in chosen:
            with _open(place, folder, out, built, bars) as memory:
                run = Run(folder, memory, outcomes, limits, bars)
                scorecards.append(_score(run, modes or (), readings))
                headers.append(_header(memory, limits, with_model=bool(readings), has_pool=has_pool))
    _write(scorecards, headers[0], out, with_plots=plots)
    if as_json:
        json_output.write_json([row for scorecard in scorecards for row in scorecard.rows()])
    else:
        typer.echo(plain((out / "summary.md").read_text(encoding="utf-8")))


def _require_answers(folder: Folder) -> None:
    """Check, before anything is built, that a folder has questions to score.

    Raises:
        DocumentError: no question of the folder has answers, options, or is marked as unanswerable.
    """
    if not any(question.can_be_asked for question in folder.questions):
        raise DocumentError(
            f"Expected questions with answers, options or unanswerable in {folder.name}, got {len(folder.questions)} "
            "without. Leave out --strategies to score searches.",
            name=folder.name,
        )


def _check_modes(modes: Sequence[str]) -> None:
    """Refuse unknown names of modes before anything is built."""
    for mode in modes:
        if mode not in MODES:
            find_mode(mode)


def _readings(strategies: Sequence[str], ablate: Sequence[str], changes: Sequence[str]) -> dict[str, Strategy]:
    """Return the strategies that answer, by their labels in the tables.

    Raises:
        StrategyError: no such strategy, ablation or argument.
        SettingsError: a change does not have the form ``STRATEGY.ARGUMENT=VALUE``.
    """
    readings = {name: find_strategy(name) for name in (*strategies, *ablate)}
    for name in ablate:
        for part, arguments in ablations_of(name).items():
            readings[f"{name} {part}"] = find_strategy(name, **arguments)
    for change in changes:
        target, is_change, value = change.partition("=")
        name, is_target, argument = target.partition(".")
        if not (is_change and is_target):
            raise SettingsError(f"Expected --set STRATEGY.ARGUMENT=VALUE, such as qrmem.rounds=4, got {show(change)}.")
        readings[f"{name} {argument}={value}"] = find_strategy(name, **{argument: _value(value)})
    return readings


def _value(text: str) -> Any:
    """Parse the value of an argument as JSON (4, 0.5, true, null). Text that is no JSON is returned unchanged."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _check_packages(*, with_answers: bool, with_plots: bool) -> None:
    """Check, before any question is asked, that the packages for scores and plots are installed."""
    if with_answers:
        require_metrics()
    if with_plots:
        require_matplotlib()


def _has_pool(layers: Sequence[str], readings: Iterable[Strategy]) -> bool:
    """Return whether the relations layer also writes a pool of questions, which ``qrmem`` with updates reads.

    ``qrmem`` without updates reads the graph without that pool. Source: QRMeM, memory construction, step 3.

    Raises:
        SettingsError: ``qrmem`` with and without updates would read the same graph.
    """
    with_pool = {reading.updates > 0 for reading in readings if isinstance(reading, Qrmem)}
    if "relations" not in layers or True not in with_pool:
        return False
    if False in with_pool:
        raise SettingsError(
            "Expected qrmem with updates or without (its ablation without_update) on one graph of relations, got both: "
            "only the first has a pool of questions. Evaluate each with an --out of its own."
        )
    return True


def _with_pool(layers: Sequence[str], place: Place) -> list[str | Layer]:
    """Return the layers, with the relations layer replaced by one that writes a pool of questions."""
    pooling = relations_with_pool(place.settings(), _POOL_QUESTIONS)
    return [pooling if name == "relations" else name for name in layers]


def _open(place: Place, folder: Folder, out: Path, layers: Sequence[str | Layer], bars: Bars) -> Memory:
    """Open the memory of a folder: a namespace with the folder's name, in the store of ``place`` or in ``out``."""
    prefix = f"{place.namespace} " if place.namespace else ""
    store = place.store or str(out / "memories.lbug")
    return replace(place, store=store, namespace=f"{prefix}{folder.name}").open(progress=bars, layers=layers)


def _score(run: Run, modes: Sequence[str], readings: Mapping[str, Strategy]) -> Scorecard:
    """Add the folder's documents, ask its questions, and return the scores."""
    run.add()
    scores = [score for mode in modes or (() if readings else MODES) for score in run.search(mode)]
    scores += [score for label, strategy in readings.items() for score in run.ask(label, strategy)]
    return Scorecard(run.folder, scores, run.outcomes.buildings(run.folder.name), ours=("search graph", DEFAULT))


def _header(memory: Memory, limits: Limits, *, with_model: bool, has_pool: bool) -> str:
    lines = [version_line("torch", "transformers", "ladybug"), machine_line()]
    if with_model:
        given = [f"{value} {name} at most" for name, value in asdict(limits).items() if value]
        bounds = ", ".join(given) or "no limit of tokens or nodes"
        settings = (
            f"window {memory.settings.window}, answers of at most {memory.settings.answer_tokens} tokens, {bounds}"
        )
        if has_pool:
            settings += f", a pool of {_POOL_QUESTIONS} questions a batch for relations"
        lines.append(f"language model {memory.language_model.name}, {settings}")
    return "\n".join([*lines, model_line(memory), intervals_line()])


def _write(scorecards: list[Scorecard], header: str, out: Path, *, with_plots: bool) -> None:
    rows = [row for scorecard in scorecards for row in scorecard.rows()]
    (out / "summary.json").write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    tables = "\n".join(scorecard.markdown() for scorecard in scorecards)
    (out / "summary.md").write_text(f"```\n{header}\n```\n\n{tables}", encoding="utf-8")
    if with_plots:
        draw(rows, out)
