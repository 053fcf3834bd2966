"""A limit on what the language model may read and write while documents are added.

It knows no document and no store. Invariants: nothing is asked of the model once the limit is reached; what it has
finished is given again at no cost, so that documents that need no more of it can still be stored.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

from memgraph_rag.contracts import Embedder, EntityRecognizer, LanguageModel, Models, Parser, Progress
from memgraph_rag.errors import TokenLimitReached
from memgraph_rag.models.engine.prompts import prompt_text
from memgraph_rag.models.wrappers.forwarding import ForwardingModel
from memgraph_rag.types import Generation, Prompt

__all__ = ["LimitedModel", "LimitedModels"]

_AT_ONCE = 16  # prompts; after each such round the tokens are counted


class LimitedModel(ForwardingModel):
    """A language model that writes until so many tokens were read and written; then ``TokenLimitReached``.

    The tokens are those that the model reports. It is asked for as many prompts at a time as the rest of the limit
    holds, so the limit is passed by what is written to these, and by one prompt at most. What a journal had kept of an
    earlier call costs nothing. What a session costs is not limited here.
    """

    def __init__(self, model: LanguageModel, most: int) -> None:
        super().__init__(model)
        self._most = most
        self._spent = 0
        self._written: dict[tuple[Prompt, int, str], Generation] = {}

    @property
    def is_spent(self) -> bool:
        """Whether the limit is reached."""
        return self._spent >= self._most

    def generate(
        self,
        prompts: Sequence[Prompt],
        *,
        max_tokens: int,
        stop: Callable[[Prompt, str], bool] | None = None,
        schema: Mapping[str, Any] | None = None,
        progress: Progress | None = None,
    ) -> list[Generation]:
        """See ``LanguageModel.generate``.

        Raises:
            TokenLimitReached: a prompt is left that was not finished before the limit was reached.
        """
        form = json.dumps(schema, sort_keys=True)
        keys = [(prompt, max_tokens, form) for prompt in prompts]
        left = [key for key in dict.fromkeys(keys) if key not in self._written]
        while left:
            self.require_room()
            batch = left[: self._that_fit(left)]
            done = len(prompts) - len(left)
            written = self.unwrapped.generate(
                [prompt for prompt, *_ in batch], max_tokens=max_tokens, stop=stop, schema=schema,
                progress=progress and _shifted(progress, done, len(prompts)),
            )  # fmt: skip
            self._written.update(zip(batch, written, strict=True))
            self._spent += sum(_cost(generation) for generation in written)
            left = left[len(batch) :]
        return [self._written[key] for key in keys]

    def require_room(self) -> None:
        """Refuse once the limit is reached.

        Raises:
            TokenLimitReached: it is.
        """
        if self.is_spent:
            raise TokenLimitReached(
                f"Expected at most {self._most:,} tokens of {self.name} in this call, got {self._spent:,}. Call it "
                "again to go on: what is stored is not built twice, what was written so far is not paid twice.",
                limit=self._most, tokens=self._spent,
            )  # fmt: skip

    def _that_fit(self, left: Sequence[tuple[Prompt, int, str]]) -> int:
        """How many of the next prompts the rest of the limit holds; at least one."""
        rest = self._most - self._spent
        costs = self.unwrapped.count_tokens([prompt_text(prompt)[0] for prompt, *_ in left[:_AT_ONCE]])
        for count, cost in enumerate(costs):
            if cost > rest:
                return max(count, 1)
            rest -= cost
        return len(costs)

    def settle(self) -> None:
        """What was written so far is stored: it is not given again."""
        self._written.clear()


class LimitedModels:
    """``Models`` whose language model has a limit."""

    def __init__(self, models: Models, most: int) -> None:
        self._models = models
        self._most = most

    def shared_by(self, workers: int) -> LimitedModels:
        """The models of one of so many workers, with its share of the limit, of which nothing is spent."""
        return LimitedModels(self._models, max(1, self._most // workers))

    @cached_property
    def limited(self) -> LimitedModel:
        """The language model, with its limit."""
        return LimitedModel(self._models.language, self._most)

    @property
    def language(self) -> LanguageModel:
        """The language model.

        Raises:
            ModelNotFound: there is none here.
        """
        return self.limited

    @property
    def embedder(self) -> Embedder:
        """The embedding model."""
        return self._models.embedder

    @property
    def recognizer(self) -> EntityRecognizer:
        """What finds names."""
        return self._models.recognizer

    @property
    def parser(self) -> Parser | None:
        """What finds the grammar of a clause."""
        return self._models.parser

    def settle(self) -> None:
        """All that was built is stored."""
        if "limited" in vars(self):  # else no model was asked, and there may be none
            self.limited.settle()
        self._models.settle()


def _cost(generation: Generation) -> int:
    usage = generation.usage
    return 0 if generation.was_kept else usage.prompt_tokens + usage.generated_tokens


def _shifted(progress: Progress, before: int, total: int) -> Progress:
    """The progress of a round as that of the whole."""

    def report(what: str, done: int, _: int) -> None:
        progress(what, before + done, total)

    return report
