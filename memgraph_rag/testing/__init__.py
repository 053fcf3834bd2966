"""For tests, ours and yours: models that need no weights, documents for a store, and the suite that every store passes.

Importing this needs no pytest; ``memgraph_rag.testing.store_suite`` does.
"""

from __future__ import annotations

from memgraph_rag.testing.fakes import FakeEmbedder, FakeLanguageModel, FakeModels, FakeRecognizer, FakeSession

__all__ = ["FakeEmbedder", "FakeLanguageModel", "FakeModels", "FakeRecognizer", "FakeSession"]
