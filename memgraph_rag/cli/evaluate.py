"""The command ``memgraph-rag evaluate``: score strategies and searches on questions with known answers, and their cost.

It opens the memories and writes the files; the package ``evaluation`` asks and scores. Invariants: each outcome is
stored at once, so an interrupted run continues where it stopped; what cannot be built or asked is refused before
anything is built.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from memgraph_rag.cli import json_output
from memgraph_rag.cli.add import OpenIEFile
from memgraph_rag.cli.options import Json, Place
from memgraph_rag.cli.progress import Bars
from memgraph_rag.cli.sanitize import plain
from memgraph_rag.contracts import MODES, LanguageModel, Layer, MemoryLayer, SearchMode, Strategy
from memgraph_rag.display import show
from memgraph_rag.errors import DocumentError, SettingsError
from memgraph_rag.evaluation.corpus_questions import corpus_questions
from memgraph_rag.evaluation.dataset import Folder, close_folder, read_folder
from memgraph_rag.evaluation.machine import machine_line, model_line, version_line
from memgraph_rag.evaluation.methods import Build, Method, group_builds
from memgraph_rag.evaluation.outcomes import Building, Outcome, Outcomes
from memgraph_rag.evaluation.report import Scorecard, intervals_line
from memgraph_rag.evaluation.runs import Run
from memgraph_rag.evaluation.scores import require_metrics
from memgraph_rag.evaluation.table_report import compare_with_paper
from memgraph_rag.evaluation.tables import find_table, list_known_tables
from memgraph_rag.ingestion.layer_choice import DEFAULT_LAYERS, make_layer
from memgraph_rag.ingestion.memory_layers import (
    choose_memory_layers,
    list_known_memory_layers,
    make_memory_layer,
    split_layers,
)
from memgraph_rag.memory import Memory
from memgraph_rag.models.model_loader import SharedModel
from memgraph_rag.search.modes import find_mode
from memgraph_rag.settings import Settings
from memgraph_rag.strategies import DEFAULT, find_strategy, get_ablations, list_known_strategies, list_required_layers
from memgraph_rag.types import Limits


def evaluate(
    place: Place,
    data: Annotated[
        list[Path],
        typer.Option(help="A folder of questions (docs.jsonl, questions.jsonl, or a paper's own files); repeatable."),
    ],
    table: Annotated[
        str | None,
        typer.Option(help=f"Make a table of a paper, out of {', '.join(list_known_tables())}, or of a file of TOML."),
    ] = None,
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
            metavar="NAME.ARGUMENT=VALUE",
            help="Answer with another argument of a strategy too (top_k.mode=graph), or build a layer with another "
            "argument (points.parents=one); repeatable.",
        ),
    ] = None,
    setting: Annotated[
        str | None,
        typer.Option(
            help="Search all documents of the folder (corpus, the default), or each question's own paragraphs (closed)."
        ),
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=2, help="Maximum number of questions of each folder, evenly spaced.")
    ] = None,
    documents: Annotated[
        int | None, typer.Option(min=1, help="Ask only about this many documents of the folder.")
    ] = None,
    layers: Annotated[
        list[str] | None,
        typer.Option(help="Layer to build from the documents; repeatable. By default those that are read."),
    ] = None,
    builder: Annotated[
        str | None, typer.Option(help="Language model that builds the layers, named as --model is; by default --model.")
    ] = None,
    openie: OpenIEFile = None,
    judge: Annotated[
        str | None,
        typer.Option(help="Language model that compares answers for a table of win rates; by default --model."),
    ] = None,
    max_tokens: Annotated[int | None, typer.Option(min=1, help="Stop reading after this many tokens.")] = None,
    max_nodes: Annotated[int | None, typer.Option(min=1, help="Stop reading after this many nodes.")] = None,
    out: Annotated[Path, typer.Option(help="Folder for outcomes, summary and table.")] = Path("evaluation"),
    as_json: Json = False,
) -> None:
    """Score searches and strategies on folders of questions. A second run does only the missing work.

    With strategies, searches are scored only in the --modes that are named. The layers that a strategy reads are built.
    A question that ended in an error is not asked again.
    """
    if setting not in (None, "corpus", "closed"):
        raise typer.BadParameter(f"Expected corpus or closed, got {show(setting)}.", param_hint="--setting")
    of_paper = None if table is None else find_table(table)
    if of_paper is not None:
        _refuse_beside_table(strategies, modes, ablate, changes, layers, setting)
        methods = [_add_required_layers(method, are_given=False) for method in of_paper.methods()]
        setting = of_paper.setting
    else:
        methods = _methods(strategies or (), modes or (), ablate or (), changes or (), layers)
    asks = any(method.strategy for method in methods)
    if asks:
        require_metrics()
    folders = of_paper.folders(data) if of_paper else [read_folder(path) for path in data]
    judging = None
    if of_paper is not None and of_paper.win_rates is not None:
        judging = SharedModel(replace(place, model=judge or place.model).settings())
        folders = [_prepare_for_judge(folder, judging) for folder in folders]
    chosen = [folder.keep_first_documents(documents).sample_questions(limit) for folder in folders]
    chosen = [close_folder(folder) if setting == "closed" else folder.keep_searched_documents() for folder in chosen]
    for folder in chosen:
        _check(folder, methods, asks=asks and judging is None)
    limits = Limits(tokens=max_tokens, nodes=max_nodes)
    scorecards, headers = [], []
    with Bars() as bars:
        evaluation = _Evaluation(place, builder, openie, out, Outcomes(out), limits, bars)
        for folder in chosen:
            scorecard, header = evaluation.score(folder, methods)
            scorecards.append(scorecard)
            headers.append(header)
    name = "summary" if table is None else Path(table).stem
    shown = (
        compare_with_paper(of_paper, scorecards, judging)
        if of_paper is not None
        else "\n".join(card.markdown() for card in scorecards)
    )
    _write(scorecards, f"```\n{headers[0]}\n```\n\n{shown}", out, name)
    if as_json:
        json_output.write_json([row for scorecard in scorecards for row in scorecard.rows()])
    else:
        typer.echo(plain((out / f"{name}.md").read_text(encoding="utf-8")))


def _refuse_beside_table(*options: Sequence[str] | None) -> None:
    if any(options):
        raise typer.BadParameter(
            "Expected --table alone, got --strategies, --modes, --ablate, --set, --layers or --setting too. "
            "Write them into a table of your own.",
            param_hint="--table",
        )


def _methods(
    strategies: Sequence[str],
    modes: Sequence[str],
    ablate: Sequence[str],
    changes: Sequence[str],
    layers: Sequence[str] | None,
) -> list[Method]:
    """Return the methods that the options name: first searches, then strategies.

    Raises:
        StrategyError: no such strategy or ablation.
        SettingsError: a change does not have the form ``NAME.ARGUMENT=VALUE``, or ``layers`` lacks one that is read.
    """
    named: dict[str, tuple[str, dict[str, Any]]] = {name: (name, {}) for name in (*strategies, *ablate)}
    for name in ablate:
        named |= {f"{name} {part}": (name, {**arguments}) for part, arguments in get_ablations(name).items()}
    of_layers: dict[str, dict[str, Any]] = {name: {} for name in layers or DEFAULT_LAYERS}
    for change in changes:
        name, argument, value = _parse_change(change)
        if name in list_known_strategies():
            named[f"{name} {argument}={value}"] = (name, {argument: _value(value)})
        else:
            of_layers.setdefault(name, {})[argument] = _value(value)
    build = Build(of_layers)
    searches = [Method(f"search {mode}", mode=mode, build=build) for mode in modes or (() if named else MODES)]
    answers = [
        Method(label, strategy=name, arguments=arguments, build=build) for label, (name, arguments) in named.items()
    ]
    return [_add_required_layers(method, are_given=layers is not None) for method in (*searches, *answers)]


def _parse_change(change: str) -> tuple[str, str, str]:
    target, is_change, value = change.partition("=")
    name, is_target, argument = target.partition(".")
    if not (is_change and is_target):
        raise SettingsError(f"Expected --set NAME.ARGUMENT=VALUE, such as qrmem.rounds=4, got {show(change)}.")
    return name, argument, value


def _value(text: str) -> Any:
    """Parse the value of an argument as JSON (4, 0.5, true, null). Text that is no JSON is returned unchanged."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _add_required_layers(method: Method, *, are_given: bool) -> Method:
    """Return the method with the layers that it reads.

    Raises:
        SettingsError: the layers of the build are given, and lack one that the method reads.
    """
    reader = make_reader(method, "")
    missing = [layer for layer in list_required_layers(reader) if layer not in method.build.layers]
    if missing and are_given:
        raise SettingsError(
            f"Expected the layer {missing[0]}, which {method.label} reads, got {', '.join(method.build.layers)}. Add "
            f"--layers {missing[0]}, or leave out --layers.",
            layers=missing[0],
        )
    layers = {**method.build.layers, **{layer: {} for layer in missing}}
    return replace(method, build=replace(method.build, layers=layers))


