"""Texts to vectors, by a sentence-transformers model.

It knows nothing of the graph. Invariant: rows have length 1, so that a dot product is the cosine.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from memgraph_rag.errors import ModelError
from memgraph_rag.types import Matrix

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

__all__ = ["SentenceEmbedder"]


class SentenceEmbedder:
    """An embedder that loads its weights at the first use.

    Args:
        folder: a sentence-transformers model.
        name: what the store remembers it by.
    """

    def __init__(self, folder: str | Path, *, name: str = "", device: str = "auto") -> None:
        self._folder = str(folder)
        self.name = name or Path(folder).name
        self._device = None if device == "auto" else device
        self._loading = threading.Lock()
        self._network: SentenceTransformer | None = None
        self._dimension = _declared_dimension(Path(folder))

    @property
    def network(self) -> SentenceTransformer:
        """The weights."""
        with self._loading:
            if self._network is None:
                from sentence_transformers import SentenceTransformer

                try:
                    self._network = SentenceTransformer(self._folder, device=self._device)
                except (OSError, ValueError) as error:
                    raise ModelError(
                        f"Expected a sentence-transformers model in {self._folder}, but: {error}", name=self.name
                    ) from error
            return self._network

    @property
    def dimension(self) -> int:
        """Length of a vector; without loading the weights where the model's files tell it."""
        if self._dimension is None:
            self._dimension = int(self.network.get_embedding_dimension() or 0)
        return self._dimension

    def embed(self, texts: Sequence[str]) -> Matrix:
        """(n, d) float32, rows L2-normalised."""
        if not texts:
            return np.zeros((0, self.dimension), np.float32)
        vectors = self.network.encode(
            list(texts), normalize_embeddings=True, convert_to_numpy=True, show_progress_bar=False
        )
        return np.asarray(vectors, np.float32)


def _declared_dimension(folder: Path) -> int | None:
    """The width of the pooled vectors, where nothing behind the pooling changes it; None where that is not told."""
    try:
        modules = json.loads((folder / "modules.json").read_text("utf-8"))
        kinds = {module["type"].rpartition(".")[2] for module in modules}
        if not kinds <= {"Transformer", "Pooling", "Normalize"}:
            return None
        pooling = json.loads((folder / "1_Pooling" / "config.json").read_text("utf-8"))
        return int(pooling["word_embedding_dimension"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
