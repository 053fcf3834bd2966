"""GraphRAG (2404.16130): reports on communities of entities, and strategies for its local, global and DRIFT search."""

from __future__ import annotations

from memgraph_rag.contracts import System
from memgraph_rag.systems.graphrag.communities import CommunitiesLayer
from memgraph_rag.systems.graphrag.drift_search import GraphragDrift
from memgraph_rag.systems.graphrag.element_summaries import ElementSummariesLayer
from memgraph_rag.systems.graphrag.elements import ElementsLayer
from memgraph_rag.systems.graphrag.global_search import GraphragGlobal
from memgraph_rag.systems.graphrag.local_search import GraphragLocal

__all__ = [
    "SYSTEM",
    "CommunitiesLayer",
    "ElementSummariesLayer",
    "ElementsLayer",
    "GraphragDrift",
    "GraphragGlobal",
    "GraphragLocal",
]

SYSTEM = System(
    name="graphrag",
    strategies={
        "graphrag_local": GraphragLocal,
        "graphrag_global": GraphragGlobal,
        "graphrag_drift": GraphragDrift,
    },
    layers={"elements": ElementsLayer},
    memory_layers={"element_summaries": ElementSummariesLayer, "communities": CommunitiesLayer},
)
