"""RAPTOR (2401.18059): a tree of summaries over soft clusters of segments, and two strategies that read the tree."""

from __future__ import annotations

from memgraph_rag.contracts import System
from memgraph_rag.systems.raptor.clusters import ClustersLayer
from memgraph_rag.systems.raptor.strategies import Raptor, RaptorTraversal

__all__ = ["SYSTEM", "Raptor", "RaptorTraversal"]

SYSTEM = System(
    name="raptor",
    strategies={"raptor": Raptor, "raptor_traversal": RaptorTraversal},
    layers={"clusters": ClustersLayer},
)
