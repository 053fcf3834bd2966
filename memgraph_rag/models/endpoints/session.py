"""Reading by a server: the question and the nodes as texts, sent whole each time.

It knows neither the graph nor why a node was chosen. Invariants: reading a node costs no request; what is sent begins
with what was sent before, as far as that is still held, so that a server's prefix cache serves it; what does not fit is
refused before it is sent.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import TYPE_CHECKING

import numpy as np
from typing_extensions import Self

from memgraph_rag.models.endpoints.client import Ask
from memgraph_rag.models.endpoints.token_estimate import estimated_tokens
from memgraph_rag.models.endpoints.yes_no import TOP, WORD_TOKENS, Verdict, verdict
from memgraph_rag.models.engine import prompts
from memgraph_rag.models.engine.window import ANSWER_ROOM, check_nodes, check_question, check_request
from memgraph_rag.types import Usage, Vector

if TYPE_CHECKING:
    from memgraph_rag.models.calibration.calibration import YesCalibration
    from memgraph_rag.models.endpoints.model import EndpointModel

__all__ = ["EndpointSession"]

_AROUND = 64  # tokens of the chat template around three turns


class EndpointSession:
    """A reading session on a model behind an address. A context manager."""

    attends = False

    def __init__(self, model: EndpointModel, question: str) -> None:
        self._model = model
        self._question = question
        self._calibration = model.calibration
        self._texts = [prompts.question_head(question)[0]]  # the head, then the nodes of each call
        self._costs = [estimated_tokens(self._texts[0])]
        self._verdicts: dict[int, Verdict] = {}  # by how many texts were held
        self._room = ANSWER_ROOM + _AROUND + estimated_tokens(prompts.answer_request(question))
        self.usage = Usage()
        check_question(estimated_tokens(question), self._costs[0] + self._room, model.window)

    @property
    def calibration(self) -> YesCalibration | None:
        """What is known of the model's Yes."""
        return self._calibration

    def ignore_calibration(self) -> None:
        """See ``ReadingSession.ignore_calibration``."""
        self._calibration = None

    @property
    def is_graded(self) -> bool:
        """Whether each P(Yes) came from log-probabilities; before the first one the model is tried, once."""
        if not self._verdicts:
            return self._model.is_graded
        return all(verdict.is_graded for verdict in self._verdicts.values())

    @property
    def tokens_left(self) -> int:
        """About how many tokens of nodes still fit, with room kept for the probe and the answer."""
        return self._model.window - sum(self._costs) - self._room

    def append(self, texts: Sequence[str]) -> Vector:
        """Hold nodes; (n,) zeros. Nothing is sent.

        Raises:
            WindowExceeded: they do not fit; nothing is held of them.
        """
        if texts:
            lines = "".join(prompts.node_line(text)[0] for text in texts)
            cost = estimated_tokens(lines)
            check_nodes(cost, self.tokens_left, self._model.window)
            self._texts.append(lines)
            self._costs.append(cost)
        return np.zeros(len(texts), np.float32)

    def take_back(self, calls: int) -> None:
        """Forget the nodes of the last calls of ``append``."""
        for _ in range(calls):
            self._verdicts.pop(len(self._texts), None)
            self._texts.pop()
            self._costs.pop()

    def probability_of_yes(self) -> float:
        """P(Yes) that what is held answers the question; asked once for the same nodes.

        Over the spellings of Yes and No that the server lists; where it lists none, 1 or 0 by the word that it says.

        Raises:
            ModelUnavailable: the server did not answer.
        """
        held = len(self._texts)
        if held not in self._verdicts:
            reply = self._model.endpoint.write(Ask(self._talk(), max_tokens=WORD_TOKENS, top=TOP))
            self.usage += reply.usage
            self._verdicts[held] = verdict(reply.text, reply.top)
        return self._verdicts[held].p_yes

    def answer(self, *, max_tokens: int, request: str = "") -> Iterator[str]:
        """The answer in pieces, as they come; behind the probe's turn, answered Yes.

        Args:
            request: how it is asked for, with the question in it; by default, in one short sentence.

        Raises:
            WindowExceeded: the request does not fit; nothing was sent.
            ModelUnavailable: the server did not answer, or its answer broke off.
        """
        talk = self._talk_with(request or prompts.answer_request(self._question), says_yes=True)
        reply = yield from self._model.endpoint.say(Ask(talk, max_tokens))
        self.usage += reply.usage

    def reply(self, request: str, *, max_tokens: int, temperature: float = 0.0, seed: int = 0) -> str:
        """What the model says to a request made behind what is held, and behind a No.

        Args:
            temperature: 0 is greedy; above, tokens are drawn by ``seed``, where the server takes one.

        Raises:
            WindowExceeded: the request does not fit; nothing was sent.
            ModelUnavailable: the server did not answer.
        """
        reply = self._model.endpoint.write(Ask(self._talk_with(request, says_yes=False), max_tokens, temperature, seed))
        self.usage += reply.usage
        return reply.text

    def judge(self, request: str) -> float:
        """P(Yes) to another question of Yes or No, made where ``reply``'s request is made.

        Where the server lists no log-probabilities, 1 or 0 by the word that it says.

        Raises:
            WindowExceeded: the request does not fit; nothing was sent.
            ModelUnavailable: the server did not answer.
        """
        talk = self._talk_with(request, says_yes=False)
        reply = self._model.endpoint.write(Ask(talk, max_tokens=WORD_TOKENS, top=TOP))
        self.usage += reply.usage
        return verdict(reply.text, reply.top).p_yes

    def _talk(self) -> list[dict[str, str]]:
        """Question and nodes, which ask for Yes or No."""
        return [{"role": "user", "content": "".join(self._texts)}]

    def _talk_with(self, request: str, *, says_yes: bool) -> list[dict[str, str]]:
        """Question and nodes, a word to them, and a request behind it."""
        room = self._model.window - sum(self._costs) - _AROUND
        check_request(estimated_tokens(request), room, self._model.window)
        word = prompts.PROBE_YES if says_yes else prompts.PROBE_NO
        return [*self._talk(), {"role": "assistant", "content": word}, {"role": "user", "content": request}]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._texts = []
