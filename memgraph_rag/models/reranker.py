"""Rerankers: scores of passages for a question, by a cross-encoder of sentence-transformers.

It does not know the graph. Invariants: weights are loaded at the first use; the score of a text does not depend on the
other texts of the call, up to rounding.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np

from memgraph_rag.errors import ModelNotFound
from memgraph_rag.models.files.model_files import model_files
from memgraph_rag.types import Vector

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder


class Reranker(Protocol):
    """A scorer that reads a question and a passage together."""

    def score(self, question: str, texts: Sequence[str]) -> Vector:
        """Return (n,) scores, one for each text. A larger score is better; the range is arbitrary."""
        ...


class CrossEncoderReranker:
    """A ``Reranker`` by a model of sentence-transformers.

    Args:
        model: a folder, or a name on the model hub, such as "BAAI/bge-reranker-v2-m3" (the paper's).
    """

    def __init__(self, model: str) -> None:
        self.name = model
        self._loading = threading.Lock()
        self._encoder: CrossEncoder | None = None

    def score(self, question: str, texts: Sequence[str]) -> Vector:
        """Return (n,) logits: how well each text answers the question. Only their order and differences have a meaning.

        Raises:
            ModelNotFound: there is no such cross-encoder.
        """
        if not texts:
            return np.zeros(0, np.float32)
        from torch.nn import Identity

        pairs = [(question, text) for text in texts]
        logits = self._load().predict(pairs, activation_fn=Identity(), show_progress_bar=False)
        return np.asarray(logits, np.float32).reshape(len(texts))

    def _load(self) -> CrossEncoder:
        with self._loading:
            if self._encoder is None:
                from sentence_transformers import CrossEncoder

                with model_files(
                    f"a cross-encoder of sentence-transformers in {self.name}",
                    "Name a folder or a model of the hub as the reranker, or leave it out.",
                    name=self.name,
                    error=ModelNotFound,
                ):
                    self._encoder = CrossEncoder(self.name)
            return self._encoder
