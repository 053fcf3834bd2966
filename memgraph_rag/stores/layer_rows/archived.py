"""The form of rows in an archive: places and names instead of ids, and matrices as text.

The module knows no kind of rows and no file. Invariant: packing and unpacking a matrix keeps every bit. Ids are made
again from places and names, so that a document can be imported into another namespace.
"""

from __future__ import annotations

import base64
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from memgraph_rag.types import DocumentGraph, Matrix, PointLayer, entity_id, make_id, point_id

Number = Annotated[int, Field(ge=0, lt=2**31)]

Finite = Annotated[float, Field(allow_inf_nan=False)]

Scalar = str | bool | int | Finite
"""A value in metadata or properties."""

NodePlace = tuple[Number, Number]
"""Level and index of a node. The level of a segment is 0."""

Packed = tuple[tuple[Number, Number], str]
"""A matrix: its shape, and its numbers as float32 in base64."""


class Places:
    """Converts ids for an archive: to the places of a document's nodes, and to the names of its entities."""

    def __init__(self, graph: DocumentGraph) -> None:
        self.segments = {segment.id: segment.index for segment in graph.segments}
        self.nodes = {point.id: [point.level, point.index] for point in graph.points}
        self.nodes |= {node_id: [0, index] for node_id, index in self.segments.items()}
        self.names = {mention.entity_id: mention.normal for mention in graph.mentions}


class Ids:
    """Makes the ids of a document and of its parts in a namespace."""

    def __init__(self, namespace: str, key: str) -> None:
        self.namespace = namespace
        self.document = make_id(namespace, "document", key)

    def node(self, level: int, index: int, *, layer: PointLayer = "points") -> str:
        """Return the id of the segment (level 0) or point at this level and index; ``layer`` is that of a point."""
        if level:
            return point_id(self.namespace, self.document, level, index, layer=layer)
        return make_id(self.namespace, "segment", self.document, index)

    def entity(self, normal: str) -> str:
        """Return the id of the entity with this normalised name."""
        return entity_id(self.namespace, normal)


def pack(matrix: Matrix) -> list[Any]:
    """Return a matrix in the form for an archive: its shape, and its numbers as float32 in base64."""
    numbers = np.ascontiguousarray(matrix, "<f4")
    return [list(numbers.shape), base64.b64encode(numbers.tobytes()).decode("ascii")]


def unpack(value: Packed) -> Matrix:
    """Return the matrix of which ``value`` is the form in an archive, made by ``pack``.

    Raises:
        ValueError: the text is not base64, or does not match the shape.
    """
    shape, text = value
    return np.frombuffer(base64.b64decode(text), "<f4").astype(np.float32).reshape(shape)
