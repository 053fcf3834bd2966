"""Folders of tiny networks of BERT with random weights, for tests that look at form alone."""

from __future__ import annotations

from pathlib import Path

import torch
from transformers import BertConfig, BertTokenizerFast, PreTrainedModel


def save_bert(folder: Path, network: type[PreTrainedModel], words: list[str], *, most_tokens: int, labels: int) -> Path:
    """Write a network of two layers, and a tokenizer of the words, into the folder. Return the folder."""
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    (folder / "vocab.txt").write_text("\n".join([*special, *words]))
    torch.manual_seed(0)
    config = BertConfig(vocab_size=len(special) + len(words), hidden_size=16, num_hidden_layers=2,
                        num_attention_heads=2, intermediate_size=32, max_position_embeddings=most_tokens,
                        num_labels=labels)  # fmt: skip
    network(config).save_pretrained(folder)
    BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder)
    return folder