def make_reader(method: Method, dataset: str) -> Strategy | SearchMode | str:
    """Return a method's strategy or search mode, with its arguments for a data set; the name of a mode in ``MODES``.

    Raises:
        StrategyError: the strategy does not exist.
        SettingsError: the mode does not exist, or an argument is unknown.
    """
    arguments = method.choose_arguments(dataset)
    if method.strategy:
        return find_strategy(method.strategy, **arguments)
    if method.mode in MODES:
        return method.mode
    return find_mode(method.mode, **arguments)


def _prepare_for_judge(folder: Folder, judge: LanguageModel) -> Folder:
    """Return the folder, for a judge: all questions are asked, and the judge writes some if there are none."""
    questions = folder.questions or corpus_questions(judge, folder.documents)
    return replace(folder, questions=[replace(question, is_judged=True) for question in questions])


def _check(folder: Folder, methods: Sequence[Method], *, asks: bool) -> None:
    """Check, before anything is built, that each method can be made, and that a folder has questions to score.

    Raises:
        DocumentError: no question of the folder has answers, options, or is marked as unanswerable.
        StrategyError: a strategy does not exist.
        SettingsError: a mode or a layer does not exist, or an argument is unknown.
    """
    for method in methods:
        make_reader(method, folder.name)
    if asks and not any(question.can_be_asked for question in folder.questions):
        raise DocumentError(
            f"Expected questions with answers, options or unanswerable in {folder.name}, got {len(folder.questions)} "
            "without. Leave out --strategies to score searches.",
            name=folder.name,
        )


