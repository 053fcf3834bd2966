"""The files of a plain sentence-transformers model, a BERT with mean pooling, and its tokenizer.

The module loads no weights: it tells which models ``NumpyBert`` and ``SentenceBert`` can run. Invariant: no text is
cut; a text that is longer than a pass is read in windows.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from tokenizers import Tokenizer

from memgraph_rag.types import Matrix

WEIGHTS = "model.safetensors"
"""The name of the file of weights."""

_FILES = (
    "config.json",
    WEIGHTS,
    "modules.json",
    "sentence_bert_config.json",
    "tokenizer.json",
    "tokenizer_config.json",
)
_KINDS = (["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"])


class Windows(NamedTuple):
    """The windows of several texts, text after text. One pass of the model reads a window.

    Attributes:
        ids: the token ids of each window, with special tokens.
        counts: the number of windows of each text.
        tokens: the number of tokens of each window, without special tokens, at least 1.
    """

    ids: list[list[int]]
    counts: list[int]
    tokens: list[int]


class BertTokenizer:
    """The tokenizer of a plain BERT.

    Args:
        folder: a folder for which ``is_plain_bert`` returns True.

    Raises:
        Exception: the file cannot be read; tokenizers has no class of error for this.
    """

    def __init__(self, folder: Path) -> None:
        self._longest = int(read_json(folder / "sentence_bert_config.json")["max_seq_length"])
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(self._longest)
        self._special = self._tokenizer.num_special_tokens_to_add(is_pair=False)

    def check_tables(self, *, words: int, positions: int) -> None:
        """Check that the embedding tables, with ``words`` and ``positions`` rows, hold every token and position.

        Raises:
            ValueError: there are fewer rows than tokens or positions.
        """
        for kind, rows, most in (
            ("word", words, self._tokenizer.get_vocab_size()),
            ("position", positions, self._longest),
        ):
            if rows < most:
                raise ValueError(f"{rows} {kind} embeddings instead of at least {most}")

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each whole text, without special tokens."""
        encodings = self._tokenizer.encode_batch(list(texts))
        windows = ((encoding, *encoding.overflowing) for encoding in encodings)
        return [sum(len(window.ids) - self._special for window in some) for some in windows]

    def cut(self, texts: Sequence[str]) -> Windows:
        """Tokenize at least one text, and split each text into windows that one pass of the model can read."""
        encodings = self._tokenizer.encode_batch(list(texts))
        ids = [window.ids for encoding in encodings for window in (encoding, *encoding.overflowing)]
        counts = [1 + len(encoding.overflowing) for encoding in encodings]
        return Windows(ids, counts, [max(len(window) - self._special, 1) for window in ids])


def group_by_length(lengths: Sequence[int], most: int) -> Iterator[list[int]]:
    """Yield groups of texts of similar lengths, which a model reads in one pass, as indices of ``lengths``.

    Args:
        lengths: the length of each text, in any unit. The longest texts come first.
        most: the largest length of a group, padding included, in the same unit. A longer text is a group of its own.
    """
    group: list[int] = []
    for place in sorted(range(len(lengths)), key=lambda place: -lengths[place]):
        if group and (len(group) + 1) * lengths[group[0]] > most:
            yield group
            group = []
        group.append(place)
    if group:
        yield group


def join_windows(vectors: Matrix, tokens: Sequence[int], counts: Sequence[int]) -> Matrix:
    """Return (B, D) vectors: for each text, the sum of its windows' directions, weighted by their tokens.

    Vectors of texts that all have one window are returned as they are.

    Args:
        vectors: (W, D) vectors of the windows, text after text.
        tokens: the number of tokens of each window.
        counts: the number of windows of each of the B texts.
    """
    if len(counts) == len(vectors):
        return vectors
    lengths = np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    weighted = vectors / lengths * np.asarray(tokens, np.float32)[:, None]
    return np.add.reduceat(weighted, np.cumsum([0, *counts[:-1]]), axis=0)


def is_plain_bert(folder: Path) -> bool:
    """Return whether the model in a folder is a plain BERT with mean pooling, which this package runs itself.

    It is False if a file is missing, cannot be read, or holds another setting. Then sentence-transformers runs it.
    """
    try:
        if not all((folder / name).is_file() for name in _FILES):
            return False
        kinds = [module["type"] for module in read_json(folder / "modules.json")]
        pooling, bert = read_json(folder / "1_Pooling" / "config.json"), read_json(folder / "config.json")
        sentences = read_json(folder / "sentence_bert_config.json")
        others = folder / "config_sentence_transformers.json"
        prompts = read_json(others) if others.is_file() else {}
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
            and _tokenizer_files_agree(folder)
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


def read_json(path: Path) -> Any:
    """Return the content of a JSON file."""
    return json.loads(path.read_text("utf-8"))


def _tokenizer_files_agree(folder: Path) -> bool:
    """Return whether tokenizer_config.json, which transformers reads, and tokenizer.json describe one tokenizer."""
    config = read_json(folder / "tokenizer_config.json")
    if config["tokenizer_class"] == "PreTrainedTokenizerFast":  # it reads the second file as it is
        return True
    if config["tokenizer_class"] not in {"BertTokenizer", "BertTokenizerFast"}:
        return False
    return read_json(folder / "tokenizer.json")["normalizer"] == {
        "type": "BertNormalizer",
        "clean_text": True,
        "handle_chinese_chars": config.get("tokenize_chinese_chars", True),
        "strip_accents": config.get("strip_accents"),
        "lowercase": config.get("do_lower_case", True),
    }
