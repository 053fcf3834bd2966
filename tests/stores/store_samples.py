"""Documents for the stores' tests, with made-up embeddings, and a way past the store.

It knows the records only. The invariant: equal arguments make equal documents.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from neo4j import GraphDatabase, Query

from memgraph_rag.contracts import GraphStore
from memgraph_rag.types import DocumentGraph, DocumentRecord, InformationPoint, Matrix, Segment, Summarizes, make_id

EMBEDDER, DIMENSION = "fake", 8

MakeStore = Callable[..., GraphStore]


def run_cypher(place: dict[str, Any], text: str, /, **parameters: Any) -> list[dict[str, Any]]:
    """Rows of a statement that goes past the store, straight to Neo4j."""
    with GraphDatabase.driver(place["address"], auth=(place["user"], place["password"])) as driver:
        return [dict(record) for record in driver.execute_query(Query(text), parameters, database_="neo4j").records]  # pyright: ignore[reportArgumentType]


def unit(*numbers: float) -> np.ndarray:
    """A vector of length 1 that begins so."""
    vector = np.zeros(DIMENSION, np.float32)
    vector[: len(numbers)] = numbers
    return vector / np.linalg.norm(vector)


def random_units(count: int, *, seed: int = 0, dimension: int = DIMENSION) -> Matrix:
    matrix = np.random.default_rng(seed).normal(size=(count, dimension)).astype(np.float32)
    return matrix / np.linalg.norm(matrix, axis=1, keepdims=True)


def make_graph(
    namespace: str,
    key: str = "alice.txt",
    texts: tuple[str, ...] = ("Alice was tired.", "A rabbit ran by.", "She ran after it."),
    *,
    title: str = "",
    metadata: dict[str, Any] | None = None,
    embeddings: Matrix | None = None,
    levels: tuple[int, ...] = (),
    weights: Callable[[int], float] = lambda place: 1 / (place + 3),
    seed: int = 0,
) -> DocumentGraph:
    """A document of these segments, and of as many points on level 1, 2 … as ``levels`` says."""
    document_id = make_id(namespace, "document", key)
    starts = np.cumsum([0, *map(len, texts)]).tolist()
    segments = tuple(
        Segment(make_id(namespace, "segment", key, index), document_id, index, text, start, start + len(text), 3)
        for index, (text, start) in enumerate(zip(texts, starts, strict=False))
    )
    points: list[InformationPoint] = []
    edges: list[Summarizes] = []
    below: tuple[Segment | InformationPoint, ...] = segments
    for level, count in enumerate(levels, 1):
        row = tuple(
            InformationPoint(
                make_id(namespace, "point", key, level, index), document_id, level, index, f"point {level}.{index}", 4
            )
            for index in range(count)
        )
        edges += [
            Summarizes(row[place % count].id, node.id, weights(len(edges) + place)) for place, node in enumerate(below)
        ]
        points += row
        below = row
    record = DocumentRecord(
        id=document_id,
        key=key,
        title=title,
        source=f"/books/{key}",
        sha256="0" * 64,
        added_at="2026-11-21T10:00:00+00:00",
        characters=starts[-1],
        segments=len(segments),
        layers=("points",) if levels else (),
        model="small" if levels else "",
        metadata=metadata or {},
    )
    if embeddings is None:
        embeddings = random_units(len(segments), seed=seed)
    return DocumentGraph(
        record, segments, embeddings, tuple(points), random_units(len(points), seed=seed + 1), tuple(edges)
    )
