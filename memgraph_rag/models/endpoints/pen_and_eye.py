"""Two models joined as one: the pen writes, judges and answers; the eye reads the text and measures attention.

The pen is usually a large model on a server, the eye a small model with local weights. The module knows both by their
contracts. Invariants: the pen writes every word that a user sees; the eye measures every attention, for the same texts
after the same inputs; both sessions hold the same nodes.

Source: PECAN, sections 3.1 and 3.2, with separate models for writing and for attention.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
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


class PenAndEye:
    """An ``AttentiveModel`` made of two models.

    Args:
        pen: the model that writes.
        eye: the model that measures attention.
    """

    def __init__(self, pen: LanguageModel, eye: AttentiveModel) -> None:
        self.pen = pen
        self.eye = eye
        self.name = f"{pen.name} + {eye.name}"

    @property
    def window(self) -> int:
        """The number of tokens that both models may hold at a time: the smaller of their windows."""
        return min(self.pen.window, self.eye.window)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text for the eye, which counts exactly."""
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
        """Return the texts that the pen writes, with the attention of the eye to each input.

        The eye reads each text after its inputs in one pass, after the pen has written all texts. Under a schema there
        is no attention, and the eye reads nothing.

        Raises:
            WindowExceeded: a prompt and ``max_tokens`` do not fit the pen's window, or a prompt and its text do not fit
                the eye's window.
            ModelUnavailable: the pen's server did not answer.
            ModelError: the schema is invalid, or the pen's server refused a request.
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
        """Return the eye's generations of texts; see ``AttentiveModel.read_written``. The pen is not asked."""
        return self.eye.read_written(prompts, texts)

    def open_session(self, question: str) -> PenAndEyeSession:
        """Return a session that joins a session of each model. It holds the question and no node."""
        return PenAndEyeSession(self.pen.open_session(question), self.eye.open_session(question))


@dataclass(frozen=True, slots=True)
class _JoinedCalibration:
    """The weight of the eye's attention, and the thresholds of the pen's P(Yes), if known."""

    attention_weight: float
    yes_threshold: float = UNCALIBRATED_YES
    unsupported_below: float = 0.0


class PenAndEyeSession:
    """Two reading sessions with the same question and nodes. It is a context manager; leaving it leaves both."""

    attends = True

    def __init__(self, pen: ReadingSession, eye: ReadingSession) -> None:
        self._pen = pen
        self.eye = eye
        self._says_yes: ReadingSession = pen if pen.is_graded else eye
        """The session that gives P(Yes): the pen's session if its P(Yes) is a probability, else the eye's."""

    @property
    def is_graded(self) -> bool:
        """Whether P(Yes), from the session that gives it, is a probability."""
        return self._says_yes.is_graded

    @property
    def calibration(self) -> Calibration | None:
        """The eye's calibration of attention, joined with the calibration of the session that gives P(Yes).

        It is None if the eye has none, even if the pen has one. If only the pen has none, its P(Yes) counts as
        uncalibrated.
        """
        eye, pen = self.eye.calibration, self._pen.calibration
        if self._says_yes is self.eye or eye is None:
            return eye
        if pen is None:
            return _JoinedCalibration(eye.attention_weight)
        return _JoinedCalibration(eye.attention_weight, pen.yes_threshold, pen.unsupported_below)

    def ignore_calibration(self) -> None:
        """Ignore the calibrations of both sessions; see ``ReadingSession.ignore_calibration``."""
        self._pen.ignore_calibration()
        self.eye.ignore_calibration()

    @property
    def usage(self) -> Usage:
        """The cost of both sessions so far, added up."""
        return self._pen.usage + self.eye.usage

    @property
    def tokens_left(self) -> int:
        """The number of node tokens that still fit both sessions: the smaller of their numbers."""
        return min(self._pen.tokens_left, self.eye.tokens_left)

    def append(self, texts: Sequence[str]) -> Vector:
        """Read nodes in both sessions; return the eye's (n,) attention of each node to the question.

        A call without nodes does nothing, and ``take_back`` does not count it.

        Raises:
            WindowExceeded: the nodes do not fit; neither session has read them.
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
        """Remove nodes from both sessions; see ``ReadingSession.take_back``."""
        self._pen.take_back(calls)
        self.eye.take_back(calls)

    def probability_of_yes(self) -> float:
        """Return P(Yes) from the pen if the pen gave probabilities when the session was opened, else from the eye."""
        return self._says_yes.probability_of_yes()

    def judge(self, request: str) -> float:
        """Return P(Yes) for another question, from the same session as ``probability_of_yes``."""
        return self._says_yes.judge(request)

    def reply(self, request: str, *, max_tokens: int, temperature: float = 0.0, seed: int = 0) -> str:
        """Return the pen's reply to a request after the nodes read so far; see ``ReadingSession.reply``."""
        return self._pen.reply(request, max_tokens=max_tokens, temperature=temperature, seed=seed)

    def answer(self, *, max_tokens: int, request: str = "") -> Iterator[str]:
        """Yield the pen's answer in pieces, from the nodes read so far; see ``ReadingSession.answer``."""
        return self._pen.answer(max_tokens=max_tokens, request=request)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: Any) -> None:
        self._pen.__exit__(*error)
        self.eye.__exit__(*error)
