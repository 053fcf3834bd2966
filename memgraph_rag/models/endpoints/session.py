"""A reading session on a server: each request sends the question and the nodes as text.

The module does not know the graph or why a node was chosen. Invariants: reading a node sends no request; a request
begins with the text of the request before, as far as nodes were not removed, so that the server's prefix cache helps; a
text that does not fit is refused before it is sent.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from typing_extensions import Self

from memgraph_rag.models.endpoints.client import Ask
from memgraph_rag.models.endpoints.token_estimate import estimate_tokens
from memgraph_rag.models.endpoints.yes_no import TOP, WORD_TOKENS, Verdict, read_verdict
from memgraph_rag.models.engine import prompts
from memgraph_rag.models.engine.window import ANSWER_ROOM, check_nodes, check_question, check_request
from memgraph_rag.types import Usage, Vector

if TYPE_CHECKING:
    from memgraph_rag.models.calibration.calibration import YesCalibration
    from memgraph_rag.models.endpoints.model import EndpointModel

_AROUND = 64  # tokens of the chat template around three turns


class EndpointSession:
    """A reading session on a model on a server. It is a context manager."""

    attends = False

    def __init__(self, model: EndpointModel, question: str) -> None:
        self._model = model
        self._question = question
        self.calibration: YesCalibration | None = model.calibration
        """The calibration of the model's P(Yes); None if the model has none, or after ``ignore_calibration``."""
        self._texts = [prompts.question_head(question)[0]]  # the head, then the nodes of each call of append
        self._costs = [estimate_tokens(self._texts[0])]
        self._verdicts: dict[int, Verdict] = {}  # by the number of texts
        self._room = ANSWER_ROOM + _AROUND + estimate_tokens(prompts.answer_request(question))
        self.usage = Usage()
        check_question(estimate_tokens(question), self._costs[0] + self._room, model.window)

    def ignore_calibration(self) -> None:
        """Return no calibration from now on; see ``ReadingSession.ignore_calibration``."""
        self.calibration = None

    @property
    def is_graded(self) -> bool:
        """Whether each ``probability_of_yes`` for the nodes that are still read came from log-probabilities.

        Before the first one, the model is tested once; see ``EndpointModel.is_graded``.
        """
        if not self._verdicts:
            return self._model.is_graded
        return all(earlier.is_graded for earlier in self._verdicts.values())

    @property
    def tokens_left(self) -> int:
        """The estimated number of node tokens that still fit; the session keeps room for the probe and the answer."""
        return self._model.window - sum(self._costs) - self._room

    def append(self, texts: Sequence[str]) -> Vector:
        """Add nodes to the text; return (n,) zeros. This sends nothing.

        ``take_back`` does not count a call without nodes.

        Raises:
            WindowExceeded: the nodes do not fit; none of them is added.
        """
        if texts:
            lines = "".join(prompts.node_line(text)[0] for text in texts)
            cost = estimate_tokens(lines)
            check_nodes(cost, self.tokens_left, self._model.window)
            self._texts.append(lines)
            self._costs.append(cost)
        return np.zeros(len(texts), np.float32)

    def take_back(self, calls: int) -> None:
        """Remove the nodes of the last ``calls`` calls of ``append``. Calls without nodes do not count."""
        for _ in range(calls):
            self._verdicts.pop(len(self._texts), None)
            self._texts.pop()
            self._costs.pop()

    def probability_of_yes(self) -> float:
        """Return the probability that the nodes read so far answer the question.

        The model is asked once for the same nodes. The result counts the spellings of Yes and No that the server lists.
        If they are no more probable than the tokens that the server does not list, it is 1 for the word Yes in the
        reply, and 0 for any other word.

        Raises:
            ModelUnavailable: the server did not answer.
            ModelError: the server refused the request.
        """
        count = len(self._texts)
        if count not in self._verdicts:
            reply = self._model.endpoint.write(Ask(self._messages(), max_tokens=WORD_TOKENS, top=TOP))
            self.usage += reply.usage
            self._verdicts[count] = read_verdict(reply.text, reply.top)
        return self._verdicts[count].p_yes

    def answer(self, *, max_tokens: int, request: str = "") -> Iterator[str]:
        """Yield the answer in pieces, as the server sends them. Nothing is sent before the first piece is read.

        The request follows the turn of the probe, in which the assistant answers Yes.

        Raises:
            WindowExceeded: the request does not fit; nothing was sent.
            ModelUnavailable: the server did not answer, or its answer was incomplete.
        """
        talk = self._build_messages(request or prompts.answer_request(self._question), says_yes=True)
        reply = yield from self._model.endpoint.say(Ask(talk, max_tokens))
        self.usage += reply.usage

    def reply(self, request: str, *, max_tokens: int, temperature: float = 0.0, seed: int = 0) -> str:
        """Return the model's reply to a request after the nodes read so far, cut at ``max_tokens``.

        In the messages, the question whether the nodes are enough comes before the request, with the answer No.

        Args:
            temperature: 0 is greedy; above 0, tokens are sampled with ``seed``, if the server takes a seed.

        Raises:
            WindowExceeded: the request does not fit; nothing was sent.
            ModelUnavailable: the server did not answer.
        """
        reply = self._model.endpoint.write(
            Ask(self._build_messages(request, says_yes=False), max_tokens, temperature, seed)
        )
        self.usage += reply.usage
        return reply.text

    def judge(self, request: str) -> float:
        """Return P(Yes) for another question that the model answers with Yes or No.

        The question takes the same place as the request of ``reply``. Without usable log-probabilities, the result is 1
        for the word Yes in the reply, and 0 for any other word. Each call asks the model.

        Raises:
            WindowExceeded: the request does not fit; nothing was sent.
            ModelUnavailable: the server did not answer.
        """
        talk = self._build_messages(request, says_yes=False)
        reply = self._model.endpoint.write(Ask(talk, max_tokens=WORD_TOKENS, top=TOP))
        self.usage += reply.usage
        return read_verdict(reply.text, reply.top).p_yes

    def _messages(self) -> list[dict[str, str]]:
        """Return the messages with the question and the nodes, which ask for Yes or No."""
        return [{"role": "user", "content": "".join(self._texts)}]

    def _build_messages(self, request: str, *, says_yes: bool) -> list[dict[str, str]]:
        """Return the messages with the question, the nodes, a verdict and a request after it.

        Raises:
            WindowExceeded: the request does not fit.
        """
        room = self._model.window - sum(self._costs) - _AROUND
        check_request(estimate_tokens(request), room, self._model.window)
        word = prompts.PROBE_YES if says_yes else prompts.PROBE_NO
        return [*self._messages(), {"role": "assistant", "content": word}, {"role": "user", "content": request}]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._texts = []
