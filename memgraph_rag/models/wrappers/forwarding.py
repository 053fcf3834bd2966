"""A language model that passes on what it does not change: the base of wrappers.

It knows the contract only. Invariant: a wrapper has every member of its model, those that the contract leaves to choice
included (``read_written``, ``calibration``); a subclass overrides what it is about.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from memgraph_rag.contracts import LanguageModel, Progress
from memgraph_rag.types import Generation, Prompt

__all__ = ["ForwardingModel"]


class ForwardingModel:
    """A ``LanguageModel`` around another one.

    Attributes:
        unwrapped: the other one.
    """

    def __init__(self, model: LanguageModel) -> None:
        self.unwrapped = model

    @property
    def name(self) -> str:
        """See ``LanguageModel.name``."""
        return self.unwrapped.name

    @property
    def window(self) -> int:
        """See ``LanguageModel.window``."""
        return self.unwrapped.window

    @property
    def parameters(self) -> int:
        """See ``LanguageModel.parameters``."""
        return self.unwrapped.parameters

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """See ``LanguageModel.count_tokens``."""
        return self.unwrapped.count_tokens(texts)

    def open_session(self, question: str) -> Any:
        """See ``LanguageModel.open_session``; the session attends where the model does."""
        return self.unwrapped.open_session(question)

    def generate(
        self,
        prompts: Sequence[Prompt],
        *,
        max_tokens: int,
        stop: Callable[[Prompt, str], bool] | None = None,
        schema: Mapping[str, Any] | None = None,
        progress: Progress | None = None,
    ) -> list[Generation]:
        """See ``LanguageModel.generate``."""
        return self.unwrapped.generate(prompts, max_tokens=max_tokens, stop=stop, schema=schema, progress=progress)

    def __getattr__(self, name: str) -> Any:
        """Look up what the contract leaves to choice; nothing while the wrapper itself is made, as by ``copy``."""
        if name == "unwrapped" or name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.unwrapped, name)
