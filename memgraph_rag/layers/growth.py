"""Summaries above summaries: what the layers ``points`` and ``clusters`` share.

It knows no prompt and no weights. Invariant: a document grows level by level until it is finished, or as high as a
layer lets it; one level of all documents is written together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from memgraph_rag.contracts import LanguageModel
from memgraph_rag.types import InformationPoint, LayerRows, Node, PointLayer, Summarizes, Usage, point_id

__all__ = ["Growth", "grow", "make_points"]


@dataclass(slots=True)
class Growth:
    """The summary graph of one document while it grows.

    Attributes:
        nodes: what the next level sums up.
    """

    document_id: str
    nodes: Sequence[Node]
    points: list[InformationPoint] = field(default_factory=list[InformationPoint])
    edges: list[Summarizes] = field(default_factory=list[Summarizes])
    notes: Counter[str] = field(default_factory=Counter[str])
    usage: Usage = field(default_factory=Usage)
    finished: bool = False

    @property
    def rows(self) -> LayerRows:
        """What has grown."""
        return LayerRows(
            points=tuple(self.points), summarizes=tuple(self.edges), notes=dict(self.notes), usage=self.usage
        )


AnyGrowth = TypeVar("AnyGrowth", bound=Growth)


def grow(
    growths: Sequence[AnyGrowth], add_level: Callable[[list[AnyGrowth], int], None], *, most_levels: int
) -> list[LayerRows]:
    """The rows of each document, in order; ``add_level`` adds a level, from 1, to those that are not finished."""
    for level in range(1, most_levels + 1):
        growing = [growth for growth in growths if not growth.finished]
        if not growing:
            break
        add_level(growing, level)
    return [growth.rows for growth in growths]


def make_points(
    texts: Sequence[str], document_id: str, level: int, *, layer: PointLayer, namespace: str, language: LanguageModel
) -> list[InformationPoint]:
    """The information points of one level of a document, in order."""
    counts = language.count_tokens(texts) if texts else []
    return [
        InformationPoint(
            point_id(namespace, document_id, level, index, layer=layer), document_id, level, index, text, tokens, layer
        )
        for index, (text, tokens) in enumerate(zip(texts, counts, strict=True))
    ]
