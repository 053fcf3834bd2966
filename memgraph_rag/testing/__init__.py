"""Tools for tests, ours and yours: models without weights, sample documents, and the suite that every store must pass.

Open ``fakes.py`` first: the models. ``sample_graphs`` has the documents, ``store_suite`` the suite. This room never
opens a store. Importing this needs no pytest, but ``memgraph_rag.testing.store_suite`` does.
"""

from __future__ import annotations

from memgraph_rag.testing.fakes import FakeEmbedder, FakeLanguageModel, FakeModels, FakeRecognizer, FakeSession

__all__ = ["FakeEmbedder", "FakeLanguageModel", "FakeModels", "FakeRecognizer", "FakeSession"]
