"""What adding documents costs the question that comes after it in the same process: nothing, where no core is lost."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from children import in_child
from engine_ask import QUESTIONS
from engines import Weights
from ratios import Ratio, Target
from setting import Setting

from memgraph_rag import Memory
from memgraph_rag.models.engine.language_model import TransformersModel
from memgraph_rag.types import Failure

__all__ = ["adding"]

_TEXT_CHARACTERS = 1_500


def adding(setting: Setting) -> Iterator[Ratio]:
    """A question after ``add_many``, against the same question to the same store in a fresh process."""
    texts = [
        setting.text[start : start + _TEXT_CHARACTERS]
        for start in range(0, setting.sizes.texts * _TEXT_CHARACTERS, _TEXT_CHARACTERS)
    ]
    after_adding, fresh = [], []
    for run in range(setting.repeats):
        with tempfile.TemporaryDirectory() as scratch:
            setting.bars("adding: questions", run, setting.repeats)
            store = Path(scratch) / "texts.lbug"
            after_adding.append(in_child(_seconds_of_ask, setting.weights, setting.dtype, store, texts))
            fresh.append(in_child(_seconds_of_ask, setting.weights, setting.dtype, store, []))
    setting.bars("adding: questions", setting.repeats, setting.repeats)
    yield Ratio.of(
        "adding: a question after add_many in one process / in a fresh process", after_adding, fresh,
        target=Target("≤", 1.05), how=f"{len(texts)} texts, entities alone; the second question, all weights loaded",
    )  # fmt: skip


def _seconds_of_ask(weights: Weights, dtype: str, store: Path, texts: Sequence[str]) -> float:  # in a child
    model = TransformersModel(weights.folder, name=weights.name, device="cpu", dtype=dtype)  # loads when it is asked
    with Memory(store, model=model, layers=("entities",)) as memory:
        for outcome in memory.add_many(texts):
            if isinstance(outcome, Failure):
                raise outcome.error
        memory.ask(QUESTIONS[1])
        started = time.perf_counter()
        memory.ask(QUESTIONS[0])
        return time.perf_counter() - started
