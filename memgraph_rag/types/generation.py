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


@dataclass(frozen=True, slots=True)
class Usage:
    """The cost of a piece of work: model tokens read and written, model calls, seconds.

    Attributes:
        attended_tokens: the sum of ``count_attended`` over all passes; 0 for a model on a server. It serves to count
            operations. Neither JSON nor the store holds it, so it does not count in comparisons.
    """

    prompt_tokens: int = 0
    generated_tokens: int = 0
    model_calls: int = 0
    seconds: float = 0.0
    attended_tokens: int = field(default=0, compare=False)

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.prompt_tokens + other.prompt_tokens,
            self.generated_tokens + other.generated_tokens,
            self.model_calls + other.model_calls,
            self.seconds + other.seconds,
            self.attended_tokens + other.attended_tokens,
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the tokens, calls and seconds for JSON, with the seconds rounded to three digits."""
        return {**plain_fields(self, without=("attended_tokens",)), "seconds": round(self.seconds, 3)}


def count_attended(tokens: int, *, before: int = 0) -> int:
    """Return the sum, over tokens that follow ``before`` others, of the tokens that each attends to, itself included.

    Several passes over parts of a text give the same sum as one pass over the text.

    >>> count_attended(3), count_attended(1) + count_attended(2, before=1)
    (6, 6)
    """
    return tokens * before + tokens * (tokens + 1) // 2


@dataclass(frozen=True, slots=True)
class Operations:
    """The floating-point operations of a language model.

    Attributes:
        of_token: the products with the weights, for a token that is read or written.
        of_attended: the attention of a token to one token, in all layers: the score and the value.
    """

    of_token: int
    of_attended: int

    def tera_flops(self, usage: Usage) -> float:
        """Return the operations of a piece of work, in 10^12.

        >>> Operations(3_000_000_000, 100_000).tera_flops(Usage(900, 100, attended_tokens=500_000))
        3.05
        """
        tokens = usage.prompt_tokens + usage.generated_tokens
        return (self.of_token * tokens + self.of_attended * usage.attended_tokens) / 1e12


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
        probabilities: (0 to 1) for each turn, that the turn states the answer that holds from that turn on.
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
