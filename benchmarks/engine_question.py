"""Where the seconds of a question go, and after how many the answer begins."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import mean

from engine_ask import QUESTIONS
from engine_capture import forward_sdpa
from ratios import Ratio
from setting import Setting

from memgraph_rag import Memory
from memgraph_rag.models.engine.language_model import TransformersModel
from memgraph_rag.models.engine.session import KVSession
from memgraph_rag.types import Vector

__all__ = ["TimedModel", "question"]

PARTS = {
    "search": "before the first node is read",
    "instruction": "reading the instruction and the question",
    "nodes": "reading nodes, with a probe for Yes behind each",
    "answer": "writing the answer",
    "rest": "all else: looking for further nodes, citations",
}


class TimedModel:
    """A language model whose sessions note how long each thing that they do takes.

    Attributes:
        seconds: by part; since ``restart``.
    """

    def __init__(self, model: TransformersModel) -> None:
        self._model = model
        self.seconds: dict[str, float] = defaultdict(float)
        self._started = 0.0

    def __getattr__(self, name: str) -> object:
        return getattr(self._model, name)

    def restart(self) -> None:
        """Begin with a question."""
        self.seconds.clear()
        self._started = time.perf_counter()

    def open_session(self, question: str) -> KVSession:
        """As the model does."""
        with self.timed("instruction"):
            return _TimedSession(self, self._model, question)

    @contextmanager
    def timed(self, part: str) -> Iterator[None]:
        """Count what happens within for that part; what was before the first node is the search."""
        began = time.perf_counter()
        if part == "nodes" and "search" not in self.seconds:
            self.seconds["search"] = began - self._started - self.seconds["instruction"]
        try:
            yield
        finally:
            self.seconds[part] += time.perf_counter() - began


class _TimedSession(KVSession):
    def __init__(self, clock: TimedModel, model: TransformersModel, question: str) -> None:
        self._clock = clock
        super().__init__(model, question)

    def append(self, texts: Sequence[str]) -> Vector:
        with self._clock.timed("nodes"):
            return super().append(texts)

    def answer(self, *, max_tokens: int, request: str = "") -> Iterator[str]:
        pieces = super().answer(max_tokens=max_tokens, request=request)
        while True:
            with self._clock.timed("answer"):
                piece = next(pieces, None)
            if piece is None:
                return
            yield piece


def question(setting: Setting, questions: Sequence[str] = QUESTIONS) -> Iterator[Ratio]:
    """Questions to a store by the default walk, all models loaded and the index read: parts, and the first piece."""
    if setting.store is None or not setting.store.is_file():
        setting.say("question: left out; name a store that holds the text: --store FILE")
        return
    model = TimedModel(setting.model)
    first: list[float] = []
    whole: list[float] = []
    parts: dict[str, list[float]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as scratch:
        copy = shutil.copy(setting.store, Path(scratch) / "question.lbug")
        with Memory(copy, model=model) as memory:  # type: ignore[arg-type]
            forward_sdpa(setting.model, setting.ids(64))
            memory.search(questions[0])
            for done, asked in enumerate(questions):
                setting.bars("question", done, len(questions))
                model.restart()
                started, pieces = time.perf_counter(), []
                for item in memory.stream(asked):
                    if isinstance(item, str):
                        pieces.append(time.perf_counter() - started)
                whole.append(time.perf_counter() - started)
                first.append(pieces[0])
                for part in PARTS:
                    parts[part].append(model.seconds[part])
                parts["rest"][-1] = whole[-1] - sum(model.seconds.values())
            setting.bars("question", len(questions), len(questions))
    yield Ratio.of("question: seconds to the first piece of the answer / to its end", first, whole)
    for part, what in PARTS.items():
        how = f"{what}; {mean(parts[part]):.2f} s in the mean"
        yield Ratio.of(f"question: {part} / all of it", parts[part], whole, how=how)
