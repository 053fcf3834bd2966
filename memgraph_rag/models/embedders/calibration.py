"""The calibration of an embedder: a map from its cosines to the scale of the library's thresholds ("readings").

A calibration comes from a file of the user's cache, else from a file of this package, else it is measured at the first
use on a small sample that this package holds, and kept in the cache. The module does not know where the embedder runs.
Invariant: a scale is increasing; texts whose unrelated cosines leave no room below 1 get no knots.

The sample holds questions and passages about different things in six kinds of text, and names. A cosine of another
embedder, or between texts of another kind, is read as the cosine of MiniLM between English texts with the same place:
the mean of unrelated texts, the 97 % point of unrelated texts, the mean of questions to their passages.
"""

from __future__ import annotations

import json
import logging
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, FiniteFloat, ValidationError

from memgraph_rag.contracts import Embedder, query_vectors
from memgraph_rag.display import show
from memgraph_rag.errors import ModelError
from memgraph_rag.lexical.language import kind_of_pair
from memgraph_rag.models.calibration.calibration import Part, Rounded, write_calibration
from memgraph_rag.types import QuestionBreadth, RelevanceCurve
from memgraph_rag.types.cosines import ENGLISH, OTHER, RELATED, UNRELATED, UNRELATED_BELOW, CosineScale

log = logging.getLogger(__name__)

RELEVANCE = RelevanceCurve(half=0.626, slope=6.12)
"""On readings of cosines. Fitted by ``benchmarks/fit_relevance.py``; see docs/decisions, part "Search"."""

_REFERENCE = "all-MiniLM-L6-v2"
_FOLDER = Path(__file__).with_name("calibrations")
_FEW = 0.97  # share of the unrelated pairs that stays below the second knot
_NAMES_FEW = 0.99
_SAMPLE_READINGS = (0.037, 0.162, 0.629)  # of the reference on the English part of the sample
_NAME_READINGS = (0.196, 0.507)
_SET_READINGS = (UNRELATED, UNRELATED_BELOW, RELATED)  # of the reference on sets of paragraphs
_LEAST_STEP = 0.005  # between two knots
_MOST_UNRELATED = 0.97  # cosine of unrelated texts above which a scale cannot tell anything

_Knots = tuple[tuple[Rounded, Rounded], ...]


class _Breadth(Part):
    weights: tuple[FiniteFloat, ...]
    bias: FiniteFloat
    least: FiniteFloat


class EmbedderCalibration(Part):
    """The calibration of an embedder, as a file holds it.

    Attributes:
        embedder: the name of the embedder.
        knots: by kind of text, pairs of (cosine, reading); no entry for English: the readings are the cosines.
        names: likewise for names.
        question_breadth: tells questions about a whole, by ``benchmarks/fit_breadth.py``; None if it was not fitted.
        data: the sets on which the calibration was measured.
    """

    version: Literal[1] = 1
    embedder: str
    knots: dict[str, _Knots] = Field(default_factory=dict[str, _Knots])
    names: _Knots = ()
    question_breadth: _Breadth | None = None
    data: tuple[str, ...] = ()

    @property
    def scale(self) -> CosineScale:
        """The scale that turns this embedder's cosines into readings, which the library's thresholds use."""
        return CosineScale(self.knots, self.names)

    @property
    def unrelated_below(self) -> float:
        """The reading below which two texts are about different things."""
        return UNRELATED_BELOW

    @property
    def relevance_curve(self) -> RelevanceCurve:
        """The curve that turns the reading of a question's cosine to a passage into the passage's relevance, 0 to 1."""
        return RELEVANCE

    @property
    def breadth(self) -> QuestionBreadth | None:
        """The classifier of questions about a whole document; None if it was not fitted for this embedder."""
        fitted = self.question_breadth
        return QuestionBreadth(fitted.weights, fitted.bias, fitted.least) if fitted else None


def calibration_file(name: str, cache_dir: Path) -> Path:
    """Return the path of an embedder's calibration in the cache. The file may be missing."""
    plain = re.sub(r"[^\w.+-]+", "-", name)
    return cache_dir / "calibrations" / f"embedder-{plain}.json"


def find_shipped_file(name: str) -> Path:
    """Return the path of an embedder's calibration in this package. The file may be missing."""
    return _FOLDER / f"{name.replace('/', '-')}.json"


def find_calibration(embedder: Embedder, cache_dir: Path | None) -> EmbedderCalibration:
    """Return the calibration of an embedder; measure it on the sample if there is no file, and keep it in the cache.

    Raises:
        ModelError: a file cannot be read. Errors of the embedder pass through.
    """
    kept = calibration_file(embedder.name, cache_dir) if cache_dir else None
    for path in (kept, find_shipped_file(embedder.name)):
        if path is not None and path.is_file():
            return _read(path, embedder.name)
    log.info("%s has no calibration; its cosines are measured on the sample of this package", embedder.name)
    calibration = measure_sample(embedder)
    try:
        if kept is not None:
            write_calibration(calibration, kept)
    except ModelError as error:
        log.warning("the calibration of %s is measured again at the next start: %s", embedder.name, error)
    return calibration


