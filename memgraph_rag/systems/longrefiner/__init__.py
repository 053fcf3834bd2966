"""LongRefiner (2505.10413): build an outline of each document, and read sections that the model selects from it."""

from __future__ import annotations

from memgraph_rag.contracts import System
from memgraph_rag.models.reranker import CrossEncoderReranker
from memgraph_rag.systems.longrefiner.outline import OutlineLayer
from memgraph_rag.systems.longrefiner.strategy import LongRefiner

__all__ = ["SYSTEM", "CrossEncoderReranker", "LongRefiner"]

SYSTEM = System(
    name="longrefiner",
    strategies={"longrefiner": LongRefiner},
    layers={"outline": OutlineLayer},
)
