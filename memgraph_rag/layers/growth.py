"""Build summaries of summaries, level by level. The layers ``points`` and ``clusters`` share this module.

The module knows no prompt and no weights. Invariant: each document gets levels until it is finished or has
``most_levels``; one level of all documents is generated together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from memgraph_rag.contracts import LanguageModel
from memgraph_rag.types import InformationPoint, LayerRows, Node, PointLayer, Summarizes, Usage, point_id


@dataclass(slots=True)
class Growth:
    """The unfinished summary graph of one document.

    Attributes:
        nodes: the nodes that the next level sums up.
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
        """The points and edges so far, in the order of adding, with notes and usage."""
        return LayerRows(
            points=tuple(self.points), summarizes=tuple(self.edges), notes=dict(self.notes), usage=self.usage
        )


AnyGrowth = TypeVar("AnyGrowth", bound=Growth)


def grow(
    growths: Sequence[AnyGrowth], add_level: Callable[[list[AnyGrowth], int], None], *, most_levels: int
) -> list[LayerRows]:
    """Return the rows of each document, in order.

    ``add_level(growths, level)`` adds a level, counted from 1, to the documents that are not finished, and marks those
    that are finished then. After ``most_levels`` a document keeps the levels that it has.
    """
    for level in range(1, most_levels + 1):
        growing = [growth for growth in growths if not growth.finished]
        if not growing:
            break
        add_level(growing, level)
    return [growth.rows for growth in growths]


def make_points(
    texts: Sequence[str], document_id: str, level: int, *, layer: PointLayer, namespace: str, language: LanguageModel
) -> list[InformationPoint]:
    """Return the information points of one level of a document, one a text, in order."""
    counts = language.count_tokens(texts) if texts else []
    return [
        InformationPoint(
            point_id(namespace, document_id, level, index, layer=layer), document_id, level, index, text, tokens, layer
        )
        for index, (text, tokens) in enumerate(zip(texts, counts, strict=True))
    ]


def join_top_points(nodes: Iterable[Node]) -> str:
    """Return the texts of the highest level of information points, in the given order; empty without points.

    Other nodes, and summaries of the layer ``clusters``, are left out.
    """
    points = [node for node in nodes if isinstance(node, InformationPoint) and node.layer == "points"]
    highest = max((point.level for point in points), default=0)
    return " ".join(point.text for point in points if point.level == highest)
