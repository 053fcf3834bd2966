"""An embedder that uses a model on a server.

The module does not know the graph. Invariants: rows have length 1, so that a dot product is the cosine; the server is
asked for the dimension once; a text that the server refuses as too long is an error, because this module does not cut
texts.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from multiprocessing.pool import ThreadPool
from pathlib import Path

import numpy as np

from memgraph_rag.models.embedders.calibration import EmbedderCalibration, find_calibration
from memgraph_rag.models.embedders.prompts import NO_PROMPTS, Prompts
from memgraph_rag.models.endpoints.client import Endpoint
from memgraph_rag.models.endpoints.token_estimate import estimate_tokens
from memgraph_rag.types import Matrix

_TEXTS = 64  # in one request


class EndpointEmbedder:
    """An embedder on a server that speaks OpenAI's protocol.

    Args:
        endpoint: the model and its server.
        requests: the number of batches that are sent at a time.
        name: the embedder's name in the store; the model's name by default.
        prompts: the texts before questions and before passages. The server adds none.
        cache_dir: keeps the calibrations that were measured on this machine; None keeps none.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        requests: int = 8,
        name: str = "",
        prompts: Prompts = NO_PROMPTS,
        cache_dir: Path | None = None,
    ) -> None:
        self._endpoint = endpoint
        self._requests = requests
        self._prompts = prompts
        self._cache_dir = cache_dir
        self.name = name or endpoint.address.model

    @cached_property
    def calibration(self) -> EmbedderCalibration:
        """How to read this embedder's cosines. Without a calibration file, it is measured now by ``embed``."""
        return find_calibration(self, self._cache_dir)

    @property
    def dimension(self) -> int:
        """The length of a vector. The first reading asks the server, and raises errors as ``embed`` does."""
        return self._server_dimension

    @cached_property
    def _server_dimension(self) -> int:
        return self._endpoint.embed(["one"]).shape[1]

    def embed(self, texts: Sequence[str]) -> Matrix:
        """Return the (n, d) float32 vectors of passages, rows L2-normalised. An empty text is sent as a blank.

        Raises:
            ModelUnavailable: the server did not answer in time.
            ModelError: the server refused a request, for example because a text is too long for it.
        """
        return self._embed([self._prompts.passage + text for text in texts])

    def embed_queries(self, texts: Sequence[str]) -> Matrix:
        """Return the (n, d) float32 vectors of questions; errors are those of ``embed``."""
        return self._embed([self._prompts.question + text for text in texts])

    def _embed(self, texts: Sequence[str]) -> Matrix:
        if not texts:
            return np.zeros((0, self.dimension), np.float32)
        batches = [[text or " " for text in texts[at : at + _TEXTS]] for at in range(0, len(texts), _TEXTS)]
        with ThreadPool(min(self._requests, len(batches))) as pool:  # its threads are daemons and end with Ctrl-C
            vectors = pool.map(self._endpoint.embed, batches)
        return np.concatenate(vectors)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Return the estimated number of tokens of each text, without a tokenizer and without a request."""
        return [estimate_tokens(text) for text in texts]
