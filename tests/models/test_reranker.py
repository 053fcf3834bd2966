"""A cross-encoder of sentence-transformers as a reranker; its weights are random, so only its form is looked at."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tiny_bert import save_bert
from transformers import BertForSequenceClassification

from memgraph_rag.errors import ModelNotFound
from memgraph_rag.models.reranker import CrossEncoderReranker, Reranker


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    words = ["the", "fox", "ran", "rain", "fell", "who", "?"]
    return save_bert(tmp_path, BertForSequenceClassification, words, most_tokens=64, labels=1)


def test_texts_are_scored_independently(folder: Path) -> None:
    reranker: Reranker = CrossEncoderReranker(str(folder))
    texts = ["The fox ran", "rain fell", "the " * 200]
    scores = reranker.score("who ran?", texts)

    assert (scores.shape, scores.dtype) == ((3,), np.float32)
    assert len(set(scores.tolist())) == 3
    for text, score in zip(texts, scores, strict=True):
        assert reranker.score("who ran?", [text]).tolist() == pytest.approx([score], abs=1e-5)
    assert reranker.score("who ran?", []).shape == (0,)


def test_a_folder_without_a_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelNotFound, match="Expected a cross-encoder"):
        CrossEncoderReranker(str(tmp_path)).score("who?", ["rain"])
