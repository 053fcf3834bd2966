"""What tests of plans share: a model that writes one plan whatever it is asked, and the end of a plan's work."""

from __future__ import annotations

import json
from collections.abc import Generator, Sequence
from typing import Any

import numpy as np

from memgraph_rag.errors import ModelError
from memgraph_rag.testing import FakeLanguageModel
from memgraph_rag.types import Generation, Prompt, Usage


def write_plan(**fields: object) -> str:
    return json.dumps({"plan": "direct", "things": [], "how": "same", "phrase": "", "ask": ""} | fields)


HOP = {"plan": "hop", "phrase": "the director of Solaris", "ask": "Who directed Solaris?"}
COMPARISON = {"plan": "compare", "things": ["Ann Lee", "Bo Ray"], "how": "earlier", "ask": "When was {} born?"}


class PlanningModel(FakeLanguageModel):
    """A model that writes one text whatever it is asked, or fails."""

    def __init__(self, text: str | ModelError) -> None:
        super().__init__()
        self.text = text

    def generate(self, prompts: Sequence[Prompt], **_: object) -> list[Generation]:
        if isinstance(self.text, ModelError):
            raise self.text
        text = self.text
        return [Generation(text, np.empty((0, 2), int), None, "end", Usage(9, 5, 1)) for _ in prompts]


def finish(work: Generator[Any, None, Any]) -> Any:
    """Run a generator to its end, and return what it returns there."""
    while True:
        try:
            next(work)
        except StopIteration as ended:
            return ended.value
