"""A language model whose numbers are kept in a file, so that a reading that was made once need not be made again.

It knows the contracts of model and session. Invariant: what a session gives is what the model gave for the same
question and the same nodes in the same order; tokens and seconds are those of the pass that gave it. Weights of a
strategy can thus be tried, and a long run be interrupted, without running the model again.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from memgraph_rag.contracts import Calibration, LanguageModel, ReadingSession
from memgraph_rag.types import Usage, Vector

__all__ = ["NumberedSession", "Numbers"]

_LINE_TOKENS = 3  # the bullet mark and the newline around a node
_ROOM = 512  # for the probe, a request and the answer


class Numbers:
    """What a model gave, by what it was given; each new number is written at once."""

    def __init__(self, path: Path, model: LanguageModel, calibration: Calibration | None) -> None:
        self.model = model
        self.calibration = calibration
        self.made = 0
        """Passes that the model itself made."""
        self._path = path
        self._held: dict[str, dict[str, Any]] = {}
        if path.is_file():
            with path.open(encoding="utf-8") as lines:
                self._held = {row["key"]: row for row in map(json.loads, lines)}

    def open_session(self, question: str) -> NumberedSession:
        """A session whose model is run only for what is not held."""
        return NumberedSession(self, question)

    def find(self, *about: object) -> dict[str, Any] | None:
        """What is held under a key."""
        return self._held.get(self._key(about))

    def keep(self, row: dict[str, Any], *about: object) -> None:
        """Write a row under a key."""
        key = self._key(about)
        self._held[key] = {"key": key, **row}
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(self._held[key], ensure_ascii=False) + "\n")

    def _key(self, about: tuple[object, ...]) -> str:
        return sha256(json.dumps([self.model.name, self.calibration is not None, *about]).encode()).hexdigest()[:32]


class NumberedSession:
    """A ``ReadingSession`` over held numbers; where one is missing, the model's own session is brought up."""

    attends = True
    is_graded = True

    def __init__(self, numbers: Numbers, question: str) -> None:
        self.calibration = numbers.calibration
        self.usage = Usage(prompt_tokens=numbers.model.count_tokens([question])[0])
        self._numbers = numbers
        self._question = question
        self._about = question
        """By what its numbers are kept: those of an uncalibrated session are others."""
        self._read: list[str] = []
        self._lengths: list[int] = []  # nodes held before each call of append
        self._live: ReadingSession | None = None
        self._live_read: list[str] = []

    def ignore_calibration(self) -> None:
        """See ``ReadingSession.ignore_calibration``."""
        if self.calibration is not None:
            self.calibration = None
            self._about = f"{self._question}\n(uncalibrated)"

    @property
    def tokens_left(self) -> int:
        """How many tokens of nodes still fit."""
        return self._numbers.model.window - self.usage_of_nodes - _ROOM

    @property
    def usage_of_nodes(self) -> int:
        """Tokens of what is held now."""
        return sum(self._numbers.model.count_tokens(self._read)) + _LINE_TOKENS * len(self._read)

    def append(self, texts: Sequence[str]) -> Vector:
        """See ``ReadingSession.append``; the model reads node after node, so that each number is kept."""
        length, attention = len(self._read), []
        for text in texts:
            row = self._numbers.find(self._about, [*self._read, text]) or self._measured(text)
            self._read.append(text)
            self.usage += Usage(row["tokens"], 0, 1, row["seconds"])
            attention.append(row["attention"])
        if texts:
            self._lengths.append(length)
        return np.array(attention, np.float32)

    def _measured(self, text: str) -> dict[str, Any]:
        """Let the model read one more text."""
        live = self._brought_up()
        before, started = live.usage, time.perf_counter()
        (attention,) = live.append([text]).tolist()
        p_yes = live.probability_of_yes()
        self._live_read.append(text)
        self._numbers.made += 1
        tokens, seconds = live.usage.prompt_tokens - before.prompt_tokens, time.perf_counter() - started
        row = {"attention": attention, "p_yes": p_yes, "tokens": tokens, "seconds": round(seconds, 3)}
        self._numbers.keep(row, self._about, self._live_read)
        return row

    def _brought_up(self) -> ReadingSession:
        """The model's session, holding what this one holds."""
        if self._live is None:
            self._live = self._numbers.model.open_session(self._question)
            if self.calibration is None:
                self._live.ignore_calibration()
        same = 0
        for held, wanted in zip(self._live_read, self._read, strict=False):
            if held != wanted:
                break
            same += 1
        self._live.take_back(len(self._live_read) - same)
        self._live_read = self._live_read[:same]
        for text in self._read[same:]:
            self._live.append([text])
        self._live_read = list(self._read)
        return self._live

    def probability_of_yes(self) -> float:
        """See ``ReadingSession.probability_of_yes``."""
        row = self._numbers.find(self._about, self._read)
        if row is None:
            row = {"p_yes": self._brought_up().probability_of_yes()}
            self._numbers.keep(row, self._about, self._read)
        return row["p_yes"]

    def judge(self, request: str) -> float:
        """See ``ReadingSession.judge``."""
        row = self._numbers.find(self._about, self._read, request)
        if row is None:
            row = {"p_yes": self._brought_up().judge(request)}
            self._numbers.keep(row, self._about, self._read, request)
        return row["p_yes"]

    def take_back(self, calls: int) -> None:
        """See ``ReadingSession.take_back``."""
        for _ in range(calls):
            del self._read[self._lengths.pop() :]

    def reply(self, request: str, *, max_tokens: int, temperature: float = 0.0, seed: int = 0) -> str:
        """See ``ReadingSession.reply``."""
        about = (self._about, self._read, request, max_tokens, temperature, seed)
        row = self._numbers.find(*about)
        if row is None:
            live = self._brought_up()
            before, started = live.usage, time.perf_counter()
            said = live.reply(request, max_tokens=max_tokens, temperature=temperature, seed=seed)
            row = {
                "said": said,
                "tokens": live.usage.prompt_tokens - before.prompt_tokens,
                "written": live.usage.generated_tokens - before.generated_tokens,
                "seconds": round(time.perf_counter() - started, 3),
            }
            self._numbers.made += 1
            self._numbers.keep(row, *about)
        self.usage += Usage(row["tokens"], row["written"], 1, row["seconds"])
        return row["said"]

    def answer(self, *, max_tokens: int, request: str = "") -> Iterator[str]:
        """See ``ReadingSession.answer``; not kept."""
        yield from self._brought_up().answer(max_tokens=max_tokens, request=request)

    def __enter__(self) -> NumberedSession:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.__exit__(kind, error, trace)
