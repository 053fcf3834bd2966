"""A limit on the tokens that the language model reads and writes while documents are added.

The module does not know documents or a store. Invariants: after the limit is reached, the model gets no more calls;
finished generations are returned again at no cost, so that documents that need nothing more can still be stored.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from memgraph_rag.contracts import Embedder, EntityRecognizer, LanguageModel, Models, Progress
from memgraph_rag.errors import TokenLimitReached
from memgraph_rag.models.engine.prompts import prompt_text
from memgraph_rag.models.wrappers.forwarding import ForwardingModel
from memgraph_rag.types import Generation, Prompt

_AT_ONCE = 16  # prompts in a round; the tokens are counted after each round


class LimitedModel(ForwardingModel):
    """A language model that raises ``TokenLimitReached`` after a number of tokens was read and written.

    The model reports the tokens itself. Each round takes as many prompts as the rest of the limit holds, at least one.
    So the limit may be exceeded by the output of one round and by one prompt. Generations from a journal cost nothing.
    Sessions are not limited.

    Args:
        model: the model to limit.
        most: the largest number of tokens.
    """

    def __init__(self, model: LanguageModel, most: int) -> None:
        super().__init__(model)
        self._most = most
        self._spent = 0
        self._written: dict[tuple[Prompt, int, str], Generation] = {}

    def generate(
        self,
        prompts: Sequence[Prompt],
        *,
        max_tokens: int,
        schema: Mapping[str, Any] | None = None,
        progress: Progress | None = None,
        **options: Any,
    ) -> list[Generation]:
        """Return a generation for each prompt; see ``LanguageModel.generate``.

        A prompt that was finished since the last ``settle``, with the same ``max_tokens`` and ``schema``, is not
        written again, whatever its ``stop``. Equal prompts of a call are written once.

        Raises:
            TokenLimitReached: the limit was reached before all prompts were finished. Finished generations are kept for
                the next call.
        """
        form = json.dumps(schema, sort_keys=True)
        keys = [(prompt, max_tokens, form) for prompt in prompts]
        left = [key for key in dict.fromkeys(keys) if key not in self._written]
        while left:
            self.require_room()
            batch = left[: self._count_fitting(left)]
            done = len(prompts) - len(left)
            written = self.unwrapped.generate(
                [prompt for prompt, *_ in batch], max_tokens=max_tokens, schema=schema,
                progress=progress and _shift_progress(progress, done, len(prompts)), **options,
            )  # fmt: skip
            self._written.update(zip(batch, written, strict=True))
            self._spent += sum(_cost(generation) for generation in written)
            left = left[len(batch) :]
        return [self._written[key] for key in keys]

    def require_room(self) -> None:
        """Raise an error if the limit is reached.

        Raises:
            TokenLimitReached: the limit is reached.
        """
        if self._spent >= self._most:
            raise TokenLimitReached(
                f"Expected at most {self._most:,} tokens of {self.name} in this call, got {self._spent:,}. Call it "
                "again to go on: stored documents are not built again, and finished texts are not paid again.",
                limit=self._most, tokens=self._spent,
            )  # fmt: skip

    def _count_fitting(self, left: Sequence[tuple[Prompt, int, str]]) -> int:
        """Return how many of the next prompts the rest of the limit holds; at least one."""
        rest = self._most - self._spent
        costs = self.unwrapped.count_tokens([prompt_text(prompt)[0] for prompt, *_ in left[:_AT_ONCE]])
        for count, cost in enumerate(costs):
            if cost > rest:
                return max(count, 1)
            rest -= cost
        return len(costs)

    def settle(self) -> None:
        """Forget the finished generations, because their documents are stored. The spent tokens still count."""
        self._written.clear()


class LimitedModels:
    """``Models`` whose language model has a limit on its tokens."""

    def __init__(self, models: Models, most: int) -> None:
        self._models = models
        self._most = most

    def divide_among(self, workers: int) -> LimitedModels:
        """Return the models for one of several workers, with an equal share of the whole limit, at least one token."""
        return LimitedModels(self._models, max(1, self._most // workers))

    @cached_property
    def limited(self) -> LimitedModel:
        """The language model with its limit, always the same object."""
        return LimitedModel(self._models.language, self._most)

    @property
    def language(self) -> LanguageModel:
        """The language model with its limit.

        Raises:
            ModelNotFound: there is no language model.
        """
        return self.limited

    @property
    def embedder(self) -> Embedder:
        """The embedding model, without a limit; see ``Models.embedder``."""
        return self._models.embedder

    @property
    def recognizer(self) -> EntityRecognizer:
        """The recognizer, which finds names; see ``Models.recognizer``."""
        return self._models.recognizer

    def settle(self) -> None:
        """Forget finished work, because everything built so far is stored. The spent tokens still count."""
        if "limited" in vars(self):  # otherwise there may be no language model
            self.limited.settle()
        self._models.settle()


def _cost(generation: Generation) -> int:
    usage = generation.usage
    return 0 if generation.was_kept else usage.prompt_tokens + usage.generated_tokens


def _shift_progress(progress: Progress, before: int, total: int) -> Progress:
    """Return a function that reports the progress of a round as progress of the whole call."""

    def report(what: str, done: int, _: int) -> None:
        progress(what, before + done, total)

    return report
