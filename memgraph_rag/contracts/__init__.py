"""What the rooms promise one another: Protocols, no code.

They know neither torch nor a database. The invariant: the middle rooms (text, models, layers, search,
strategies, stores) never import one another; they meet here, and in ``types``.
"""

from __future__ import annotations

from memgraph_rag.contracts.document_lists import DocumentLists
from memgraph_rag.contracts.graph import (
    BulkStore,
    FingerprintIndex,
    GraphReader,
    GraphStore,
    GraphView,
    MemoryGraph,
    MendedStore,
    NodeReader,
    PurgedStore,
    ReembeddedStore,
    SearchedGraph,
)
from memgraph_rag.contracts.graph_writes import GraphWriter
from memgraph_rag.contracts.kept_index import IndexKeeper
from memgraph_rag.contracts.layers import Layer, LearningLayer, MemoryLayer, SplitDocument, WillingLayer
from memgraph_rag.contracts.models import (
    UNCALIBRATED_YES,
    AttentiveModel,
    AttentiveSession,
    Calibration,
    Embedder,
    EntityRecognizer,
    LanguageModel,
    Models,
    Named,
    Parser,
    Progress,
    ReadingSession,
    TokenCounter,
    Word,
)
from memgraph_rag.contracts.pools import PooledGraph
from memgraph_rag.contracts.search import MODES, Search, SearchContext, SearchMode, SearchSpace
from memgraph_rag.contracts.strategies import Extract, ReadingContext, Strategy
from memgraph_rag.contracts.systems import System

__all__ = [
    "MODES",
    "UNCALIBRATED_YES",
    "AttentiveModel",
    "AttentiveSession",
    "BulkStore",
    "Calibration",
    "DocumentLists",
    "Embedder",
    "EntityRecognizer",
    "Extract",
    "FingerprintIndex",
    "GraphReader",
    "GraphStore",
    "GraphView",
    "GraphWriter",
    "IndexKeeper",
    "LanguageModel",
    "Layer",
    "LearningLayer",
    "MemoryGraph",
    "MemoryLayer",
    "MendedStore",
    "Models",
    "Named",
    "NodeReader",
    "Parser",
    "PooledGraph",
    "Progress",
    "PurgedStore",
    "ReadingContext",
    "ReadingSession",
    "ReembeddedStore",
    "Search",
    "SearchContext",
    "SearchMode",
    "SearchSpace",
    "SearchedGraph",
    "SplitDocument",
    "Strategy",
    "System",
    "TokenCounter",
    "WillingLayer",
    "Word",
]
