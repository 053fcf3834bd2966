"""Texts to vectors, by a model behind an address.

It knows nothing of the graph. Invariants: rows have length 1, so that a dot product is the cosine; the dimension is
asked for once; a text that the server refuses as too long is an error, it is not cut here.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from multiprocessing.pool import ThreadPool

import numpy as np

from memgraph_rag.models.endpoints.client import Endpoint
from memgraph_rag.models.endpoints.token_estimate import estimated_tokens
from memgraph_rag.types import Matrix

__all__ = ["EndpointEmbedder"]

_TEXTS = 64  # of one request


class EndpointEmbedder:
    """An embedder of a server that speaks OpenAI's protocol.

    Args:
        requests: batches that are sent at a time.
    """

    def __init__(self, endpoint: Endpoint, *, requests: int = 8) -> None:
        self._endpoint = endpoint
        self._requests = requests
        self.name = endpoint.address.model

    @property
    def dimension(self) -> int:
        """Length of a vector; the server is asked once."""
        return self._asked_dimension

    @cached_property
    def _asked_dimension(self) -> int:
        return self._endpoint.embed(["one"]).shape[1]

    def embed(self, texts: Sequence[str]) -> Matrix:
        """(n, d) float32, rows L2-normalised.

        Raises:
            ModelUnavailable: the server did not answer in time.
            ModelError: it refused, perhaps because a text is too long for it.
        """
        if not texts:
            return np.zeros((0, self.dimension), np.float32)
        batches = [[text or " " for text in texts[at : at + _TEXTS]] for at in range(0, len(texts), _TEXTS)]
        with ThreadPool(min(self._requests, len(batches))) as pool:  # whose threads are not waited for after Ctrl-C
            vectors = pool.map(self._endpoint.embed, batches)
        return np.concatenate(vectors)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """About how many tokens each text has."""
        return [estimated_tokens(text) for text in texts]
