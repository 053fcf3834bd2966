"""Calibration of a language model from labelled questions.

The module does not know files, and leaves the evaluation of readings to ``fit.py``. Invariant: the same questions and
seed give the same calibration.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TYPE_CHECKING

import numpy as np

from memgraph_rag.contracts import LanguageModel, Progress
from memgraph_rag.errors import ModelError
from memgraph_rag.models.calibration.calibration import HeadCalibration, Origin, YesCalibration
from memgraph_rag.models.calibration.fit import Reading, Verdicts, fit, fit_yes

if TYPE_CHECKING:
    from memgraph_rag.models.calibration.labelled_questions import LabelledQuestion
    from memgraph_rag.models.endpoints.model import EndpointModel
    from memgraph_rag.models.engine.language_model import TransformersModel


@dataclass(frozen=True, slots=True)
class Plan:
    """The settings of a calibration.

    Attributes:
        limit: the largest number of questions from one file.
        heads: the number of heads to choose.
        candidates: the number of texts that are read with each question.
        cut_tokens: the number of tokens after which such a text is cut.
        seed: seed of all random choices.
    """

    limit: int = 60
    heads: int = 32
    candidates: int = 12
    cut_tokens: int = 128
    seed: int = 0


def calibrate(
    model: TransformersModel,
    questions: Sequence[LabelledQuestion],
    plan: Plan,
    *,
    fingerprint: str,
    data: Sequence[str],
    progress: Progress | None = None,
) -> HeadCalibration:
    """Measure which attention heads of a model with local weights rank texts well, and its threshold of P(Yes).

    Args:
        questions: all are used, each with the same number of texts; ``choose_questions`` has applied the plan's limits.
        plan: its heads and seed are used, and its other settings recorded.
        fingerprint: the fingerprint of the weights.
        data: the names of the files with the questions.
        progress: called after each question.

    Raises:
        ModelError: there are too few questions, or too few whose answering texts are whole, or the model has no
            attention to the question.
        WindowExceeded: the texts of a question do not fit the window.
    """
    readings = read_questions(model, questions, seed=plan.seed, progress=progress)
    fitted = fit(readings, heads=plan.heads, seed=plan.seed)
    _, layers, heads_per_layer = readings[0].attention.shape
    return HeadCalibration(
        model=model.name,
        fingerprint=fingerprint,
        layers=layers,
        heads_per_layer=heads_per_layer,
        yes_threshold=fitted.yes_threshold,
        attention_weight=max(0.0, 2 * fitted.measured["attention_auc"].low - 1),
        measured=fitted.measured,
        made=_make_origin(plan, data, [reading.p_yes for reading in readings]),
        heads=fitted.heads,
    )


def calibrate_yes(
    model: EndpointModel,
    questions: Sequence[LabelledQuestion],
    plan: Plan,
    *,
    fingerprint: str,
    data: Sequence[str],
    progress: Progress | None = None,
) -> YesCalibration:
    """Measure the threshold of P(Yes), above which an answer is likely, of a model on a server.

    Each question takes four requests, but a question with a cut answering text takes none. One request before asks
    whether the server sends log-probabilities. The arguments are those of ``calibrate``; the fingerprint is that of the
    address.

    Raises:
        ModelError: there are too few questions whose answering texts are whole, or the server sends no
            log-probabilities.
        ModelUnavailable: the server did not answer.
    """
    if not model.is_graded:
        raise ModelError(
            f"Expected log-probabilities of Yes and No from {model.endpoint.address.url}, got only words, for which "
            'there is no threshold. Use another server, or add a reader: reader="auto".',
            model=model.name,
        )
    rng = np.random.default_rng(plan.seed)
    verdicts: list[Verdicts | None] = []
    for done, place in enumerate(rng.permutation(len(questions)), 1):
        verdicts.append(_ask(model, questions[place], rng))
        if progress is not None:
            progress("reading questions", done, len(questions))
    fitted = fit_yes(verdicts, rng)
    return YesCalibration(
        model=model.name,
        fingerprint=fingerprint,
        yes_threshold=fitted.threshold,
        measured=fitted.measured,
        made=_make_origin(plan, data, verdicts),
    )


def _make_origin(plan: Plan, data: Sequence[str], verdicts: Sequence[Verdicts | None]) -> Origin:
    return Origin(
        data=tuple(data),
        questions=len(verdicts),
        asked=sum(verdict is not None for verdict in verdicts),
        candidates=plan.candidates,
        cut_tokens=plan.cut_tokens,
        seed=plan.seed,
        date=datetime.now(timezone.utc).date().isoformat(),
    )


def make_cutter(model: TransformersModel, most: int) -> Callable[[str], tuple[str, bool]]:
    """Return a function that cuts a text after ``most`` tokens of the model.

    The function returns the text, and whether the text is complete.
    """

    def cut(text: str) -> tuple[str, bool]:
        encoded = model.tokens.encode(text)
        return (text, True) if len(encoded.ids) <= most else (text[: encoded.offsets[most - 1][1]], False)

    return cut


def make_estimating_cutter(model: LanguageModel, most: int) -> Callable[[str], tuple[str, bool]]:
    """Return a function that cuts a text between words, so that the model counts at most ``most`` tokens.

    The function returns at least one word of the text, and whether the text is complete. It needs no local tokenizer.
    """

    def cut(text: str) -> tuple[str, bool]:
        if model.count_tokens([text])[0] <= most:
            return text, True
        ends = [match.end() for match in re.finditer(r"\S+", text)]
        fitting = bisect_right(ends, most, key=lambda end: model.count_tokens([text[:end]])[0])
        return text[: ends[max(fitting, 1) - 1]], False

    return cut


def read_questions(
    model: TransformersModel, questions: Sequence[LabelledQuestion], *, seed: int, progress: Progress | None = None
) -> list[Reading]:
    """Return the attention and P(Yes) that a model has for each question with its texts; the questions in random order.

    Each question is read in one pass with all its texts in random order. If no answering text was cut, P(Yes) after
    three more sets of texts is measured.

    Raises:
        WindowExceeded: the candidates of a question do not fit the window.
    """
    rng = np.random.default_rng(seed)
    readings = []
    for done, place in enumerate(rng.permutation(len(questions)), 1):
        readings.append(_read(model, questions[place], rng))
        if progress is not None:
            progress("reading questions", done, len(questions))
    return readings


def _read(model: TransformersModel, question: LabelledQuestion, rng: np.random.Generator) -> Reading:
    texts = [*question.gold, *question.others]
    order = rng.permutation(len(texts))
    with model.open_session(question.text) as session:
        attention, depths = session.read_by_head([texts[place] for place in order])
        among_all = session.probability_of_yes()
    is_gold = order < len(question.gold)
    verdicts = _measure_verdicts(model, question, among_all, rng) if question.is_whole else None
    return Reading(attention, depths, is_gold, verdicts)


def _ask(model: LanguageModel, question: LabelledQuestion, rng: np.random.Generator) -> Verdicts | None:
    """Return the verdicts of a model without attention; None if an answering text of the question was cut."""
    if not question.is_whole:
        return None
    texts = [*question.gold, *question.others]
    with model.open_session(question.text) as session:
        session.append([texts[place] for place in rng.permutation(len(texts))])
        among_all = session.probability_of_yes()
    return _measure_verdicts(model, question, among_all, rng)


def _measure_verdicts(
    model: LanguageModel, question: LabelledQuestion, among_all: float, rng: np.random.Generator
) -> Verdicts:
    """Return P(Yes) after four sets of texts.

    The sets are: the answering texts, as many other texts, the answering texts except one, and all texts.
    """
    gold = [question.gold[place] for place in rng.permutation(len(question.gold))]
    others = [question.others[place] for place in rng.permutation(len(question.others))[: len(gold)]]
    with model.open_session(question.text) as session:
        session.append(gold[:-1])
        but_one = session.probability_of_yes()
        session.append(gold[-1:])
        alone = session.probability_of_yes()
    with model.open_session(question.text) as session:
        session.append(others)
        instead = session.probability_of_yes()
    return Verdicts(alone, instead, but_one, among_all)
