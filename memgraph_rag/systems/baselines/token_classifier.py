"""The compressor of LLMLingua-2: an encoder that says of each word of a text whether it is kept.

It does not know the graph. Invariants: weights are loaded at the first use; a text longer than a pass is read in parts,
so that each word has a probability.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memgraph_rag.errors import ModelNotFound
from memgraph_rag.models.files.model_files import model_files
from memgraph_rag.types import Vector

_KEPT = 1  # the class of tokens that are kept, as released
_MOST_TOKENS = 512  # of one pass


class TokenClassifier:
    """A token classifier of transformers with two classes, such as microsoft/llmlingua-2-xlm-roberta-large-meetingbank.

    Args:
        folder: its folder, or its name on the model hub.
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._loading = threading.Lock()
        self._parts: tuple[Any, Any] | None = None

    def keep_probabilities(self, text: str) -> tuple[NDArray[np.int64], Vector]:
        """Return (W, 2) the characters of each word, and (W,) the mean probability that its tokens are kept.

        Raises:
            ModelNotFound: there is no such classifier.
        """
        import torch

        tokenizer, model = self._load()
        chunks = tokenizer(
            text,
            truncation=True,
            max_length=min(_MOST_TOKENS, model.config.max_position_embeddings),
            return_overflowing_tokens=True,
            return_offsets_mapping=True,
        )
        spans: list[tuple[int, int]] = []
        means: list[float] = []
        for place, (ids, offsets) in enumerate(zip(chunks["input_ids"], chunks["offset_mapping"], strict=True)):
            with torch.inference_mode():
                logits = model(torch.tensor([ids], device=model.device)).logits[0].float()
            kept = logits.softmax(dim=-1)[:, _KEPT].tolist()
            words: dict[int, list[int]] = {}
            for token, word in enumerate(chunks.word_ids(place)):
                if word is not None:
                    words.setdefault(word, []).append(token)
            for tokens in words.values():
                spans.append((offsets[tokens[0]][0], offsets[tokens[-1]][1]))
                means.append(sum(kept[token] for token in tokens) / len(tokens))
        return np.array(spans, np.int64).reshape(-1, 2), np.array(means, np.float32)

    def _load(self) -> tuple[Any, Any]:
        """Return the tokenizer and the network."""
        with self._loading:
            if self._parts is None:
                from transformers import AutoModelForTokenClassification, AutoTokenizer

                from memgraph_rag.models.engine.hardware import find_device  # loads PyTorch

                with model_files(
                    f"a token classifier of transformers in {self._folder or 'a folder'}",
                    "Give the folder of the encoder of LLMLingua-2 as the argument folder.",
                    name=self._folder,
                    error=ModelNotFound,
                ):
                    if not self._folder:
                        raise ValueError("no folder was given")
                    network = AutoModelForTokenClassification.from_pretrained(self._folder, trust_remote_code=False)
                    tokenizer = AutoTokenizer.from_pretrained(self._folder, trust_remote_code=False)
                    self._parts = tokenizer, network.eval().to(find_device("auto"))
            return self._parts
