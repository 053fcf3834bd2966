"""HippoRAG (2405.14831) and HippoRAG 2 (2502.14802): PageRank from the names, or facts, that a question is about."""

from __future__ import annotations

from memgraph_rag.contracts import System
from memgraph_rag.systems.hipporag.modes import FactWalk, NameWalk
from memgraph_rag.systems.hipporag.strategies import HippoRag, HippoRag2
from memgraph_rag.systems.hipporag.triples import TriplesLayer

__all__ = ["SYSTEM", "FactWalk", "HippoRag", "HippoRag2", "NameWalk", "TriplesLayer"]

SYSTEM = System(
    name="hipporag",
    strategies={"hipporag": HippoRag, "hipporag2": HippoRag2},
    layers={"triples": TriplesLayer},
    modes={"hipporag": NameWalk, "hipporag2": FactWalk},
)
