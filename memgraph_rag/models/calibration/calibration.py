"""The calibration of a language model, as a file and in use.

The module does not know how a calibration was made or where its file is. Invariants: a file of another version or for
other weights is refused; a calibration that is written and read again is the same; a file appears completely or not at
all.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, FiniteFloat, ValidationError

from memgraph_rag.display import show
from memgraph_rag.errors import ModelError
from memgraph_rag.types import Vector

if TYPE_CHECKING:
    from torch import Tensor

VERSION = 1

DEPTH = 100.0
"""The distance from the question, in tokens, at which the level of a head is given."""

UNSUPPORTED = 0.5
"""The part of the Yes threshold below which the nodes read support no answer.

P(Yes) falls with the number of texts read. So it is clearly below the threshold if other texts surround the evidence.
"""

Share = Annotated[float, Field(ge=0, le=1), AfterValidator(lambda value: float(f"{value:.4g}"))]
Rounded = Annotated[FiniteFloat, AfterValidator(lambda value: float(f"{value:.4g}"))]


class Part(BaseModel):
    """A part of a calibration, as its file holds it."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Head(Part):
    """A head whose attention ranks nodes, and its usual attention by distance.

    The usual attention is ``level`` x (tokens from the question to the node / 100) ^ ``slope``.
    """

    layer: int = Field(ge=0)
    head: int = Field(ge=0)
    level: Annotated[Rounded, Field(gt=0)]
    slope: Rounded


class Measurement(Part):
    """A mean over questions, and its 95 % interval."""

    mean: Rounded
    low: Rounded
    high: Rounded


class Origin(Part):
    """The data and settings from which a calibration was made."""

    data: tuple[str, ...]
    questions: int
    asked: int = Field(description="Questions whose P(Yes) was measured, because their answering texts are whole.")
    candidates: int
    cut_tokens: int
    seed: int
    date: str


class _Thresholded(Part):
    """The Yes threshold of a model, and its measured quality."""

    version: Literal[1] = VERSION
    model: str
    fingerprint: str
    yes_threshold: Share
    measured: dict[str, Measurement]
    made: Origin

    @property
    def unsupported_below(self) -> float:
        """The P(Yes) below which the nodes read support no answer; 0 if P(Yes) may be no better than chance.

        It is derived from the threshold, not fitted. ``benchmarks/results/measurements.md`` says how often it is right.
        """
        auc = self.measured.get("yes_auc")
        return UNSUPPORTED * self.yes_threshold if auc is not None and auc.low > 0.5 else 0.0


class YesCalibration(_Thresholded):
    """The calibration of a model on a server: its Yes threshold, because its attention cannot be measured.

    Attributes:
        fingerprint: the fingerprint of the address; see ``catalogue.address_fingerprint``.
        measured: the quality of P(Yes); see ``fit.YesFit``.
    """

    @property
    def attention_weight(self) -> float:
        """The weight of attention: always 0, because attention on a server cannot be measured."""
        return 0.0


class HeadCalibration(_Thresholded):
    """The calibration of local weights: the chosen heads, the Yes threshold, and the measured quality of both.

    Attributes:
        fingerprint: the fingerprint of the weights; see ``catalogue.fingerprint``.
        attention_weight: 2 × (lower bound of the AUC of attention) − 1: 1 if attention always ranks right, 0 if it is
            not certain that attention ranks better than chance.
        measured: the quality on questions that were not used to choose heads; "plain" is the mean of all heads times
            position.
    """

    layers: int = Field(gt=0)
    heads_per_layer: int = Field(gt=0)
    attention_weight: Share
    heads: tuple[Head, ...] = Field(min_length=1)

    def relative_attention(self, by_head: NDArray[np.floating[Any]], depths: NDArray[np.floating[Any]]) -> Vector:
        """Return the (n,) attention of nodes, relative to the usual attention at their depth.

        It is the mean over the chosen heads of each head's attention divided by its usual attention.

        Args:
            by_head: (n, L, H) attention of each node to the question.
            depths: (n,) number of tokens from the end of the question to the middle of each node.

        Raises:
            ModelError: the model has another number of layers or heads.
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


class TurnOrigin(Part):
    """The sets of turns on which a ``TurnCalibration`` was fitted, and when."""

    data: tuple[str, ...]
    turns: int
    date: str


class TurnCalibration(Part):
    """The weights by which a model's state at the end of a turn tells whether the turn states what is asked.

    A logistic regression on the state after some layers (``engine.turn_judge``); ``benchmarks/fit_turns.py`` fits it.

    Attributes:
        fingerprint: the fingerprint of the weights; see ``catalogue.fingerprint``.
        layers: after how many layers of the model its state is taken.
        weights: (D,) one weight for each component of a state.
    """

    version: Literal[1] = VERSION
    model: str
    fingerprint: str
    layers: int = Field(gt=0)
    weights: tuple[Rounded, ...]
    bias: Rounded
    made: TurnOrigin

    def probabilities(self, states: Tensor) -> Tensor:
        """Return the (n,) probabilities that turns state what is asked, from the (n, D) states at the turns' ends.

        Raises:
            ModelError: the states have another length.
        """
        if states.shape[-1] != len(self.weights):
            raise ModelError(
                f"Expected states of length {len(self.weights)}, for which {self.model} was calibrated, got "
                f"{states.shape[-1]}. Turn the calibration off: MEMGRAPH_RAG_CALIBRATION=none.",
                model=self.model,
            )
        return (states @ states.new_tensor(self.weights) + self.bias).sigmoid()


Kind = TypeVar("Kind", HeadCalibration, YesCalibration, TurnCalibration)


def read_calibration(path: Path, kind: type[Kind], *, fingerprint: str) -> Kind:
    """Read a calibration from a file and check that it belongs to a model.

    Args:
        kind: the class of the calibration.
        fingerprint: the fingerprint of the model.

    Raises:
        ModelError: the file is missing, cannot be read, has another form or version, or was made for another model.
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


def write_calibration(calibration: BaseModel, path: Path) -> None:
    """Write a calibration into a JSON file, in one step. Its folder is made; an earlier file is replaced.

    Raises:
        ModelError: the file cannot be written.
    """
    scratch = path.with_name(f".{path.name}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        scratch.write_text(calibration.model_dump_json(indent=1) + "\n", "utf-8")
        scratch.replace(path)
    except OSError as error:
        raise ModelError(
            f"Expected a file that can be written, got an error: {error}. Name another file, not {show(path)}.",
            path=path,
        ) from error
