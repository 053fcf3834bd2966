"""Writing under a JSON Schema: which tokens may come next, for one row of a batch at a time.

It knows the tokenizer and the schema; no weights, no cache, no prompt. The work is ``llguidance``'s. Invariant: what a
``Form`` has taken is a beginning of a JSON text that follows the schema, and at its end the model can only stop.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from llguidance import LLMatcher, LLTokenizer
from torch import Tensor

from memgraph_rag.errors import ModelError
from memgraph_rag.models.engine.sampling import greedy

if TYPE_CHECKING:
    from memgraph_rag.models.engine.tokens import Tokens

__all__ = ["Form", "Grammars", "asks_to_stop"]

_SPACING = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}  # no token for a choice of it
_CLOSING = frozenset("]}")


class Grammars:
    """The schemas of one model, each compiled once.

    Args:
        vocabulary: length of the model's logits.
    """

    def __init__(self, tokens: Tokens, vocabulary: int) -> None:
        self._tokens = tokens
        self._vocabulary = max(vocabulary, tokens.size)
        self._lock = threading.Lock()
        self._tokenizer: LLTokenizer | None = None
        self._compiled: dict[str, LLMatcher] = {}

    def form(self, schema: Mapping[str, Any]) -> Form:
        """A form that nothing is written to yet.

        Raises:
            ModelError: it is no JSON Schema, or asks for what cannot be decoded under.
        """
        asked = json.dumps({"x-guidance": _SPACING, **schema})
        with self._lock:
            if asked not in self._compiled:
                self._compiled[asked] = self._compile(asked)
            return Form(self._compiled[asked].deep_copy(), self._vocabulary)

    def _compile(self, schema: str) -> LLMatcher:
        if self._tokenizer is None:  # takes one or two seconds
            ends = sorted(self._tokens.ends) or None
            self._tokenizer = LLTokenizer(self._tokens.serialised(), n_vocab=self._vocabulary, eos_token=ends)
        matcher = LLMatcher(self._tokenizer, LLMatcher.grammar_from_json_schema(schema))
        if matcher.is_error():
            raise ModelError(
                f"Expected a JSON Schema that can be written under, got one that it refuses: {matcher.get_error()}",
                schema=schema,
            )
        return matcher


class Form:
    """A schema, filled in as far as one row has written."""

    def __init__(self, matcher: LLMatcher, vocabulary: int) -> None:
        self._matcher = matcher
        self._mask = np.zeros((vocabulary + 31) // 32, np.int32)

    def allowed(self) -> np.ndarray:
        """(V,) bool: which tokens may come next; at the end only those that end a reply."""
        self._matcher.unsafe_compute_mask_ptr(self._mask.ctypes.data, self._mask.nbytes)
        return np.unpackbits(self._mask.view(np.uint8), bitorder="little").astype(bool)

    def best(self, likeliest: int, logits: Tensor) -> int:
        """The allowed token of the largest of (V,) logits, of which ``likeliest`` is the largest of all."""
        if self._matcher.validate_tokens([likeliest]) == 1:  # most often, and a hundredth of the work
            return likeliest
        allowed = torch.from_numpy(self.allowed()[: len(logits)]).to(logits.device)
        return int(greedy(logits.masked_fill(~allowed, float("-inf"))))

    def take(self, token: int) -> None:
        """Go on behind a token that was written."""
        self._matcher.consume_token(token)

    def guess(self, guess: Sequence[int], most: int) -> list[int]:
        """Of a guess of the next tokens those that may come; where only one text can come, its tokens instead."""
        forced = self._matcher.compute_ff_tokens()[:most]
        return forced or list(guess[: self._matcher.validate_tokens(list(guess))])


def asks_to_stop(piece: str, form: Form | None) -> bool:
    """Whether ``stop`` is asked behind this token's text: at a line end; under a schema where a list or object ends."""
    return "\n" in piece if form is None else not _CLOSING.isdisjoint(piece)
