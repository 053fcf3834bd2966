"""A prompt on its way through the model, among the others of its batch.

It knows tokens and no weights. Invariant: what it guesses obeys its form.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from torch import Tensor

from memgraph_rag.models.engine.grammar import Form
from memgraph_rag.models.engine.prompt_lookup import PromptLookup
from memgraph_rag.types import Prompt

__all__ = ["BatchRow"]


@dataclass(eq=False)
class BatchRow:
    """One prompt on its way through the model.

    Attributes:
        max_tokens: most tokens written to it.
        stop: asked with prompt and text so far whether it ends there.
        fed_to: behind its last slot in the cache that was written to; beyond ``held`` they do not count.
    """

    place: int  # among the prompts
    prompt: Prompt
    ids: list[int]
    spans: list[tuple[int, int]]
    form: Form | None = None
    max_tokens: int = 0
    stop: Callable[[Prompt, str], bool] | None = None
    written: list[int] = field(default_factory=list)
    attention: list[np.ndarray] = field(default_factory=list)
    finish: str = ""
    seconds: float = 0.0  # its share of the time of the passes it took part in
    fed_to: int = 0
    _lookup: PromptLookup = field(init=False)

    def __post_init__(self) -> None:
        self._lookup = PromptLookup(self.ids)

    @property
    def up_to_task(self) -> list[int]:
        """The tokens up to the end of its inputs: those that prompts with another task begin with too."""
        return self.ids[: self.spans[-1][1]] if self.spans and self.prompt.task else []

    @property
    def held(self) -> int:
        """How many tokens were read: all but the last one written."""
        return len(self.ids) + len(self.written) - 1

    @property
    def longest(self) -> int:
        """How many tokens it may come to."""
        return len(self.ids) + self.max_tokens

    def write(self, token: int) -> None:
        """Add a token to what is written."""
        self._lookup.extend([token])
        self.written.append(token)
        if self.form is not None:
            self.form.take(token)

    def best(self, likeliest: int, logits: Tensor) -> int:
        """The token to write by (V,) logits, of which ``likeliest`` is the largest."""
        return likeliest if self.form is None else self.form.best(likeliest, logits)

    def guess(self, most: int) -> list[int]:
        """At most so many tokens that may well come next."""
        guess = self._lookup.guess(most)
        return guess if self.form is None else self.form.guess(guess, most)
