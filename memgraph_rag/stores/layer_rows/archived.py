"""The form in which rows lie in an archive: places and names instead of ids, and matrices as text.

It knows no kind of rows and no file. Invariant: what is packed and unpacked is the same bit for bit; ids are made again
from places and names, so that a document may go into another namespace.
"""

from __future__ import annotations

import base64
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from memgraph_rag.types import DocumentGraph, Matrix, PointLayer, entity_id, make_id, point_id

__all__ = ["Finite", "Ids", "NodePlace", "Number", "Packed", "Places", "Scalar", "packed", "unpacked"]

Number = Annotated[int, Field(ge=0, lt=2**31)]

Finite = Annotated[float, Field(allow_inf_nan=False)]

Scalar = str | bool | int | Finite
"""A value of metadata or properties."""

NodePlace = tuple[Number, Number]
"""Level and index of a node; a segment's level is 0."""

Packed = tuple[tuple[Number, Number], str]
"""A matrix: its shape, and its numbers as float32 in base64."""


class Places:
    """The places of a document's nodes, and the names of its entities, by their ids."""

    def __init__(self, graph: DocumentGraph) -> None:
        self.segments = {segment.id: segment.index for segment in graph.segments}
        self.nodes = {point.id: [point.level, point.index] for point in graph.points}
        self.nodes |= {node_id: [0, index] for node_id, index in self.segments.items()}
        self.names = {mention.entity_id: mention.normal for mention in graph.mentions}


class Ids:
    """The ids of a document and of its parts in a namespace."""

    def __init__(self, namespace: str, key: str) -> None:
        self.namespace = namespace
        self.document = make_id(namespace, "document", key)

    def node(self, level: int, index: int, *, layer: PointLayer = "points") -> str:
        """The id of the node at that place, of that layer where it is a point."""
        if level:
            return point_id(self.namespace, self.document, level, index, layer=layer)
        return make_id(self.namespace, "segment", self.document, index)

    def entity(self, normal: str) -> str:
        """The id of the entity of that normalised name."""
        return entity_id(self.namespace, normal)


def packed(matrix: Matrix) -> list[Any]:
    """A matrix in the form of ``Packed``."""
    numbers = np.ascontiguousarray(matrix, "<f4")
    return [list(numbers.shape), base64.b64encode(numbers.tobytes()).decode("ascii")]


def unpacked(value: Packed) -> Matrix:
    """The matrix again.

    Raises:
        ValueError: it is not base64, or has another shape.
    """
    shape, text = value
    return np.frombuffer(base64.b64decode(text), "<f4").astype(np.float32).reshape(shape)
