"""A plain BERT with mean pooling, run by torch, for many texts and for GPUs.

The modelling code of transformers takes seconds to import. ``bert_files.py`` tells which models are plain; any other
kind of model is left to sentence-transformers.
Invariant: the vector of a text that fits one pass equals that of sentence-transformers, up to the rounding of float32.
    The vector of a longer text is the mean direction of its windows, weighted by their tokens; sentence-transformers
    reads only the first window.

Letters of shapes: B texts of T tokens, D wide, H heads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from torch import Tensor
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence
from typing_extensions import Self

from memgraph_rag.models.embedders.bert_files import WEIGHTS, BertTokenizer, group_by_length, join_windows, read_json
from memgraph_rag.types import Matrix

__all__ = ["SentenceBert"]

_WORDS = "embeddings.word_embeddings.weight"
"""The table of words keeps the format of its file and is shared by copies: that of many languages takes 190 MB."""
_MOST_TOKENS = 4_096  # of one pass, padding included


class SentenceBert:
    """The weights and the tokenizer of a plain BERT.

    Args:
        folder: a folder for which ``is_plain_bert`` returns True.

    Raises:
        OSError, ValueError: a file cannot be read, or weights are missing.
    """

    def __init__(self, folder: Path, device: torch.device) -> None:
        from safetensors.torch import load_file

        config = read_json(folder / "config.json")
        self.device = device
        self._heads = int(config["num_attention_heads"])
        self._epsilon = float(config["layer_norm_eps"])
        stored = load_file(folder / WEIGHTS, device=str(device))
        weights = {name.removeprefix("bert."): weight for name, weight in stored.items()}
        try:
            self._weights = _join_weights(weights, layers=int(config["num_hidden_layers"]))
        except KeyError as error:
            raise ValueError(f"the weights {error} are missing") from error
        self._tokenizer = BertTokenizer(folder)
        words, positions = (len(self._weights[f"embeddings.{kind}_embeddings.weight"]) for kind in ("word", "position"))
        self._tokenizer.check_tables(words=words, positions=positions)

    def in_dtype(self, dtype: torch.dtype) -> Self:
        """Return a copy with the weights in another format, which shares the tokenizer."""
        copy = object.__new__(type(self))
        copy.__dict__ |= self.__dict__
        copy._weights = {name: w if name == _WORDS else w.to(dtype) for name, w in self._weights.items()}
        return copy

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each whole text, without special tokens."""
        return self._tokenizer.count_tokens(texts)

    @torch.inference_mode()
    def encode(self, texts: Sequence[str]) -> Matrix:
        """Return (B, D) vectors of at least one text, rows of any length; a long text is joined from its windows.

        Windows of like lengths are read together, so that a pass computes little padding.
        """
        windows = self._tokenizer.cut(texts)
        pooled = torch.empty(len(windows.ids), len(self._weights["embeddings.LayerNorm.weight"]), device=self.device)
        for group in group_by_length([*map(len, windows.ids)], _MOST_TOKENS):
            pooled[group] = self._pool([windows.ids[place] for place in group]).float()
        return join_windows(pooled.cpu().numpy(), windows.tokens, windows.counts)

    def _pool(self, windows: Sequence[list[int]]) -> Tensor:
        """Return the (W, D) means over the tokens of each window."""
        rows = [torch.tensor(ids) for ids in windows]
        ids = pad_sequence(rows, batch_first=True).to(self.device)
        lengths = torch.tensor([len(row) for row in rows], device=self.device)
        is_read = torch.arange(ids.shape[1], device=self.device) < lengths[:, None]
        states = self._compute_states(ids, is_read)
        share = is_read.to(states.dtype)[:, :, None]
        return (states * share).sum(dim=1) / share.sum(dim=1)

    def _compute_states(self, ids: Tensor, is_read: Tensor) -> Tensor:
        """Return the (B, T, D) states of the last layer.

        Args:
            ids: (B, T) token ids with padding.
            is_read: (B, T) bool, False for padding.
        """
        tables = (self._weights[f"embeddings.{name}_embeddings.weight"] for name in ("word", "position", "token_type"))
        words, positions, kinds = tables
        rows = words[ids].to(positions.dtype) + positions[: ids.shape[1]] + kinds[0]
        states = self._normalize(rows, "embeddings.LayerNorm")
        visible = None if is_read.all() else is_read[:, None, None, :]
        layer = 0
        while f"{layer}.qkv.weight" in self._weights:
            attended = self._linear(self._attend(states, visible, layer), f"{layer}.attention.output.dense")
            states = self._normalize(states + attended, f"{layer}.attention.output.LayerNorm")
            inner = functional.gelu(self._linear(states, f"{layer}.intermediate.dense"))
            states = self._normalize(states + self._linear(inner, f"{layer}.output.dense"), f"{layer}.output.LayerNorm")
            layer += 1
        return states

    def _attend(self, states: Tensor, visible: Tensor | None, layer: int) -> Tensor:
        batch, tokens, _ = states.shape
        query, key, value = (
            self._linear(states, f"{layer}.qkv").view(batch, tokens, 3, self._heads, -1).permute(2, 0, 3, 1, 4)
        )
        mixed = functional.scaled_dot_product_attention(query, key, value, attn_mask=visible)
        return mixed.transpose(1, 2).flatten(2)

    def _linear(self, states: Tensor, name: str) -> Tensor:
        return functional.linear(states, self._weights[f"{name}.weight"], self._weights[f"{name}.bias"])

    def _normalize(self, states: Tensor, name: str) -> Tensor:
        weight, bias = self._weights[f"{name}.weight"], self._weights[f"{name}.bias"]
        return functional.layer_norm(states, weight.shape, weight, bias, self._epsilon)


def _join_weights(weights: Mapping[str, Tensor], *, layers: int) -> dict[str, Tensor]:
    """Return the weights by short names, with query, key and value of a layer joined as one.

    Raises:
        KeyError: a weight is missing.
    """
    names = [f"embeddings.{name}_embeddings.weight" for name in ("word", "position", "token_type")]
    joined = {name: weights[name] for name in (*names, "embeddings.LayerNorm.weight", "embeddings.LayerNorm.bias")}
    for layer in range(layers):
        prefix = f"encoder.layer.{layer}."
        for kind in ("weight", "bias"):
            parts = [weights[f"{prefix}attention.self.{part}.{kind}"] for part in ("query", "key", "value")]
            joined[f"{layer}.qkv.{kind}"] = torch.cat(parts)
            for name in ("attention.output.dense", "attention.output.LayerNorm", "intermediate.dense", "output.dense",
                         "output.LayerNorm"):  # fmt: skip
                joined[f"{layer}.{name}.{kind}"] = weights[f"{prefix}{name}.{kind}"]
    return {name: weight if name == _WORDS else weight.float() for name, weight in joined.items()}
