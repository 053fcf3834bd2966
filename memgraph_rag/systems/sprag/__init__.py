"""spRAG (now dsRAG): context headers for segments, and search for runs of neighbouring segments. There is no paper."""

from __future__ import annotations

from memgraph_rag.contracts import System
from memgraph_rag.systems.sprag.context import ContextLayer
from memgraph_rag.systems.sprag.mode import Runs
from memgraph_rag.systems.sprag.parameters import RUN_PRESETS, RunParameters
from memgraph_rag.systems.sprag.strategy import Sprag

__all__ = ["RUN_PRESETS", "SYSTEM", "RunParameters", "Runs", "Sprag"]

SYSTEM = System(
    name="sprag",
    strategies={"sprag": Sprag},
    layers={"context": ContextLayer},
    modes={"segments": Runs},
)
