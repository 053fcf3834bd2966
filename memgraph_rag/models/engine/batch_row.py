"""A prompt that the model continues, as one row of a batch.

The module knows tokens, but no weights. Invariant: the guesses of a row obey its form.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from torch import Tensor

from memgraph_rag.models.engine.grammar import Form
from memgraph_rag.models.engine.prompt_lookup import PromptLookup
from memgraph_rag.types import Prompt


@dataclass(eq=False)
class BatchRow:
    """A prompt that the model continues, with the tokens and the attention written so far.

    Attributes:
        place: index among the prompts of its call.
        max_tokens: the largest number of tokens to write.
        stop: called with the prompt and the text so far; True ends the row.
        seconds: the row's share of the time of its passes.
        fed_to: the number of slots of the cache that have been written; the tokens after ``tokens_read`` do not count.
    """

    place: int
    prompt: Prompt
    ids: list[int]
    spans: list[tuple[int, int]]
    form: Form | None = None
    max_tokens: int = 0
    stop: Callable[[Prompt, str], bool] | None = None
    written: list[int] = field(default_factory=list)
    attention: list[np.ndarray] = field(default_factory=list)
    finish: str = ""
    seconds: float = 0.0
    fed_to: int = 0
    _lookup: PromptLookup = field(init=False)

    def __post_init__(self) -> None:
        self._lookup = PromptLookup(self.ids)

    @property
    def up_to_task(self) -> list[int]:
        """The prompt up to the end of its inputs, which prompts of other tasks share; empty without inputs or task."""
        return self.ids[: self.spans[-1][1]] if self.spans and self.prompt.task else []

    @property
    def tokens_read(self) -> int:
        """The number of tokens that the model has read: the prompt and all written tokens except the last one."""
        return len(self.ids) + len(self.written) - 1

    @property
    def max_length(self) -> int:
        """The largest number of tokens that the row can reach."""
        return len(self.ids) + self.max_tokens

    def write(self, token: int) -> None:
        """Add a token to the written tokens, to the tokens to guess from, and to the form. No limit is checked."""
        self._lookup.extend([token])
        self.written.append(token)
        if self.form is not None:
            self.form.take(token)

    def best(self, likeliest: int, logits: Tensor) -> int:
        """Return the next token for (V,) logits: with a form the best allowed one, else ``likeliest``, the largest."""
        return likeliest if self.form is None else self.form.best(likeliest, logits)

    def guess(self, most: int) -> list[int]:
        """Return at most ``most`` tokens that are likely to come next and that the form allows; maybe none."""
        guess = self._lookup.guess(most)
        return guess if self.form is None else self.form.guess(guess, most)
