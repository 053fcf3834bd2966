"""Encoders for queries and passages apart: tiny random BERTs in the forms of Dragon and of Contriever."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from memories import FOX, options
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Pooling, Router, Transformer
from tables import table
from transformers import BertConfig, BertModel, BertTokenizerFast

from memgraph_rag import Memory
from memgraph_rag.models.embedders.embedder import SentenceEmbedder
from memgraph_rag.testing import FakeEmbedder
from memgraph_rag.types import Matrix

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "fox", "ran", "rain", "fell", "who", "?"]
TEXTS = ["the fox ran", "rain fell"]


def write_bert(folder: Path, seed: int) -> Path:
    """Write a BERT of two layers without a file of sentence-transformers."""
    folder.mkdir()
    (folder / "vocab.txt").write_text("\n".join(WORDS))
    torch.manual_seed(seed)
    config = BertConfig(vocab_size=len(WORDS), hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
                        intermediate_size=32, max_position_embeddings=64)  # fmt: skip
    BertModel(config).save_pretrained(folder)
    BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder)
    return folder


def states(folder: Path, text: str) -> np.ndarray:
    """Return (T, 16) the states of a text's tokens after the last layer."""
    with torch.inference_mode():
        read = BertTokenizerFast.from_pretrained(folder)(text, return_tensors="pt")
        return BertModel.from_pretrained(folder).eval()(**read).last_hidden_state[0].numpy()


def unit(vector: np.ndarray) -> np.ndarray:
    return vector / np.linalg.norm(vector)


@pytest.fixture
def dragon(tmp_path: Path) -> Path:
    """A folder of two encoders that read the state of the first token, written as the page of baselines says."""
    routes = [
        [Transformer(str(folder)), Pooling(16, "cls")]
        for folder in (write_bert(tmp_path / "query", 1), write_bert(tmp_path / "passage", 2))
    ]
    SentenceTransformer(modules=[Router.for_query_document(*routes)], device="cpu").save(str(tmp_path / "dragon"))
    return tmp_path / "dragon"


def test_queries_and_passages_have_encoders_of_their_own(dragon: Path) -> None:
    embedder = SentenceEmbedder(dragon, device="cpu")
    for vectors, name in ((embedder.embed(TEXTS), "passage"), (embedder.embed_queries(TEXTS), "query")):
        expected = [unit(states(dragon.parent / name, text)[0]) for text in TEXTS]
        np.testing.assert_allclose(vectors, expected, atol=1e-5)
    assert embedder.embed_queries([]).shape == embedder.embed([]).shape == (0, 16)
    assert embedder.embed(["the fox ran " * 40]).shape == (1, 16)


def test_folder_without_pooling_has_the_mean_of_tokens(tmp_path: Path) -> None:
    folder = write_bert(tmp_path / "contriever", 3)
    embedder = SentenceEmbedder(folder, device="cpu")
    expected = [unit(states(folder, text).mean(axis=0)) for text in TEXTS]

    np.testing.assert_allclose(embedder.embed(TEXTS), expected, atol=1e-5)
    np.testing.assert_array_equal(embedder.embed_queries(TEXTS), embedder.embed(TEXTS))


class Apart(FakeEmbedder):
    """An embedder of which questions have vectors of their own."""

    asked: tuple[str, ...] = ()

    def embed_queries(self, texts: list[str]) -> Matrix:
        self.asked = (*self.asked, *texts)
        return self.embed(texts)


@table("mode", ["graph", "vector", "hybrid"])
def test_search_embeds_the_question_as_a_query(mode: str) -> None:
    embedder = Apart(8)
    with Memory(":memory:", **options(embedder=embedder, layers=())) as memory:
        memory.add(FOX, key="fox")
        assert embedder.asked == ()
        memory.search("Who built a box?", mode=mode)
    assert "Who built a box?" in embedder.asked


class Strict(FakeEmbedder):
    """An embedder that refuses to embed a question as a passage."""

    def embed(self, texts: list[str]) -> Matrix:
        assert not any(QUESTION in text for text in texts), "a question was embedded as a passage"
        return super().embed(texts)

    def embed_queries(self, texts: list[str]) -> Matrix:
        return super().embed(texts)


QUESTION = "What do all the foxes of the wood think about a box?"


@pytest.mark.parametrize(
    "strategy", ["walk", "pecan", "qrmem", "top_k", "overviews", "longrefiner", "hipporag2", "sprag"]
)
def test_answer_embeds_no_question_as_a_passage(strategy: str) -> None:
    embedder = Strict(16)
    embedder.unrelated_below = -1.0  # pyright: ignore[reportAttributeAccessIssue] - citations compare questions, too
    with Memory(":memory:", **options(embedder=embedder)) as memory:
        memory.add(FOX, key="fox")
        memory.ask(QUESTION, strategy=strategy)