@dataclass(frozen=True)
class _Evaluation:
    """What all folders of one call of the command share."""

    place: Place
    builder: str | None
    openie: str | None
    out: Path
    outcomes: Outcomes
    limits: Limits
    bars: Bars

    def score(self, folder: Folder, methods: Sequence[Method]) -> tuple[Scorecard, str]:
        """Add a folder's documents, ask its questions by all methods, and return the scores and a header."""
        found: dict[str, list[Outcome]] = {}
        buildings: list[Building] = []
        headers: list[str] = []
        for key, build in group_builds(methods).items():
            if self.builder is not None:
                with self._open(folder, build, model=self.builder) as (memory, memory_layers):
                    Run(folder, memory, self.outcomes, self.limits, self.bars, memory_layers).add()
            with self._open(folder, build) as (memory, memory_layers):
                run = Run(folder, memory, self.outcomes, self.limits, self.bars, memory_layers)
                run.add()
                for method in (method for method in methods if method.build.key == key):
                    found[method.label] = _list_outcomes(run, method)
                buildings += self.outcomes.buildings(memory.namespace)
                headers.append(_header(memory, self.limits, with_model=any(method.strategy for method in methods)))
        in_order = [outcome for method in methods for outcome in found[method.label]]
        return Scorecard(folder, in_order, buildings, ours=("search graph", DEFAULT)), headers[0]

    @contextmanager
    def _open(
        self, folder: Folder, build: Build, *, model: str | None = None
    ) -> Iterator[tuple[Memory, list[str | MemoryLayer]]]:
        """Open the memory of a folder and a build, in a namespace of its own; the layers of the memory come beside it.

        The store is that of ``place``, or a file in the folder for results.

        Args:
            model: the language model; by default that of ``place``.
        """
        name = " ".join(filter(None, (self.place.namespace, folder.name, build.key)))
        store = self.place.store or str(self.out / "memories.lbug")
        settings = self.place.settings().model_copy(update=dict(build.settings))
        of_file = {"triples": {"path": self.openie}} if self.openie and "triples" in build.layers else {}
        layers = [_layer(name, settings, arguments) for name, arguments in {**build.layers, **of_file}.items()]
        of_documents, of_memory = split_layers(layers)
        required = [name for layer in choose_memory_layers(of_memory) for name in layer.requires]
        place = replace(self.place, store=store, namespace=name, model=model or self.place.model)
        layers = tuple(dict.fromkeys((*of_documents, *required)))
        with place.open(progress=self.bars, layers=layers, **build.settings) as memory:
            yield memory, of_memory


def _layer(name: str, settings: Settings, arguments: Mapping[str, Any]) -> str | Layer | MemoryLayer:
    """Return a layer built with arguments; its name if there are none."""
    if not arguments:
        return name
    is_of_memory = name in list_known_memory_layers()
    return make_memory_layer(name, arguments) if is_of_memory else make_layer(name, settings, arguments)


def _list_outcomes(run: Run, method: Method) -> list[Outcome]:
    reader = make_reader(method, run.folder.name)
    return run.ask(method, reader) if method.strategy else run.search(method, reader)  # pyright: ignore[reportArgumentType]


def _header(memory: Memory, limits: Limits, *, with_model: bool) -> str:
    lines = [version_line("torch", "transformers", "ladybug"), machine_line()]
    if with_model:
        given = [f"{value} {name} at most" for name, value in asdict(limits).items() if value]
        bounds = ", ".join(given) or "no limit of tokens or nodes"
        window = memory.settings.window
        lines.append(f"language model {memory.language_model.name}, window {window}, {bounds}")
    return "\n".join([*lines, model_line(memory), intervals_line()])


def _write(scorecards: list[Scorecard], shown: str, out: Path, name: str) -> None:
    """Write the figures to ``NAME.json`` and the Markdown to ``NAME.md``."""
    rows = [row for scorecard in scorecards for row in scorecard.rows()]
    (out / f"{name}.json").write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    (out / f"{name}.md").write_text(shown, encoding="utf-8")
