"""Tools for tests, ours and yours: models without weights, sample documents, and the suite that every store must pass.

Importing this needs no pytest, but ``memgraph_rag.testing.store_suite`` does.
"""

from __future__ import annotations

from memgraph_rag.testing.fakes import FakeEmbedder, FakeLanguageModel, FakeModels, FakeRecognizer, FakeSession

__all__ = ["FakeEmbedder", "FakeLanguageModel", "FakeModels", "FakeRecognizer", "FakeSession"]
