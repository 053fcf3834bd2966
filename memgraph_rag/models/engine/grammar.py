"""Writing under a JSON Schema: the tokens that may come next in one row of a batch.

The module knows the tokenizer and the schema, but no weights, cache or prompt. ``llguidance`` does the work. Invariant:
the tokens that a ``Form`` has taken are the beginning of a JSON text that follows the schema. At the end of the text
the model can only stop.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from llguidance import LLMatcher, LLTokenizer
from torch import Tensor

from memgraph_rag.errors import ModelError
from memgraph_rag.models.engine.sampling import greedy

if TYPE_CHECKING:
    from memgraph_rag.models.engine.tokens import Tokens

_SPACING = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}  # the model does not choose it
_MOST_COMPILED = 64  # schemas
_CLOSING = frozenset("]}")


class Grammars:
    """The JSON Schemas under which one model writes, compiled; the last 64 of them are kept.

    Args:
        tokens: the model's tokenizer.
        vocabulary: length of the model's logits.
    """

    def __init__(self, tokens: Tokens, vocabulary: int) -> None:
        self._tokens = tokens
        self._vocabulary = max(vocabulary, tokens.size)
        self._lock = threading.Lock()
        self._tokenizer: LLTokenizer | None = None
        self._find_matcher = lru_cache(_MOST_COMPILED)(self._compile)

    def form(self, schema: Mapping[str, Any]) -> Form:
        """Return a new ``Form``, which tells the tokens that may come next in a text that follows a JSON Schema.

        Raises:
            ModelError: the schema is not a JSON Schema, or llguidance does not support it.
        """
        schema_text = json.dumps({"x-guidance": _SPACING, **schema})
        with self._lock:
            return Form(self._find_matcher(schema_text).deep_copy(), self._vocabulary)

    def _compile(self, schema: str) -> LLMatcher:
        if self._tokenizer is None:  # takes one or two seconds
            ends = sorted(self._tokens.ends) or None
            self._tokenizer = LLTokenizer(self._tokens.to_json(), n_vocab=self._vocabulary, eos_token=ends)
        matcher = LLMatcher(self._tokenizer, LLMatcher.grammar_from_json_schema(schema))
        if matcher.is_error():
            raise ModelError(
                "Expected a JSON Schema that llguidance supports, got an error for the schema: "
                f"{matcher.get_error()} Remove the keyword that the error names.",
                schema=schema,
            )
        return matcher


class Form:
    """The state of one row under a schema: which tokens it has written and which may follow."""

    def __init__(self, matcher: LLMatcher, vocabulary: int) -> None:
        self._matcher = matcher
        self._mask = np.zeros((vocabulary + 31) // 32, np.int32)

    def mask_allowed(self) -> np.ndarray:
        """Return a (V,) bool mask of the tokens that may come next; at the end, only tokens that end a reply."""
        self._matcher.unsafe_compute_mask_ptr(self._mask.ctypes.data, self._mask.nbytes)
        return np.unpackbits(self._mask.view(np.uint8), bitorder="little").astype(bool)

    def best(self, likeliest: int, logits: Tensor) -> int:
        """Return the allowed token with the largest of (V,) logits.

        Args:
            likeliest: the token with the largest logit of all; the usual result.
        """
        if self._matcher.validate_tokens([likeliest]) == 1:  # the usual case, a hundredth of the work
            return likeliest
        allowed = torch.from_numpy(self.mask_allowed()[: len(logits)]).to(logits.device)
        return int(greedy(logits.masked_fill(~allowed, float("-inf"))))

    def take(self, token: int) -> None:
        """Move on after a token that was written; it must be an allowed token."""
        self._matcher.consume_token(token)

    def guess(self, guess: Sequence[int], most: int) -> list[int]:
        """Return at most ``most`` next tokens: the allowed beginning of a guess, which may be empty.

        If only one continuation is possible, return its tokens instead.
        """
        forced = self._matcher.compute_ff_tokens()[:most]
        return forced or list(guess[: self._matcher.validate_tokens(list(guess))])


def asks_to_stop(piece: str, form: Form | None) -> bool:
    """Return whether a caller's function ``stop`` must be asked after a token with the text ``piece``.

    It is asked after a line end in the token, or with a form after a closing bracket or brace in it.
    """
    return "\n" in piece if form is None else not _CLOSING.isdisjoint(piece)
