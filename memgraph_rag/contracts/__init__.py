"""The Protocols through which the rooms of the package use one another. They hold no code.

Open ``graph.py`` for what a store must offer, ``models.py`` for models, ``layers.py`` and ``strategies.py`` for
plug-ins. The contracts know neither torch nor a database. Invariant: the middle rooms (text, models, layers, search,
strategies, stores) never import one another; they meet here and in ``types``.
"""

from __future__ import annotations

from memgraph_rag.contracts.graph import GraphStore, GraphView, StoreUpkeep
from memgraph_rag.contracts.graph_reads import GraphReader, MemoryGraph, NodeReader, SearchedGraph
from memgraph_rag.contracts.graph_writes import GraphWriter
from memgraph_rag.contracts.layers import (
    EstimatingLayer,
    Layer,
    LearningLayer,
    MemoryLayer,
    SplitDocument,
    WillingLayer,
)
from memgraph_rag.contracts.models import (
    UNCALIBRATED_YES,
    AttentiveModel,
    Calibration,
    Embedder,
    EntityRecognizer,
    FindPhrases,
    LanguageModel,
    Models,
    Named,
    NounPhrase,
    Progress,
    ReadingSession,
    TokenCounter,
    TurnJudge,
    cosine_scale,
    query_vectors,
)
from memgraph_rag.contracts.search import MODES, Search, SearchContext, SearchMode, SearchSpace
from memgraph_rag.contracts.strategies import Extract, ReadingContext, Strategy
from memgraph_rag.contracts.systems import System

__all__ = [
    "MODES",
    "UNCALIBRATED_YES",
    "AttentiveModel",
    "Calibration",
    "Embedder",
    "EntityRecognizer",
    "EstimatingLayer",
    "Extract",
    "FindPhrases",
    "GraphReader",
    "GraphStore",
    "GraphView",
    "GraphWriter",
    "LanguageModel",
    "Layer",
    "LearningLayer",
    "MemoryGraph",
    "MemoryLayer",
    "Models",
    "Named",
    "NodeReader",
    "NounPhrase",
    "Progress",
    "ReadingContext",
    "ReadingSession",
    "Search",
    "SearchContext",
    "SearchMode",
    "SearchSpace",
    "SearchedGraph",
    "SplitDocument",
    "StoreUpkeep",
    "Strategy",
    "System",
    "TokenCounter",
    "TurnJudge",
    "WillingLayer",
    "cosine_scale",
    "query_vectors",
]
