"""Two models as one: the pen writes, says Yes and answers; the eye reads what was written, and attends.

The pen is most often a large model behind an address, the eye a small one whose weights are here. It knows both by
their contracts. Invariants: every word that a person sees is the pen's; every attention is the eye's, of the same texts
behind the same inputs; both hold the same nodes.

Source: PECAN, sections 3.1 and 3.2, with the model that writes and the one that is looked at taken apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any

import numpy as np
from typing_extensions import Self

from memgraph_rag.contracts import (
    UNCALIBRATED_YES,
    AttentiveModel,
    Calibration,
    LanguageModel,
    Progress,
    ReadingSession,
)
from memgraph_rag.errors import WindowExceeded
from memgraph_rag.types import Generation, Prompt, Usage, Vector

__all__ = ["PenAndEye", "PenAndEyeSession"]


class PenAndEye:
    """An ``AttentiveModel`` of two."""

    def __init__(self, pen: LanguageModel, eye: AttentiveModel) -> None:
        self.pen = pen
        self.eye = eye
        self.name = f"{pen.name} + {eye.name}"

    @property
    def window(self) -> int:
        """How many tokens both may hold at once."""
        return min(self.pen.window, self.eye.window)

    @property
    def parameters(self) -> int:
        """How many weights both have, as far as that is known; loads the eye's."""
        return self.pen.parameters + self.eye.parameters

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """The eye's, which counts exactly."""
        return self.eye.count_tokens(texts)

    def generate(
        self,
        prompts: Sequence[Prompt],
        *,
        max_tokens: int,
        stop: Callable[[Prompt, str], bool] | None = None,
        schema: Mapping[str, Any] | None = None,
        progress: Progress | None = None,
    ) -> list[Generation]:
        """What the pen writes, with what the eye attends to when it reads that behind the inputs, in one pass.

        What is written under a schema is taken apart, not weighed: the eye does not look.

        Raises:
            WindowExceeded: a prompt and ``max_tokens`` do not fit the window.
            ModelUnavailable: the pen's server did not answer.
            ModelError: the schema is none.
        """
        written = self.pen.generate(prompts, max_tokens=max_tokens, stop=stop, schema=schema, progress=progress)
        if schema is not None:
            return written
        read = self.eye.read_written(prompts, [generation.text for generation in written])
        return [
            replace(look, finish=generation.finish, usage=generation.usage + look.usage, was_kept=generation.was_kept)
            for generation, look in zip(written, read, strict=True)
        ]

    def read_written(self, prompts: Sequence[Prompt], texts: Sequence[str]) -> list[Generation]:
        """See ``AttentiveModel.read_written``: the eye's."""
        return self.eye.read_written(prompts, texts)

    def open_session(self, question: str) -> PenAndEyeSession:
        """A session of each that holds the question and no node.

        Raises:
            QuestionError: the question alone does not fit a window.
        """
        return PenAndEyeSession(self.pen.open_session(question), self.eye.open_session(question))


@dataclass(frozen=True, slots=True)
class _JoinedCalibration:
    """How far to trust the eye's attention, and the pen's Yes as far as it is known."""

    attention_weight: float
    yes_threshold: float = UNCALIBRATED_YES
    unsupported_below: float = 0.0


class PenAndEyeSession:
    """Two reading sessions with the same question and nodes. A context manager; leaving it leaves both."""

    attends = True

    def __init__(self, pen: ReadingSession, eye: ReadingSession) -> None:
        self._pen = pen
        self.eye = eye
        self._says_yes: ReadingSession = pen if pen.is_graded else eye
        """Whose P(Yes) counts: the pen's where it is a probability."""

    @property
    def is_graded(self) -> bool:
        """Whether P(Yes) is a probability."""
        return self._says_yes.is_graded

    @property
    def calibration(self) -> Calibration | None:
        """The eye's of attention, and that of the one who says Yes."""
        of_eye, of_pen = self.eye.calibration, self._pen.calibration
        if self._says_yes is self.eye or of_eye is None:
            return of_eye
        if of_pen is None:
            return _JoinedCalibration(of_eye.attention_weight)
        return _JoinedCalibration(of_eye.attention_weight, of_pen.yes_threshold, of_pen.unsupported_below)

    def ignore_calibration(self) -> None:
        """See ``ReadingSession.ignore_calibration``; of both."""
        self._pen.ignore_calibration()
        self.eye.ignore_calibration()

    @property
    def usage(self) -> Usage:
        """What both have cost."""
        return self._pen.usage + self.eye.usage

    @property
    def tokens_left(self) -> int:
        """How many tokens of nodes still fit both."""
        return min(self._pen.tokens_left, self.eye.tokens_left)

    def append(self, texts: Sequence[str]) -> Vector:
        """Read nodes; (n,) attention of each to the question, by the eye.

        Raises:
            WindowExceeded: they do not fit; nothing was read.
        """
        if not texts:
            return np.zeros(0, np.float32)
        self._pen.append(texts)
        try:
            return self.eye.append(texts)
        except WindowExceeded:
            self._pen.take_back(1)
            raise

    def take_back(self, calls: int) -> None:
        """See ``ReadingSession.take_back``; of both."""
        self._pen.take_back(calls)
        self.eye.take_back(calls)

    def probability_of_yes(self) -> float:
        """P(Yes) by the pen where that is a probability, else by the eye."""
        return self._says_yes.probability_of_yes()

    def judge(self, request: str) -> float:
        """P(Yes) to another question, by whom ``probability_of_yes`` is.

        Raises:
            WindowExceeded: the request does not fit; nothing was read.
        """
        return self._says_yes.judge(request)

    def reply(self, request: str, *, max_tokens: int, temperature: float = 0.0, seed: int = 0) -> str:
        """What the pen says to a request made behind what was read.

        Raises:
            WindowExceeded: the request does not fit; nothing was read.
        """
        return self._pen.reply(request, max_tokens=max_tokens, temperature=temperature, seed=seed)

    def answer(self, *, max_tokens: int, request: str = "") -> Iterator[str]:
        """The pen's answer in pieces, from what was read."""
        return self._pen.answer(max_tokens=max_tokens, request=request)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pen.__exit__(kind, error, trace)
        self.eye.__exit__(kind, error, trace)
