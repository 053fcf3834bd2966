"""The packaged embedder, for real."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from memgraph_rag.errors import ModelError, ModelNotFound
from memgraph_rag.models.embedders import embedder
from memgraph_rag.models.embedders.calibration import EmbedderCalibration
from memgraph_rag.models.embedders.embedder import SentenceEmbedder
from memgraph_rag.models.files.catalogue import MINILM, find_embedder


@pytest.fixture(scope="module")
def minilm() -> SentenceEmbedder:
    name, folder = find_embedder(MINILM, cache_dir=Path())
    return SentenceEmbedder(folder, name=name, device="cpu")


def test_the_dimension_is_known_before_the_weights_are_loaded():
    name, folder = find_embedder(MINILM, cache_dir=Path())
    embedder = SentenceEmbedder(folder, name=name)
    assert (embedder.name, embedder.dimension) == (MINILM, 384)
    assert embedder._network is None


def test_tokens_of_a_pass_are_known_before_the_weights_are_loaded(minilm, tmp_path):
    name, folder = find_embedder(MINILM, cache_dir=Path())
    embedder = SentenceEmbedder(folder, name=name)
    assert embedder.most_tokens == 254
    assert embedder._network is None
    assert SentenceEmbedder(tmp_path, name="unknown").most_tokens == 0


def test_vector_covers_the_end_of_a_long_text(minilm):
    start = "The mill by the river belongs to Ann Lee. " * 30  # 300 tokens
    one, other, penguin = minilm.embed([start, start + "A penguin swam to Peru. " * 10, "A penguin swam to Peru."])
    assert other @ penguin > one @ penguin + 0.05
    assert one @ other > 0.9


def test_rows_are_normalised_and_near_meanings_are_near(minilm):
    vectors = minilm.embed(["A rabbit ate the lettuce.", "The bunny had some salad.", "Interest rates rose."])
    assert vectors.shape == (3, minilm.dimension)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, rtol=1e-5)
    assert vectors[0] @ vectors[1] > 0.4 > vectors[0] @ vectors[2]


@pytest.mark.parametrize(("dtype", "least"), [("auto", 0.995), ("int8", 0.995), ("bfloat16", 0.9998), ("int4", 0.9998)])
def test_fast_vectors_turn_by_little(minilm, monkeypatch, dtype, least):
    monkeypatch.setattr(embedder, "_LOADING_CHARACTERS", 1)
    texts = [f"Number {number} of many sentences about rabbits, rain and bridges. " * 6 for number in range(5)]
    exact = minilm.network.encode(texts)
    name, folder = find_embedder(MINILM, cache_dir=Path())
    fast = SentenceEmbedder(folder, name=name, device="cpu", dtype=dtype).embed(texts)
    assert fast.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(fast, axis=1), 1.0, rtol=1e-5)
    assert (exact / np.linalg.norm(exact, axis=1, keepdims=True) * fast).sum(axis=1).min() > least


def test_single_pages_switch_to_the_fast_format(monkeypatch):
    page = "A page about rabbits, rain and bridges. " * 10
    monkeypatch.setattr(embedder, "_LOADING_CHARACTERS", 6 * len(page))
    name, folder = find_embedder(MINILM, cache_dir=Path())
    pages = SentenceEmbedder(folder, name=name, device="cpu", dtype="bfloat16")
    vectors = [pages.embed([page])[0] for _ in range(7)]
    assert (vectors[0] == vectors[4]).all()
    assert (vectors[0] != vectors[5]).any()
    assert (vectors[5] == vectors[6]).all()
    assert vectors[0] @ vectors[6] > 0.999


def test_many_texts_keep_their_order(minilm):
    texts = [f"{'very long ' * (number % 37)}text about subject {number}" for number in range(150)]
    threads = torch.get_num_threads()
    many = minilm.embed(texts)
    alone = np.concatenate([minilm.embed([text]) for text in texts[::15]])
    assert (many[::15] * alone).sum(axis=1).min() > 0.998
    assert torch.get_num_threads() == threads, "the caller keeps its cores"


def test_embedding_many_texts_loads_no_torch(minilm, monkeypatch):
    name, folder = find_embedder(MINILM, cache_dir=Path())
    bare = SentenceEmbedder(folder, name=name, device="cpu")
    monkeypatch.setattr(embedder, "find_spec", lambda _: None)
    monkeypatch.setattr(embedder, "_LOADING_CHARACTERS", 1)
    texts = [f"Number {number} of many sentences about rabbits, rain and bridges." for number in range(20)]
    many = bare.embed(texts)
    assert bare._network is None
    np.testing.assert_allclose(many[:3], minilm.embed(texts[:3]), atol=1e-5)


@pytest.mark.parametrize(
    ("question", "is_whole"),
    [
        ("What do the users of our app complain about most?", True),
        ("how did my taste in books change over the years", True),
        ("Who complained about the printer on Tuesday?", False),
        ("In which city was the director of Solaris born?", False),
    ],
)
def test_vectors_recognise_questions_about_a_whole(minilm, question, is_whole):
    assert minilm.calibration.breadth is not None
    assert minilm.calibration.breadth.is_whole(minilm.embed([question])[0]) is is_whole


def test_other_embedders_have_no_kinds_of_questions():
    assert EmbedderCalibration(embedder="unknown").breadth is None


def test_tokens_are_counted(minilm):
    assert minilm.count_tokens([]) == []
    few, many = minilm.count_tokens(["A rabbit.", "A rabbit " * 400])
    assert few == 3
    assert many == 800, "beyond the model's own limit too"


def test_embedding_of_no_texts_has_no_rows(minilm):
    assert minilm.embed([]).shape == (0, 384)


def test_unknown_names_are_refused(tmp_path):
    with pytest.raises(ModelNotFound, match="folder or owner/name"):
        find_embedder("no-such-model", cache_dir=Path())
    with pytest.raises(ModelError, match="Expected a sentence-transformers model"):
        SentenceEmbedder(tmp_path).embed(["x"])
