"""The base classes of wrappers: of a wrapper of any part, and of a wrapper that passes on every call of a model.

The module knows only the contract. Invariant: a wrapper has every member of its part, including the optional members
of the contract (``read_written``, ``operations``, ``calibration``). A subclass overrides the members that it changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from memgraph_rag.contracts import LanguageModel
from memgraph_rag.types import Generation, Prompt


class Wrapper:
    """A wrapper that has the optional members of another object.

    Attributes:
        unwrapped: the other object.
    """

    unwrapped: Any

    def __getattr__(self, name: str) -> Any:
        """Return an optional member of the other object.

        Nothing is looked up while the wrapper itself is being made, for example by ``copy``.
        """
        if name == "unwrapped" or name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.unwrapped, name)


class ForwardingModel(Wrapper):
    """A ``LanguageModel`` that passes every call on to another model."""

    unwrapped: LanguageModel

    def __init__(self, model: LanguageModel) -> None:
        self.unwrapped = model

    @property
    def name(self) -> str:
        """The name of the model; see ``LanguageModel.name``."""
        return self.unwrapped.name

    @property
    def window(self) -> int:
        """The number of tokens that the model may hold at a time; see ``LanguageModel.window``."""
        return self.unwrapped.window

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text; see ``LanguageModel.count_tokens``."""
        return self.unwrapped.count_tokens(texts)

    def open_session(self, question: str) -> Any:
        """Return a session; see ``LanguageModel.open_session``. It measures attention if the model does."""
        return self.unwrapped.open_session(question)

    def generate(self, prompts: Sequence[Prompt], **options: Any) -> list[Generation]:
        """Return a generation for each prompt; see ``LanguageModel.generate``."""
        return self.unwrapped.generate(prompts, **options)
