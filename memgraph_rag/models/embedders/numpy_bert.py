"""A plain BERT for few texts, computed by numpy in float32.

The import of torch takes longer than a search, so the vector of a question needs none. For many texts torch is faster
(``sentence_bert.py``). Invariants: each window is computed alone, by one thread; the vectors equal those of
``SentenceBert`` in float32 up to rounding.

Letters of shapes: T tokens, D wide, H heads.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors import safe_open
from threadpoolctl import ThreadpoolController

from memgraph_rag.display import show
from memgraph_rag.models.embedders.bert_files import WEIGHTS, BertTokenizer, join_windows, read_json
from memgraph_rag.types import Matrix

_TABLES = [f"embeddings.{kind}_embeddings.weight" for kind in ("word", "position", "token_type")]
_ERF = (0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429)
_ERF_SLOPE = 0.3275911
_BLOCK_WEIGHTS, _SHORT = 12_288, 48  # OpenBLAS does not copy so few weights: twice as fast, up to so many tokens
_States = NDArray[np.float32]


class NumpyBert:
    """The weights and the tokenizer of a plain BERT. Of the table of words only the needed rows are read.

    Args:
        folder: a folder for which ``is_plain_bert`` returns True.

    Raises:
        Exception: a file cannot be read, or weights are missing. safetensors and tokenizers have own classes of errors.
    """

    def __init__(self, folder: Path) -> None:
        config = read_json(folder / "config.json")
        self._heads = int(config["num_attention_heads"])
        self._layers = int(config["num_hidden_layers"])
        self._epsilon = float(config["layer_norm_eps"])
        self._tokenizer = BertTokenizer(folder)
        self._threads = ThreadpoolController()
        self._one_thread = threading.Lock()  # the number of threads is one of the whole process
        file = safe_open(str(folder / WEIGHTS), framework="numpy")
        names = {name.removeprefix("bert."): name for name in file.keys()}  # noqa: SIM118 - it is no dictionary
        if missing := [name for name in _TABLES if name not in names]:
            raise ValueError(f"the weights {show(missing[0])} are missing")
        self._words = file.get_slice(names[_TABLES[0]])
        self._weights = {
            name: file.get_tensor(stored).astype(np.float32, copy=False)
            for name, stored in names.items()
            if name != _TABLES[0] and name.startswith(("embeddings.", "encoder.")) and "position_ids" not in name
        }
        self._tokenizer.check_tables(words=self._words.get_shape()[0], positions=len(self._weights[_TABLES[1]]))

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each whole text, without special tokens."""
        return self._tokenizer.count_tokens(texts)

    def encode(self, texts: Sequence[str]) -> Matrix:
        """Return (B, D) vectors of at least one text, rows of any length; a long text is joined from its windows."""
        windows = self._tokenizer.cut(texts)
        # On a busy machine the threads of OpenBLAS wait for each other: a question took 6 times as long on two.
        with self._one_thread, self._threads.limit(limits=1, user_api="blas"):
            pooled = np.stack([self._pool(ids) for ids in windows.ids])
        return join_windows(pooled, windows.tokens, windows.counts)

    def _pool(self, ids: Sequence[int]) -> _States:
        """Return the (D,) mean of the last layer's states over the tokens of a window."""
        _, positions, kinds = _TABLES
        rows = np.concatenate([self._words[word : word + 1] for word in ids]).astype(np.float32)
        rows += self._weights[positions][: len(ids)] + self._weights[kinds][0]
        states = self._normalize(rows, "embeddings.LayerNorm")
        for layer in range(self._layers):
            part = f"encoder.layer.{layer}"
            attended = self._linear(self._attend(states, part), f"{part}.attention.output.dense")
            states = self._normalize(states + attended, f"{part}.attention.output.LayerNorm")
            inner = _gelu(self._linear(states, f"{part}.intermediate.dense"))
            states = self._normalize(states + self._linear(inner, f"{part}.output.dense"), f"{part}.output.LayerNorm")
        return states.mean(axis=0)

    def _attend(self, states: _States, part: str) -> _States:
        tokens, width = states.shape
        query, key, value = (
            self._linear(states, f"{part}.attention.self.{kind}").reshape(tokens, self._heads, -1).swapaxes(0, 1)
            for kind in ("query", "key", "value")
        )
        logits = query @ key.swapaxes(1, 2) / np.float32((width / self._heads) ** 0.5)  # (H, T, T)
        shares = np.exp(logits - logits.max(axis=-1, keepdims=True))
        shares /= shares.sum(axis=-1, keepdims=True)
        return (shares @ value).swapaxes(0, 1).reshape(tokens, width)

    def _linear(self, states: _States, name: str) -> _States:
        weight = self._weight(f"{name}.weight")
        outputs, inputs = weight.shape
        rows = np.gcd(outputs, max(_BLOCK_WEIGHTS // inputs, 1)) if len(states) <= _SHORT else outputs
        blocks = states @ weight.reshape(-1, rows, inputs).swapaxes(1, 2)  # (outputs / rows, T, rows)
        return blocks.swapaxes(0, 1).reshape(len(states), outputs) + self._weight(f"{name}.bias")

    def _normalize(self, states: _States, name: str) -> _States:
        centred = states - states.mean(axis=-1, keepdims=True)
        deviation = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + np.float32(self._epsilon))
        return centred / deviation * self._weight(f"{name}.weight") + self._weight(f"{name}.bias")

    def _weight(self, name: str) -> _States:
        try:
            return self._weights[name]
        except KeyError as error:
            raise ValueError(f"the weights {error} are missing") from error


def _gelu(states: _States) -> _States:
    """Return ``x Phi(x)``, with the error function to 1.5e-7 (Abramowitz and Stegun, 1964, 7.1.26).

    The function in scipy.special would take 50 ms to import.
    """
    size = np.abs(states) * np.float32(0.5**0.5)
    step = 1 / (1 + np.float32(_ERF_SLOPE) * size)
    sum_of_powers = np.zeros_like(step)
    for weight in reversed(_ERF):
        sum_of_powers = (sum_of_powers + np.float32(weight)) * step
    error_function = np.copysign(1 - sum_of_powers * np.exp(-(size**2)), states)
    return (states * (1 + error_function) / 2).astype(np.float32, copy=False)
