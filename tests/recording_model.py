"""A language model of the tests that keeps what it is asked, and answers as ``FakeLanguageModel`` does."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from memgraph_rag.testing import FakeLanguageModel
from memgraph_rag.types import Generation, Prompt, TurnVerdicts


class NestingModel(FakeLanguageModel):
    """Writes lists in lists, and more tokens than it may, as a hostile server does."""

    def __init__(self) -> None:
        super().__init__(["[" * 9_000], window=20_000)

    def generate(self, prompts: Sequence[Prompt], **options: Any) -> list[Generation]:
        return super().generate(prompts, **options | {"max_tokens": 9_000})


class RecordingModel(FakeLanguageModel):
    """Keeps its prompts and turns.

    Attributes:
        prompts: the prompts of all calls of ``generate``.
        schemas: the schema of each prompt, or None.
        judged: the turns of all calls of ``judge_turns``.
    """

    def __init__(self, replies: Iterable[str] = (), **options: Any) -> None:
        super().__init__(replies, **options)
        self.prompts: list[Prompt] = []
        self.schemas: list[Any] = []
        self.judged: list[str] = []

    def generate(self, prompts: Sequence[Prompt], **options: Any) -> list[Generation]:
        self.prompts += prompts
        self.schemas += [options.get("schema")] * len(prompts)
        return super().generate(prompts, **options)

    def judge_turns(self, question: str, turns: Sequence[str]) -> TurnVerdicts:
        self.judged += turns
        return super().judge_turns(question, turns)
