"""The command ``memgraph-rag calibrate``: measure a language model's attention and its Yes with labelled questions.

It opens the models and writes the calibration file; ``models.calibration`` measures. Invariant: the file is written
only after all questions were read.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from memgraph_rag.cli import json_output, sanitize
from memgraph_rag.cli.options import Json, Place
from memgraph_rag.cli.progress import Bars
from memgraph_rag.display import show
from memgraph_rag.errors import DocumentError
from memgraph_rag.evaluation.dataset import read_folder
from memgraph_rag.models.calibration import calibrate as measuring
from memgraph_rag.models.calibration.calibration import HeadCalibration, YesCalibration, write_calibration
from memgraph_rag.models.calibration.labelled_questions import Cut, LabelledQuestion, LabelledSet, choose_questions
from memgraph_rag.models.embedders import calibration as embedder_calibration
from memgraph_rag.models.endpoints.address import is_address
from memgraph_rag.models.files import catalogue
from memgraph_rag.models.model_loader import open_embedder, open_endpoint_model
from memgraph_rag.models.wrappers.checked_models import CheckedEmbedder
from memgraph_rag.settings import Settings


def calibrate(
    place: Place,
    questions: Annotated[
        list[Path],
        typer.Option(
            help="Labelled questions: a .jsonl file, or a folder with questions.jsonl and docs.jsonl; repeatable."
        ),
    ],
    documents: Annotated[
        Path | None, typer.Option(help="Documents of the questions; docs.jsonl in the same folder by default.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="File to write; the file that this model reads by default.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="Maximum number of questions of each file.")] = 60,
    heads: Annotated[int, typer.Option(min=1, help="Number of attention heads to choose.")] = 32,
    candidates: Annotated[int, typer.Option(min=6, help="Number of texts to read for each question.")] = 12,
    cut: Annotated[int, typer.Option(min=16, help="Maximum number of tokens of each text.")] = 128,
    seed: Annotated[int, typer.Option(help="Seed of the random choices.")] = 0,
    cosines: Annotated[
        bool, typer.Option("--cosines", help="Measure the cosines of the embedder, not the language model.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Measure which attention heads rank passages, and when the model's Yes is reliable. Later questions use it.

    Only questions whose evidence is whole documents are read. A model on a server is measured by its Yes only.
    """
    if documents is not None and len(questions) > 1:
        raise typer.BadParameter("give one file of questions with it", param_hint="--documents")
    settings = place.settings()
    if cosines:
        _calibrate_cosines(settings, [_read_labelled(path, documents) for path in questions], out, as_json=as_json)
        return
    plan = measuring.Plan(limit=limit, heads=heads, candidates=candidates, cut_tokens=cut, seed=seed)
    sets = [_read_labelled(path, documents) for path in questions]
    with Bars() as bars:
        measure = _calibrate_address if is_address(settings.model) else _calibrate_weights
        calibration, usual = measure(settings, sets, plan, bars)
    path = out or usual
    write_calibration(calibration, path)
    _show(calibration, path, as_json=as_json)


def _calibrate_cosines(settings: Settings, sets: Sequence[LabelledSet], out: Path | None, *, as_json: bool) -> None:
    """Measure how the embedder's cosines read, and write its calibration. Another file than the default is not read."""
    embedder = CheckedEmbedder(open_embedder(settings.embedder, settings))
    calibration = embedder_calibration.measure(
        embedder, {labelled.name: (labelled.documents, labelled.questions) for labelled in sets}
    )
    path = out or embedder_calibration.calibration_file(embedder.name, settings.cache_dir)
    write_calibration(calibration, path)
    if as_json:
        json_output.write_json({"file": str(path), **calibration.model_dump(mode="json")})
        return
    lines = [
        f"{kind:<12} unrelated {knots[0][0]:.2f} in the mean, {knots[1][0]:.2f} at 97 %"
        for kind, knots in calibration.knots.items()
    ]
    text = "\n".join([f"{embedder.name}, by {', '.join(calibration.data)}", *lines, f"Written to {path}"])
    typer.echo(sanitize.plain(text))


