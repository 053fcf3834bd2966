"""``memgraph-rag calibrate``: what a language model's attention and its Yes are worth, from labelled questions.

It finds the models and writes the file; how to measure is known in ``models``. Invariant: nothing is written before all
questions were read.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from memgraph_rag.cli import json_output
from memgraph_rag.cli.options import Json, Place

if TYPE_CHECKING:
    from memgraph_rag import Settings
    from memgraph_rag.cli.progress import Bars
    from memgraph_rag.models.calibrate import Plan
    from memgraph_rag.models.calibration import HeadCalibration
    from memgraph_rag.models.labelled_questions import LabelledSet
    from memgraph_rag.models.language_model import TransformersModel

__all__ = ["calibrate"]


def calibrate(
    place: Place,
    questions: Annotated[
        list[Path],
        typer.Option(
            help="Labelled questions: a .jsonl file, or a folder with questions.jsonl and docs.jsonl. Repeat."
        ),
    ],
    documents: Annotated[
        Path | None, typer.Option(help="Their documents; by default docs.jsonl beside the questions.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="By default where this model's calibration is looked for.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="Most questions of each file.")] = 60,
    heads: Annotated[int, typer.Option(min=1, help="How many heads to choose.")] = 32,
    candidates: Annotated[int, typer.Option(min=6, help="How many texts are read for each question.")] = 12,
    cut: Annotated[int, typer.Option(min=16, help="Most tokens of each of them.")] = 128,
    seed: Annotated[int, typer.Option(help="Of all that is drawn at random.")] = 0,
    as_json: Json = False,
) -> None:
    """Measure which heads of the language model rank, and when its Yes may be trusted; later questions use it."""
    from memgraph_rag.cli.progress import Bars
    from memgraph_rag.models.calibrate import Plan
    from memgraph_rag.models.calibration import write_calibration
    from memgraph_rag.models.catalogue import calibration_path, find_language_model, fingerprint
    from memgraph_rag.models.language_model import TransformersModel

    if documents is not None and len(questions) > 1:
        raise typer.BadParameter("give one file of questions with it", param_hint="--documents")
    settings = place.settings()
    plan = Plan(limit=limit, heads=heads, candidates=candidates, cut_tokens=cut, seed=seed)
    with Bars() as bars:
        name, folder = find_language_model(settings.model, cache_dir=settings.cache_dir, progress=bars)
        model = TransformersModel(
            folder, name=name, window=settings.window, device=settings.device, dtype=settings.dtype
        )  # fmt: skip
        calibration = _measured(model, fingerprint(name, folder), questions, documents, plan, settings, bars)
    path = out or calibration_path(name, folder, cache_dir=settings.cache_dir)
    write_calibration(calibration, path)
    _show(calibration, path, as_json=as_json)


def _measured(
    model: TransformersModel,
    known: str,
    questions: list[Path],
    documents: Path | None,
    plan: Plan,
    settings: Settings,
    bars: Bars,
) -> HeadCalibration:
    from memgraph_rag.models.calibrate import calibrate, cutter
    from memgraph_rag.models.catalogue import find_embedder
    from memgraph_rag.models.embedder import SentenceEmbedder
    from memgraph_rag.models.labelled_questions import choose_questions

    sets = [_labelled(path, documents) for path in questions]
    name, folder = find_embedder(settings.embedder)
    embedder = SentenceEmbedder(folder, name=name, device=settings.device, dtype=settings.dtype)
    cut = cutter(model, plan.cut_tokens)
    chosen = [
        question for labelled in sets for question in choose_questions(labelled, plan, cut, embedder, progress=bars)
    ]
    return calibrate(model, chosen, plan, fingerprint=known, data=[labelled.name for labelled in sets], progress=bars)


def _labelled(path: Path, documents: Path | None) -> LabelledSet:
    """The questions of a file or folder whose evidence is whole documents."""
    from memgraph_rag.errors import DocumentError
    from memgraph_rag.evaluation.dataset import read_folder
    from memgraph_rag.models.labelled_questions import LabelledSet

    folder = read_folder(path, documents=documents)
    asked = [(item.text, tuple(sorted(item.units))) for item in folder.questions if item.units]
    if folder.kind != "document" or not asked:
        raise DocumentError(
            f"Expected questions in {path} that name the documents which answer them, in evidence_doc_ids, got "
            f"{len(folder.questions)} without.",
            path=path,
        )
    texts = {item.key: f"{item.title}: {item.text}" if item.title else item.text for item in folder.documents}
    return LabelledSet(folder.name, texts, asked)


def _show(calibration: HeadCalibration, path: Path, *, as_json: bool) -> None:
    from memgraph_rag.cli import render

    if as_json:
        json_output.write_json({"file": str(path), **calibration.model_dump(mode="json", exclude={"heads"})})
        return
    figures = {
        name: f"{figure.mean:.2f} [{figure.low:.2f}, {figure.high:.2f}]"
        for name, figure in calibration.measured.items()
    }
    made = calibration.made
    lines = [
        f"{calibration.model}, {made.questions} questions of {', '.join(made.data)}",
        f"Attention of {len(calibration.heads)} heads: AUC {figures['attention_auc']}, recall@5 of {made.candidates} "
        f"{figures['attention_recall']}; weight {calibration.attention_weight:.2f}",
        f"Mean of all heads times position: AUC {figures['plain_auc']}, recall@5 {figures['plain_recall']}",
        f"Yes, {made.asked} questions: AUC {figures['yes_auc']}; threshold {calibration.yes_threshold:.2f}, "
        f"right {figures['yes_accuracy']}",
        f"Written to {path}",
    ]
    render.to_stdout().print(render.plain("\n".join(lines)), markup=False, soft_wrap=True)