def find_origin(name: str, cache_dir: Path) -> str:
    """Return words that say where the calibration of an embedder comes from. Nothing is measured."""
    kept = calibration_file(name, cache_dir)
    if kept.is_file():
        return str(kept)
    return "the file in this package" if find_shipped_file(name).is_file() else "the packaged sample, at the first use"


def _read(path: Path, name: str) -> EmbedderCalibration:
    try:
        calibration = EmbedderCalibration.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        raise ModelError(
            f"Expected a calibration of {name} in {show(path)}, got {show(error)}. Remove the file, or make it again: "
            "memgraph-rag calibrate --cosines.",
            name=name,
        ) from error
    if calibration.embedder != name:
        raise ModelError(
            f"Expected a calibration of {name} in {show(path)}, got one of {show(calibration.embedder)}. Remove the "
            "file.",
            name=name,
        )
    return calibration


def measure_sample(embedder: Embedder) -> EmbedderCalibration:
    """Measure the calibration of an embedder on the sample of this package: 104 short texts and 30 names."""
    sample: dict[str, Any] = json.loads((_FOLDER / "sample.json").read_text("utf-8"))
    knots, everything = {}, []
    for kind, pairs in sample["pairs"].items():
        asked, passages = zip(*pairs, strict=True)
        cosines = query_vectors(embedder, asked) @ embedder.embed(passages).T
        is_related = np.eye(len(pairs), dtype=bool)
        unrelated, related = cosines[~is_related], cosines[is_related]
        everything.append((unrelated, related))
        knots[kind] = _fit_knots(unrelated, related, _SAMPLE_READINGS)
    others = [np.concatenate(parts) for parts in zip(*everything[1:], strict=True)]
    knots[OTHER] = _fit_knots(others[0], others[1], _SAMPLE_READINGS)
    names = embedder.embed(sample["names"])
    unrelated = (names @ names.T)[np.triu_indices(len(names), 1)]
    of_names = _fit_knots(unrelated, np.empty(0), _NAME_READINGS, below=_NAMES_FEW)
    return EmbedderCalibration(
        embedder=embedder.name,
        knots=_drop_reference(embedder, knots),
        names=() if embedder.name == _REFERENCE else of_names,
        data=("sample",),
    )


def measure(
    embedder: Embedder, sets: Mapping[str, tuple[Mapping[str, str], Sequence[tuple[str, Sequence[str]]]]]
) -> EmbedderCalibration:
    """Measure the calibration of an embedder on labelled questions, and on the sample for kinds of text without them.

    Args:
        sets: by name, the texts by key, and questions, each with the keys of the texts that answer it.
    """
    unrelated: dict[str, list[float]] = defaultdict(list)
    related: dict[str, list[float]] = defaultdict(list)
    for texts, questions in sets.values():
        keys = list(texts)
        cosines = query_vectors(embedder, [text for text, _ in questions]) @ embedder.embed(list(texts.values())).T
        for row, (question, gold) in zip(cosines, questions, strict=True):
            kind = kind_of_pair(question, next(iter(texts.values()), ""))
            is_gold = np.isin(keys, list(gold))
            unrelated[kind] += row[~is_gold].tolist()
            related[kind] += row[is_gold].tolist() if len(gold) == 1 else []
    of_sample = measure_sample(embedder)
    knots: dict[str, _Knots] = dict(of_sample.knots)
    for kind, cosines in unrelated.items():
        knots[kind] = _fit_knots(np.array(cosines), np.array(related[kind]), _SET_READINGS)
    return of_sample.model_copy(update={"knots": _drop_reference(embedder, knots), "data": (*sets, *of_sample.data)})


def _drop_reference(embedder: Embedder, knots: Mapping[str, _Knots]) -> dict[str, _Knots]:
    """Return the knots by kind of text. The reference reads its English cosines as they are."""
    return {kind: some for kind, some in knots.items() if some and (embedder.name, kind) != (_REFERENCE, ENGLISH)}


def _fit_knots(
    unrelated: NDArray[np.float64], related: NDArray[np.float64], readings: tuple[float, ...], *, below: float = _FEW
) -> _Knots:
    """Return the knots of a kind of text; the third one only if questions stand out from unrelated texts.

    ``below`` is the share of the unrelated pairs that stays below the second knot.
    """
    mean, few = float(unrelated.mean()), float(np.quantile(unrelated, below))
    if not (-1 + _LEAST_STEP < mean < few - _LEAST_STEP and few < _MOST_UNRELATED):
        return ()
    knots = [(mean, readings[0]), (few, readings[1])]
    answer = float(related.mean()) if len(related) else few
    if few + _LEAST_STEP < answer < _MOST_UNRELATED:
        knots.append((answer, readings[2]))
    return tuple(knots)
