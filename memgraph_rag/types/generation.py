"""What a language model is given and what it wrote, and the rows that a layer makes of that."""

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

__all__ = ["Generation", "LayerRows", "OverviewRows", "Prompt", "Usage"]


@dataclass(frozen=True, slots=True)
class Usage:
    """What a piece of work cost: model tokens read and written, model calls, seconds."""

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
        """Return all fields, the seconds with three digits, for JSON."""
        return {**plain_fields(self), "seconds": round(self.seconds, 3)}


@dataclass(frozen=True, slots=True)
class Prompt:
    """An instruction and the inputs that it speaks of; attention is reported per input.

    ``task`` is said behind the inputs: prompts that differ in it alone begin with the same tokens.
    """

    instruction: str
    inputs: tuple[str, ...]
    task: str = ""


@dataclass(frozen=True, slots=True)
class Generation:
    """What the model wrote to one prompt, and what was looked at while it was written.

    Attributes:
        text: the decoded output.
        offsets: (T, 2) int, the characters of ``text`` that each written token covers, half open; of none where the
            tokens are not known.
        attention: (T, S) float32; row t is the attention of written token t (as the query), averaged over all
            layers, heads and the tokens of each of the S inputs. PECAN, section 3.1. None where nobody looked.
        finish: why it ended.
        was_kept: whether an earlier call had paid for it, and it was only read back.
    """

    text: str
    offsets: NDArray[np.int64]
    attention: Matrix | None
    finish: Literal["end", "stopped", "length"]
    usage: Usage
    was_kept: bool = False


@dataclass(frozen=True, slots=True)
class LayerRows:
    """What a layer adds to a document's graph, what went wrong on the way (counted), and what it cost."""

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
        """The rows of both."""
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
    """What a layer of the memory gives at one time: overviews that come and go together, in one transaction.

    Attributes:
        summarizes: edges from the overviews to the segments, points or overviews below them.
        removed: ids of overviews of the layer that go, as far as they are there.
        notes: what went wrong on the way, counted.
    """

    overviews: tuple[Overview, ...] = ()
    summarizes: tuple[Summarizes, ...] = ()
    removed: tuple[str, ...] = ()
    notes: Mapping[str, int] = field(default_factory=dict[str, int])
    usage: Usage = field(default_factory=Usage)
