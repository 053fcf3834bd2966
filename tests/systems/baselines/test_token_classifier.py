"""The encoder of LLMLingua-2 as a tiny random BERT: which words it scores, and how a long text is read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from tiny_bert import save_bert
from transformers import BertForTokenClassification, BertTokenizerFast

from memgraph_rag.errors import ModelNotFound
from memgraph_rag.systems.baselines.token_classifier import TokenClassifier


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A token classifier that reads 16 tokens at once."""
    words = ["the", "fox", "ran", "##ning", "rain", "fell"]
    return save_bert(tmp_path, BertForTokenClassification, words, most_tokens=16, labels=2)


def test_word_has_the_mean_probability_of_its_tokens(folder: Path) -> None:
    text = "the fox ranning"
    spans, kept = TokenClassifier(str(folder)).keep_probabilities(text)
    tokenizer = BertTokenizerFast.from_pretrained(folder)
    network = BertForTokenClassification.from_pretrained(folder).eval()
    with torch.inference_mode():
        of_tokens = network(**tokenizer(text, return_tensors="pt")).logits[0].softmax(-1)[1:-1, 1].tolist()

    assert [text[start:end] for start, end in spans] == ["the", "fox", "ranning"]
    np.testing.assert_allclose(kept, [*of_tokens[:2], sum(of_tokens[2:]) / 2], rtol=1e-5)


def test_long_text_is_read_in_parts(folder: Path) -> None:
    text = "the rain fell " * 20
    spans, kept = TokenClassifier(str(folder)).keep_probabilities(text)

    assert [text[start:end] for start, end in spans] == text.split()
    assert kept.shape == (60,)
    assert TokenClassifier(str(folder)).keep_probabilities("")[0].shape == (0, 2)


@pytest.mark.parametrize("name", ["", "nothing-here"])
def test_folder_without_an_encoder_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(ModelNotFound, match="argument folder"):
        TokenClassifier(str(tmp_path / name) if name else "").keep_probabilities("the fox")
