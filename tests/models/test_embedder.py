"""The packaged embedder, for real."""

from __future__ import annotations

import numpy as np
import pytest

from memgraph_rag.errors import ModelError, ModelNotFound
from memgraph_rag.models.catalogue import MINILM, find_embedder
from memgraph_rag.models.embedder import SentenceEmbedder


@pytest.fixture(scope="module")
def minilm() -> SentenceEmbedder:
    name, folder = find_embedder("auto")
    return SentenceEmbedder(folder, name=name, device="cpu")


def test_the_dimension_is_known_before_the_weights_are_loaded():
    name, folder = find_embedder("auto")
    embedder = SentenceEmbedder(folder, name=name)
    assert (embedder.name, embedder.dimension) == (MINILM, 384)
    assert embedder._network is None


def test_rows_are_normalised_and_near_meanings_are_near(minilm):
    vectors = minilm.embed(["A rabbit ate the lettuce.", "The bunny had some salad.", "Interest rates rose."])
    assert vectors.shape == (3, minilm.dimension)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, rtol=1e-5)
    assert vectors[0] @ vectors[1] > 0.4 > vectors[0] @ vectors[2]


def test_nothing_gives_no_rows(minilm):
    assert minilm.embed([]).shape == (0, 384)


def test_unknown_names_are_refused(tmp_path):
    with pytest.raises(ModelNotFound, match="folder or owner/name"):
        find_embedder("no-such-model")
    with pytest.raises(ModelError, match="Expected a sentence-transformers model"):
        SentenceEmbedder(tmp_path).embed(["x"])
