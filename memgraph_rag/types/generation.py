"""The prompts and outputs of a language model, and the rows that layers return."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from memgraph_rag.types.arrays import Matrix
from memgraph_rag.types.graph import Annotation, InformationPoint, Mention, Relation, Summarizes, Title
from memgraph_rag.types.overviews import Overview
from memgraph_rag.types.plain import plain_fields
from memgraph_rag.types.sections import Section

__all__ = ["Generation", "LayerRows", "OverviewRows", "Prompt", "TurnVerdicts", "Usage"]


@dataclass(frozen=True, slots=True)
class Usage:
    """The cost of a piece of work: model tokens read and written, model calls, seconds."""

    prompt_tokens: int = 0
    generated_tokens: int = 0
    model_calls: int = 0
    seconds: float = 0.0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.prompt_tokens + other.prompt_tokens,
            self.generated_tokens + other.generated_tokens,
            self.model_calls + other.model_calls,
            self.seconds + other.seconds,
        )

    def as_dict(self) -> dict[str, Any]:
        """Return all fields for JSON, with the seconds rounded to three digits."""
        return {**plain_fields(self), "seconds": round(self.seconds, 3)}


@dataclass(frozen=True, slots=True)
class Prompt:
    """An instruction, and the input texts that it is about. The model reports attention for each input.

    ``task`` follows the inputs, so that prompts that differ only in ``task`` begin with the same tokens.
    """

    instruction: str
    inputs: tuple[str, ...]
    task: str = ""


@dataclass(frozen=True, slots=True)
class TurnVerdicts:
    """A model's verdicts on turns of a person, and their cost.

    Attributes:
        probabilities: for each turn, 0 to 1, how likely the turn states what the question asks, as it is from then on.
        is_calibrated: whether small probabilities of all turns mean that nothing was told.
    """

    probabilities: tuple[float, ...]
    is_calibrated: bool
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True)
class Generation:
    """The output of the model for one prompt, with its attention to the inputs.

    Attributes:
        text: the decoded output.
        offsets: (T, 2) int, the characters of ``text`` that each written token covers, half open; (0, 2) if the tokens
            are unknown.
        attention: (T, S) float32; row t is the attention of written token t (as the query), averaged over all layers,
            heads and the tokens of each of the S inputs. PECAN, section 3.1. None if no attention was computed.
        finish: why the output ended.
        was_kept: whether the output was read back from an earlier call, which paid for it.
    """

    text: str
    offsets: NDArray[np.int64]
    attention: Matrix | None
    finish: Literal["end", "stopped", "length"]
    usage: Usage
    was_kept: bool = False


@dataclass(frozen=True, slots=True)
class LayerRows:
    """The rows that a layer adds to a document's graph, the problems by kind (``notes``), and the cost."""

    points: tuple[InformationPoint, ...] = ()
    summarizes: tuple[Summarizes, ...] = ()
    mentions: tuple[Mention, ...] = ()
    titles: tuple[Title, ...] = ()
    relations: tuple[Relation, ...] = ()
    annotations: tuple[Annotation, ...] = ()
    sections: tuple[Section, ...] = ()
    notes: Mapping[str, int] = field(default_factory=dict[str, int])
    usage: Usage = field(default_factory=Usage)

    def __add__(self, other: LayerRows) -> LayerRows:
        """Return the rows of both."""
        return LayerRows(
            (*self.points, *other.points),
            (*self.summarizes, *other.summarizes),
            (*self.mentions, *other.mentions),
            (*self.titles, *other.titles),
            (*self.relations, *other.relations),
            (*self.annotations, *other.annotations),
            (*self.sections, *other.sections),
            Counter(self.notes) + Counter(other.notes),
            self.usage + other.usage,
        )


@dataclass(frozen=True, slots=True)
class OverviewRows:
    """The overviews that a layer of the memory adds and removes in one transaction.

    Attributes:
        summarizes: edges from the overviews to the segments, points or overviews below them.
        removed: ids of overviews of the layer that are deleted; unknown ids are ignored.
        notes: the number of problems, by kind.
    """

    overviews: tuple[Overview, ...] = ()
    summarizes: tuple[Summarizes, ...] = ()
    removed: tuple[str, ...] = ()
    notes: Mapping[str, int] = field(default_factory=dict[str, int])
    usage: Usage = field(default_factory=Usage)
