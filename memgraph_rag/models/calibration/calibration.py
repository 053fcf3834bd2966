"""What was measured of a language model's own signals: as a file, and in use.

It knows neither how it was measured nor where the file lies. Invariants: a file of another version or for other weights
is refused; what is read back equals what was written; a file appears whole or not at all.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, FiniteFloat, ValidationError

from memgraph_rag.display import show
from memgraph_rag.errors import ModelError
from memgraph_rag.types import Vector

__all__ = [
    "DEPTH",
    "VERSION",
    "Head",
    "HeadCalibration",
    "Measurement",
    "Origin",
    "YesCalibration",
    "read_calibration",
    "write_calibration",
]

VERSION = 1

DEPTH = 100.0
"""Tokens behind the question for which a head's level is told."""

UNSUPPORTED = 0.5
"""Of the threshold of Yes: below it, what was read supports no answer. P(Yes) falls with the number of texts read, so
that it lies well below the threshold where the evidence stands among others."""

Share = Annotated[float, Field(ge=0, le=1), AfterValidator(lambda value: float(f"{value:.4g}"))]
Rounded = Annotated[FiniteFloat, AfterValidator(lambda value: float(f"{value:.4g}"))]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Head(_Part):
    """A head whose attention ranks, and how it falls with distance: ``level`` x (tokens behind the question / 100) ^
    ``slope``.
    """  # noqa: D205

    layer: int = Field(ge=0)
    head: int = Field(ge=0)
    level: Annotated[Rounded, Field(gt=0)]
    slope: Rounded


class Measurement(_Part):
    """A mean over questions and its 95 % interval."""

    mean: Rounded
    low: Rounded
    high: Rounded


class Origin(_Part):
    """What a calibration was made from; enough to make it again."""

    data: tuple[str, ...]
    questions: int
    asked: int = Field(description="Questions of which P(Yes) was taken: those whose answering texts are whole.")
    candidates: int
    cut_tokens: int
    seed: int
    date: str


class _Thresholded(_Part):
    """The threshold of Yes of a model, and how well it does."""

    version: Literal[1] = VERSION
    model: str
    fingerprint: str
    yes_threshold: Share
    measured: dict[str, Measurement]
    made: Origin

    @property
    def unsupported_below(self) -> float:
        """P(Yes) below this one: what was read supports no answer; 0 where Yes says nothing for certain.

        Derived from the threshold, not fitted: see ``benchmarks/results/measurements.md`` for how often it is right.
        """
        auc = self.measured.get("yes_auc")
        return UNSUPPORTED * self.yes_threshold if auc is not None and auc.low > 0.5 else 0.0


class YesCalibration(_Thresholded):
    """What is known of a model behind an address, whose attention nobody sees: its threshold of Yes.

    Attributes:
        fingerprint: of the address; see ``catalogue.address_fingerprint``.
        measured: of Yes alone; see ``calibration_fit.YesFit``.
    """

    @property
    def attention_weight(self) -> float:
        """None of its attention is there to be trusted."""
        return 0.0


class HeadCalibration(_Thresholded):
    """Chosen heads of a model with their usual attention by distance, its threshold of Yes, and how well both do.

    Attributes:
        fingerprint: of the weights; see ``catalogue.fingerprint``.
        attention_weight: 2 × (lower bound of the AUC of attention) − 1: 0 where it is not certain that attention ranks
            better than chance, 1 where it always ranks right.
        measured: on questions that had no part in choosing; "plain" is the mean of all heads times position.
    """

    layers: int = Field(gt=0)
    heads_per_layer: int = Field(gt=0)
    attention_weight: Share
    heads: tuple[Head, ...] = Field(min_length=1)

    def relative(self, by_head: NDArray[np.floating[Any]], depths: NDArray[np.floating[Any]]) -> Vector:
        """(n,) mean over the chosen heads of each one's attention divided by what is usual at that depth.

        Args:
            by_head: (n, L, H) attention of each node to the question.
            depths: tokens from the question's end to the middle of each node.

        Raises:
            ModelError: the model has other layers or heads.
        """
        if by_head.shape[1:] != (self.layers, self.heads_per_layer):
            raise ModelError(
                f"Expected attention of {self.layers} x {self.heads_per_layer} heads, for which {self.model} was "
                f"calibrated, got {by_head.shape[1]} x {by_head.shape[2]}. Calibrate this model: 'memgraph-rag "
                "calibrate', or turn it off: MEMGRAPH_RAG_CALIBRATION=none.",
                model=self.model,
            )
        chosen = by_head[:, [head.layer for head in self.heads], [head.head for head in self.heads]]
        levels = np.array([head.level for head in self.heads])
        slopes = np.array([head.slope for head in self.heads])
        usual = levels * (np.maximum(depths, 1)[:, None] / DEPTH) ** slopes
        return (chosen / usual).mean(axis=1).astype(np.float32)


Kind = TypeVar("Kind", HeadCalibration, YesCalibration)


def read_calibration(path: Path, kind: type[Kind], *, fingerprint: str) -> Kind:
    """The calibration of that kind in a file.

    Raises:
        ModelError: it cannot be read, is of another version, or was made for another model.
    """
    advice = "Make it again with 'memgraph-rag calibrate', or delete it."
    try:
        calibration = kind.model_validate_json(path.read_bytes())
    except OSError as error:
        raise ModelError(
            f"Expected a calibration in {show(path)}, got an error: {error}. Name another file.", path=path
        ) from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"])) or "the file"
        raise ModelError(
            f"Expected a calibration of version {VERSION} in {show(path)}, got another ({where}: {first['msg']}). "
            f"{advice}",
            path=path,
        ) from error
    if calibration.fingerprint != fingerprint:
        raise ModelError(
            f"Expected a calibration of the model {fingerprint} in {show(path)}, got one of {calibration.fingerprint} "
            f"({calibration.model}). {advice}",
            path=path, fingerprint=fingerprint,
        )  # fmt: skip
    return calibration


def write_calibration(calibration: HeadCalibration | YesCalibration, path: Path) -> None:
    """Write a calibration where it can be read back.

    Raises:
        ModelError: it cannot be written there.
    """
    scratch = path.with_name(f".{path.name}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        scratch.write_text(calibration.model_dump_json(indent=1) + "\n", "utf-8")
        scratch.replace(path)
    except OSError as error:
        raise ModelError(
            f"Expected a file that can be written, got an error: {error}. Name another than {show(path)}.", path=path
        ) from error
