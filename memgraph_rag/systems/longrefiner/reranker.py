"""The rerankers of ``models.reranker``, under the name by which LongRefiner's users know them."""

from __future__ import annotations

from memgraph_rag.models.reranker import CrossEncoderReranker, Reranker

__all__ = ["CrossEncoderReranker", "Reranker"]
