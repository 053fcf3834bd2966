"""``PhraseVectors``: the embeddings of short phrases, kept so that a phrase is embedded once.

The module knows an embedder. Invariant: at most ``_MOST_KEPT`` vectors are kept.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from memgraph_rag.contracts import Embedder
from memgraph_rag.types import Matrix, Vector

_MOST_KEPT = 4_096


class PhraseVectors:
    """Embeddings of phrases by their words. Several threads may use it."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._vectors: dict[str, Vector] = {}

    def embed(self, phrases: Sequence[str]) -> Matrix:
        """Return (n, d), one vector for each phrase, in order."""
        known = self._vectors if len(self._vectors) + len(phrases) <= _MOST_KEPT else {}
        missing = [phrase for phrase in dict.fromkeys(phrases) if phrase not in known]
        if missing:
            known = {**known, **dict(zip(missing, self._embedder.embed(missing), strict=True))}
            self._vectors = known
        return np.stack([known[phrase] for phrase in phrases])
