"""A plain BERT with mean pooling, run by torch, for many texts and for GPUs.

The modelling code of transformers takes seconds to import. ``bert_files.py`` tells which models are plain; any other
kind of model is left to sentence-transformers.
Invariants: in float32, the vector of a text that fits one pass equals that of sentence-transformers, up to rounding.
    The vector of a longer text is the mean direction of its windows, weighted by their tokens; sentence-transformers
    reads only the first window. Another number format changes only the products, and turns a vector by little.

Letters of shapes: B texts of T tokens, D wide, H heads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from pathlib import Path

import numpy as np
import torch
from threadpoolctl import ThreadpoolController
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence
from typing_extensions import Self

from memgraph_rag.models.embedders.bert_files import WEIGHTS, BertTokenizer, group_by_length, join_windows, read_json
from memgraph_rag.models.engine.hardware import INT8, find_dtype
from memgraph_rag.models.engine.int8_linear import Int8Linear
from memgraph_rag.types import Matrix, Vector

_WORDS = "embeddings.word_embeddings.weight"
"""The table of words keeps the format of its file and is shared by copies: that of many languages takes 190 MB."""
_MOST_TOKENS = 4_096  # of one pass, padding included
_MOST_TOKENS_OF_CORE = 512  # the states of so many fit in a core's cache
_LINEARS = ("qkv", "attention.output.dense", "intermediate.dense", "output.dense")


class SentenceBert:
    """The weights and the tokenizer of a plain BERT.

    Args:
        folder: a folder for which ``is_plain_bert`` returns True.

    Raises:
        OSError, ValueError: a file cannot be read, or weights are missing.
    """

    has_int8 = True

    def __init__(self, folder: Path, device: torch.device) -> None:
        from safetensors.torch import load_file

        config = read_json(folder / "config.json")
        self.device = device
        self._threads = ThreadpoolController()
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
        self._linears: Mapping[str, nn.Module] = {
            name: _make_linear(self._weights.pop(f"{name}.weight"), self._weights.pop(f"{name}.bias"))
            for name in (f"{layer}.{kind}" for layer in range(int(config["num_hidden_layers"])) for kind in _LINEARS)
        }

    def copy_in_format(self, name: str) -> Self:
        """Return a copy in another number format, which shares the tokenizer.

        With "int8" on a CPU, linear layers multiply integers, and float32 is the format between them.
        """
        copy = object.__new__(type(self))
        copy.__dict__ |= self.__dict__
        if name == INT8 and self.device.type == "cpu":
            with torch.no_grad():
                copy._linears = {
                    key: Int8Linear(linear) for key, linear in self._linears.items() if isinstance(linear, nn.Linear)
                }
            return copy
        dtype = find_dtype(name, self.device)
        copy._weights = {key: w if key == _WORDS else w.to(dtype) for key, w in self._weights.items()}
        copy._linears = {key: deepcopy(linear).to(dtype) for key, linear in self._linears.items()}
        return copy

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each whole text, without special tokens."""
        return self._tokenizer.count_tokens(texts)

    def encode(self, texts: Sequence[str]) -> Matrix:
        """Return (B, D) vectors of at least one text; they are not scaled to length 1.

        The vector of a long text is the sum of the directions of its windows, weighted by their tokens. Windows of like
        lengths are read together, so that a pass computes little padding. On a CPU each core reads passes of its own:
        cores that share a pass wait for each other after each product, above all on a busy machine.
        """
        windows = self._tokenizer.cut(texts)
        lengths = [*map(len, windows.ids)]
        cores = torch.get_num_threads() if self.device.type == "cpu" else 1
        most = min(_MOST_TOKENS_OF_CORE, -(-sum(lengths) // cores)) if self.device.type == "cpu" else _MOST_TOKENS
        groups = list(group_by_length(lengths, most))
        passes = [[windows.ids[place] for place in group] for group in groups]
        if min(cores, len(groups)) == 1:
            pooled = map(self._pool, passes)
        else:
            with ThreadPoolExecutor(cores) as executor:
                pooled = list(executor.map(self._pool_on_one_core, passes))
        vectors: dict[int, Vector] = {}
        for group, rows in zip(groups, pooled, strict=True):
            vectors |= zip(group, rows, strict=True)
        return join_windows(np.stack([vectors[place] for place in range(len(lengths))]), windows.tokens, windows.counts)

    def _pool_on_one_core(self, windows: Sequence[list[int]]) -> Matrix:
        torch.get_num_threads()  # a new thread takes the number of the process at its first call of torch
        with self._threads.limit(limits=1, user_api="openmp"):
            return self._pool(windows)

    @torch.inference_mode()
    def _pool(self, windows: Sequence[list[int]]) -> Matrix:
        """Return the (W, D) means over the tokens of each window."""
        rows = [torch.tensor(ids) for ids in windows]
        ids = pad_sequence(rows, batch_first=True).to(self.device)
        lengths = torch.tensor([len(row) for row in rows], device=self.device)
        is_read = torch.arange(ids.shape[1], device=self.device) < lengths[:, None]
        states = self._compute_states(ids, is_read)
        share = is_read.to(states.dtype)[:, :, None]
        return ((states * share).sum(dim=1) / share.sum(dim=1)).float().cpu().numpy()

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
        for layer in range(len(self._linears) // len(_LINEARS)):
            attended = self._linears[f"{layer}.attention.output.dense"](self._attend(states, visible, layer))
            states = self._normalize(states + attended, f"{layer}.attention.output.LayerNorm")
            inner = functional.gelu(self._linears[f"{layer}.intermediate.dense"](states))
            states = self._normalize(
                states + self._linears[f"{layer}.output.dense"](inner), f"{layer}.output.LayerNorm"
            )
        return states

    def _attend(self, states: Tensor, visible: Tensor | None, layer: int) -> Tensor:
        batch, tokens, _ = states.shape
        query, key, value = (
            self._linears[f"{layer}.qkv"](states).view(batch, tokens, 3, self._heads, -1).permute(2, 0, 3, 1, 4)
        )
        mixed = functional.scaled_dot_product_attention(query, key, value, attn_mask=visible)
        return mixed.transpose(1, 2).flatten(2)

    def _normalize(self, states: Tensor, name: str) -> Tensor:
        weight, bias = self._weights[f"{name}.weight"], self._weights[f"{name}.bias"]
        return functional.layer_norm(states, weight.shape, weight, bias, self._epsilon)


def _make_linear(weight: Tensor, bias: Tensor) -> nn.Linear:
    outputs, inputs = weight.shape
    linear = nn.Linear(inputs, outputs, device="meta")  # it gets its weights from here
    linear.weight, linear.bias = (nn.Parameter(part, requires_grad=False) for part in (weight, bias))
    return linear


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