def _calibrate_weights(
    settings: Settings, sets: Sequence[LabelledSet], plan: measuring.Plan, bars: Bars
) -> tuple[HeadCalibration, Path]:
    """Measure a model with local weights. Return its calibration and the default path of the file."""
    from memgraph_rag.models.engine.language_model import TransformersModel

    name, folder = catalogue.find_language_model(settings.model, cache_dir=settings.cache_dir, progress=bars)
    model = TransformersModel(
        folder, name=name, window=settings.window, device=settings.device, dtype=settings.dtype
    )  # fmt: skip
    known = catalogue.fingerprint(name, folder)
    chosen = _choose(sets, plan, measuring.make_cutter(model, plan.cut_tokens), settings, bars)
    data = [labelled.name for labelled in sets]
    calibration = measuring.calibrate(model, chosen, plan, fingerprint=known, data=data, progress=bars)
    return calibration, catalogue.calibration_path(name, folder, cache_dir=settings.cache_dir)


def _calibrate_address(
    settings: Settings, sets: Sequence[LabelledSet], plan: measuring.Plan, bars: Bars
) -> tuple[YesCalibration, Path]:
    """Measure the Yes of a model on a server. Return its calibration and the default path of the file."""
    model = open_endpoint_model(settings.model_copy(update={"calibration": "none"}))
    address = model.endpoint.address
    chosen = _choose(sets, plan, measuring.make_estimating_cutter(model, plan.cut_tokens), settings, bars)
    known, data = catalogue.address_fingerprint(address), [labelled.name for labelled in sets]
    calibration = measuring.calibrate_yes(model, chosen, plan, fingerprint=known, data=data, progress=bars)
    return calibration, catalogue.yes_calibration_path(address, cache_dir=settings.cache_dir)


def _choose(
    sets: Sequence[LabelledSet], plan: measuring.Plan, cut: Cut, settings: Settings, bars: Bars
) -> list[LabelledQuestion]:
    embedder = open_embedder(settings.embedder, settings)
    return [
        question for labelled in sets for question in choose_questions(labelled, plan, cut, embedder, progress=bars)
    ]


def _read_labelled(path: Path, documents: Path | None) -> LabelledSet:
    """Read the questions of a file or folder whose evidence is whole documents.

    Raises:
        DocumentError: no question names the documents that answer it.
    """
    folder = read_folder(path, documents=documents)
    asked = [(item.text, tuple(sorted(item.units))) for item in folder.questions if item.units]
    if folder.kind != "document" or not asked:
        raise DocumentError(
            f"Expected questions in {show(path)} that name the documents which answer them, in evidence_doc_ids, got "
            f"{len(folder.questions)} without. Name another folder.",
            path=path,
        )
    texts = {item.key: f"{item.title}: {item.text}" if item.title else item.text for item in folder.documents}
    return LabelledSet(folder.name, texts, asked)


def _show(calibration: HeadCalibration | YesCalibration, path: Path, *, as_json: bool) -> None:
    if as_json:
        json_output.write_json({"file": str(path), **calibration.model_dump(mode="json", exclude={"heads"})})
        return
    figures = {
        name: f"{figure.mean:.2f} [{figure.low:.2f}, {figure.high:.2f}]"
        for name, figure in calibration.measured.items()
    }
    made = calibration.made
    of_attention = (
        [
            f"Attention of {len(calibration.heads)} heads: AUC {figures['attention_auc']}, recall@5 of "
            f"{made.candidates} {figures['attention_recall']}; weight {calibration.attention_weight:.2f}",
            f"Mean of all heads times position: AUC {figures['plain_auc']}, recall@5 {figures['plain_recall']}",
        ]
        if isinstance(calibration, HeadCalibration)
        else []
    )
    lines = [
        f"{calibration.model}, {made.questions} questions of {', '.join(made.data)}",
        *of_attention,
        f"Yes, {made.asked} questions: AUC {figures['yes_auc']}; threshold {calibration.yes_threshold:.2f}, "
        f"right {figures['yes_accuracy']}",
        f"Written to {path}",
    ]
    typer.echo(sanitize.plain("\n".join(lines)))
