"""A plain sentence-transformers model, a BERT with mean pooling, run only by torch.

sentence-transformers and the modelling code of transformers take seconds to import, which a search from the command
line would notice. The module knows the model's files. Any other kind of model is left to sentence-transformers.
Invariant: the vector of a text that fits one pass equals that of sentence-transformers, up to the rounding of float32.
    The vector of a longer text is the mean direction of its windows, weighted by their tokens; sentence-transformers
    reads only the first window.

Letters of shapes: B texts of T tokens, D wide, H heads.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from tokenizers import Encoding, Tokenizer
from torch import Tensor
from torch.nn import functional
from typing_extensions import Self

__all__ = ["SentenceBert", "is_plain_bert", "join_windows"]

_FILES = (
    "config.json",
    "model.safetensors",
    "modules.json",
    "sentence_bert_config.json",
    "tokenizer.json",
    "tokenizer_config.json",
)
_WORDS = "embeddings.word_embeddings.weight"
"""The table of words keeps the format of its file and is shared by copies: that of many languages takes 190 MB."""
_WINDOWS = 64  # the largest number in one pass
_KINDS = (["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"])


def is_plain_bert(folder: Path) -> bool:
    """Return whether the model's files say that ``SentenceBert`` computes the same as sentence-transformers.

    It is False if a file is missing, cannot be read, or holds another setting.
    """
    try:
        if not all((folder / name).is_file() for name in _FILES):
            return False
        kinds = [module["type"] for module in _read(folder / "modules.json")]
        pooling, bert = _read(folder / "1_Pooling" / "config.json"), _read(folder / "config.json")
        sentences = _read(folder / "sentence_bert_config.json")
        others = folder / "config_sentence_transformers.json"
        prompts = _read(others) if others.is_file() else {}
        return (
            all(kind.startswith("sentence_transformers.") for kind in kinds)
            and [kind.rpartition(".")[2] for kind in kinds] in _KINDS
            and [name for name, value in pooling.items() if value is True and name.startswith("pooling_mode")]
            == ["pooling_mode_mean_tokens"]
            and (bert["model_type"], bert["hidden_act"]) == ("bert", "gelu")
            and bert.get("position_embedding_type", "absolute") == "absolute"
            and not bert.get("is_decoder")
            and sentences.keys() <= {"max_seq_length", "do_lower_case"}
            and 2 < sentences["max_seq_length"] <= bert["max_position_embeddings"]
            and not sentences.get("do_lower_case")
            and not prompts.get("default_prompt_name")
            and _tokenizer_files_agree(_read(folder / "tokenizer_config.json"), _read(folder / "tokenizer.json"))
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


def _tokenizer_files_agree(config: Mapping[str, Any], tokenizer: Mapping[str, Any]) -> bool:
    """Return whether the two files of a tokenizer describe the same tokenizer.

    transformers reads the settings in the first file, ``SentenceBert`` only the second.
    """
    if config["tokenizer_class"] == "PreTrainedTokenizerFast":  # it reads the second file as it is
        return True
    return config["tokenizer_class"] in {"BertTokenizer", "BertTokenizerFast"} and tokenizer["normalizer"] == {
        "type": "BertNormalizer",
        "clean_text": True,
        "handle_chinese_chars": config.get("tokenize_chinese_chars", True),
        "strip_accents": config.get("strip_accents"),
        "lowercase": config.get("do_lower_case", True),
    }


class SentenceBert:
    """The weights and the tokenizer of a plain BERT.

    Args:
        folder: a folder for which ``is_plain_bert`` returns True.

    Raises:
        OSError, ValueError: a file cannot be read, or weights are missing.
    """

    def __init__(self, folder: Path, device: torch.device) -> None:
        from safetensors.torch import load_file

        config = _read(folder / "config.json")
        self.device = device
        self._heads = int(config["num_attention_heads"])
        self._epsilon = float(config["layer_norm_eps"])
        stored = load_file(folder / "model.safetensors", device=str(device))
        weights = {name.removeprefix("bert."): weight for name, weight in stored.items()}
        try:
            self._weights = _join_weights(weights, layers=int(config["num_hidden_layers"]))
        except KeyError as error:
            raise ValueError(f"the weights {error} are missing") from error
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._cut = Tokenizer.from_file(str(folder / "tokenizer.json"))
        longest = int(_read(folder / "sentence_bert_config.json")["max_seq_length"])
        for kind, most in (("word", self._tokenizer.get_vocab_size()), ("position", longest)):
            rows = len(self._weights[f"embeddings.{kind}_embeddings.weight"])
            if rows < most:
                raise ValueError(f"{rows} {kind} embeddings instead of at least {most}")
        self._cut.enable_truncation(longest)
        self._cut.enable_padding(pad_id=int(config.get("pad_token_id") or 0))

    def in_dtype(self, dtype: torch.dtype) -> Self:
        """Return a copy with the weights in another format, which shares the tokenizer."""
        copy = object.__new__(type(self))
        copy.__dict__ |= self.__dict__
        copy._weights = {name: w if name == _WORDS else w.to(dtype) for name, w in self._weights.items()}
        return copy

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each whole text, without special tokens."""
        return [len(encoding.ids) for encoding in self._tokenizer.encode_batch(list(texts), add_special_tokens=False)]

    @torch.inference_mode()
    def encode(self, texts: Sequence[str]) -> Tensor:
        """Return (B, D) vectors of at least one text, rows of any length; a long text is joined from its windows."""
        encodings = self._cut.encode_batch(list(texts))
        windows = [window for encoding in encodings for window in (encoding, *encoding.overflowing)]
        pooled = torch.cat([self._pool(windows[at : at + _WINDOWS]) for at in range(0, len(windows), _WINDOWS)])
        if len(windows) == len(encodings):
            return pooled
        counts = [1 + len(encoding.overflowing) for encoding in encodings]
        special = self._cut.num_special_tokens_to_add(is_pair=False)
        lengths = [max(sum(window.attention_mask) - special, 1) for window in windows]
        tokens = torch.tensor(lengths, device=self.device)
        return join_windows(pooled, tokens, counts)

    def _pool(self, windows: Sequence[Encoding]) -> Tensor:
        """Return the (W, D) means over the tokens of each window."""
        ids = torch.tensor([window.ids for window in windows], device=self.device)
        is_read = torch.tensor([window.attention_mask for window in windows], device=self.device)
        states = self._compute_states(ids, is_read.bool())
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


def join_windows(vectors: Tensor, tokens: Tensor, counts: Sequence[int]) -> Tensor:
    """Return (B, D) vectors: for each text, the sum of its windows' directions, weighted by their tokens.

    Args:
        vectors: (W, D) vectors of the windows, text after text.
        tokens: (W,) number of tokens of each window.
        counts: the number of windows of each of the B texts.
    """
    weighted = functional.normalize(vectors, dim=1) * tokens[:, None].to(vectors.dtype)
    return torch.stack([part.sum(dim=0) for part in weighted.split(list(counts))])


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


def _read(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))
