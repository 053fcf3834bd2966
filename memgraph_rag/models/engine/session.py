"""Reading: one question, then node after node, in one KV cache.

It knows neither the graph nor why a node was chosen. Invariants: after every call the cache holds the question
and the nodes read, in order, and nothing else (probe and answer turns are taken back); appending nodes one by
one or together gives what one fresh forward pass over all of them would give.

Source: PECAN, section 3.2 (search loop, steps 2, 5 to 7).
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from typing_extensions import Self

from memgraph_rag.models.engine import prompts
from memgraph_rag.models.engine.attention import AttentionMeter, Spans
from memgraph_rag.models.engine.kv_cache import RowCache
from memgraph_rag.models.engine.prompt_lookup import PromptLookup
from memgraph_rag.models.engine.sampling import Draw
from memgraph_rag.models.engine.shared_batches import Pass
from memgraph_rag.models.engine.window import ANSWER_ROOM, check_nodes, check_question, check_request
from memgraph_rag.types import Usage, Vector

if TYPE_CHECKING:
    from memgraph_rag.models.calibration.calibration import HeadCalibration
    from memgraph_rag.models.engine.language_model import TransformersModel

__all__ = ["KVSession"]


@dataclass(frozen=True, slots=True)
class _Reading:
    """What the nodes of one pass attended to.

    Attributes:
        spans: each node's tokens among those of the pass.
        depths: tokens from the question's end to the middle of each node.
    """

    meter: AttentionMeter
    spans: list[tuple[int, int]]
    depths: list[float]

    def mean(self) -> Vector:
        """(n,) over all layers and heads."""
        attended = self.meter.mean()[0, :, 0]
        return np.array([float(attended[first:last].mean()) for first, last in self.spans], np.float32)

    def by_head(self) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
        """(n, L, H) by layer and head, and the (n,) depths."""
        attended = self.meter.of_heads()[:, :, 0, :, 0].cpu()  # (L, H, T)
        of_nodes = [attended[..., first:last].mean(dim=2) for first, last in self.spans]
        return torch.stack(of_nodes).numpy(), np.array(self.depths)


class KVSession:
    """A reading session on a transformers model. A context manager; leaving it frees the cache.

    Attributes:
        model: the model, for strategies that run passes of their own.
    """

    attends = True
    is_graded = True

    def __init__(self, model: TransformersModel, question: str) -> None:
        self.model = model
        self._tokens = model.tokens
        self._text = question
        self._calibration = model.calibration
        self._room = ANSWER_ROOM + len(self._tokens.answer_turn(question, says_yes=False))
        self.usage = Usage()
        self._ids, self._question = self._tokens.question(question)
        self._lookup = PromptLookup(self._ids)
        """All that was read and said, also what was taken back: a phrase repeats words of the sentence before it."""
        first, last = self._question
        check_question(last - first, len(self._ids) + self._room, model.window)
        self._stages: list[tuple[int, float | None]] = [(len(self._ids), None)]
        """Tokens held and P(Yes), after the question and each call of ``append``."""

    @cached_property
    def _cache(self) -> RowCache:
        """Begins with the question, which is read when something else is: weights load beside what looks for it."""
        started, first = time.perf_counter(), self._question[0]
        cache = self.model.borrow_cache()
        cache.add_row(self.model.beginning(self._ids[:first]))
        self.model.read(Pass(self._ids[first:], cache, None))
        self.usage += Usage(len(self._ids), 0, 1, time.perf_counter() - started)
        return cache

    @property
    def tokens_left(self) -> int:
        """How many tokens of nodes still fit, with room kept for the probe and the answer."""
        return self.model.window - self._stages[-1][0] - self._room

    @property
    def calibration(self) -> HeadCalibration | None:
        """The model's; where there is one, ``append`` has the distance taken out."""
        return self._calibration

    def ignore_calibration(self) -> None:
        """Give the mean attention of all heads from now on, as the papers do."""
        self._calibration = None

    def append(self, texts: Sequence[str]) -> Vector:
        """Read nodes; (n,) attention of each new node's tokens to the question's tokens.

        Mean over layers, heads, the node's tokens and the question's tokens; the bullet mark is not counted. With a
        calibration, mean over its heads of each one's attention divided by what is usual at that distance. The
        probe is read in the same pass: ``probability_of_yes`` costs nothing then.

        Raises:
            WindowExceeded: they do not fit; nothing was read.
        """
        return self._attention(self._read(texts)) if texts else np.zeros(0, np.float32)

    def take_back(self, calls: int) -> None:
        """Forget the nodes of the last calls of ``append``, as if they had never been read."""
        if calls:
            del self._stages[-calls:]
            self._cache.take_back(self._cache.get_seq_length() - self._stages[-1][0])

    def read_by_head(self, texts: Sequence[str]) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
        """Read nodes as ``append`` does; each one's attention by layer and head, and its depth.

        Returns:
            (n, L, H) attention, and (n,) tokens from the question's end to the middle of each node.

        Raises:
            WindowExceeded: they do not fit; nothing was read.
        """
        return self._read(texts, by_head=True).by_head()

    def probability_of_yes(self) -> float:
        """P(Yes) / (P(Yes) + P(No)) over all token spellings, that what was read answers the question."""
        length, p_yes = self._stages[-1]
        if p_yes is None:  # nothing was read yet
            probe = self._tokens.turns.reply
            p_yes = self._share_of_yes(self._forward(probe)[0])
            self._cache.take_back(len(probe))
            self._stages[-1] = length, p_yes
        return p_yes

    def _attention(self, read: _Reading) -> Vector:
        return read.mean() if self.calibration is None else self.calibration.relative(*read.by_head())

    def _read(self, texts: Sequence[str], *, by_head: bool = False) -> _Reading:
        """Read nodes in one pass, with the probe behind them, which is taken back."""
        question = Spans([[self._question]], length=self._question[1], device=self.model.device)
        meter = AttentionMeter(question, by_head=by_head or self.calibration is not None)
        ids, spans = self._tokens.nodes(texts)
        check_nodes(len(ids), self.tokens_left, self.model.window)
        before, probe = self._cache.get_seq_length() - self._question[1], self._tokens.turns.reply
        self._lookup.extend(ids)
        logits = self._forward([*ids, *probe], meter)
        self._cache.take_back(len(probe))
        self._stages.append((self._cache.get_seq_length(), self._share_of_yes(logits[0])))
        return _Reading(meter, spans, [before + (first + last) / 2 for first, last in spans])

    def _share_of_yes(self, logits: Tensor) -> float:
        probabilities = torch.softmax(logits.float(), dim=-1)
        yes = float(probabilities[self._tokens.yes].sum())
        no = float(probabilities[self._tokens.no].sum())
        return yes / (yes + no) if yes + no > 0 else 0.0

    def answer(self, *, max_tokens: int, request: str = "") -> Iterator[str]:
        """The answer in pieces, from what was read; leaves the cache as it was.

        The probe's own turn stands before it, answered Yes, whatever the model would say: whoever asks for an answer
        has decided that there is one. The second turn of PECAN's prompt.

        Args:
            request: how it is asked for, with the question in it; by default, in one short sentence.

        Raises:
            WindowExceeded: the request does not fit.
        """
        turn = self._turn(request or prompts.answer_request(self._text), says_yes=True)
        yield from self._said(turn, max_tokens, Draw())

    def reply(self, request: str, *, max_tokens: int, temperature: float = 0.0, seed: int = 0) -> str:
        """What the model says to a request made behind what was read; leaves the cache as it was.

        It stands where the answer's request stands: behind the probe's turn, answered No.

        Args:
            temperature: 0 is greedy; above, tokens are drawn, always the same ones for the same ``seed``.

        Raises:
            WindowExceeded: the request does not fit; nothing was read.
        """
        return "".join(self._said(self._turn(request, says_yes=False), max_tokens, Draw(temperature, seed)))

    def judge(self, request: str) -> float:
        """P(Yes) to another question of Yes or No, which stands where ``reply``'s request stands.

        Raises:
            WindowExceeded: the request does not fit; nothing was read.
        """
        turn = self._turn(request, says_yes=False)
        p_yes = self._share_of_yes(self._forward(turn)[0])
        self._cache.take_back(len(turn))
        return p_yes

    def _turn(self, request: str, *, says_yes: bool) -> list[int]:
        """The request as tokens, where there is room for it."""
        turn = self._tokens.request_turn(request, says_yes=says_yes)
        check_request(len(turn), self.model.window - self._cache.get_seq_length(), self.model.window)
        return turn

    def _said(self, turn: Sequence[int], max_tokens: int, draw: Draw) -> Iterator[str]:
        """What the model says behind a turn, in pieces; the cache is then as it was.

        A pass of one token costs what reading the weights costs, so that it takes guesses along; they are kept as far
        as the model says the same.
        """
        length = self._cache.get_seq_length()
        max_tokens = min(max_tokens, self.model.window - length - len(turn))
        self._lookup.extend(turn)
        written: list[int] = []
        guess: list[int] = []
        shown = ""
        try:
            logits = self._forward(turn)
            while len(written) < max_tokens and (token := draw(logits[0])) not in self._tokens.ends:
                written.append(token)
                self._lookup.extend([token])
                self.usage += Usage(0, 1)
                text = self._tokens.decode(written)
                if not text.endswith("\ufffd"):
                    yield text[len(shown) :]
                    shown = text
                if guess[:1] == [token]:
                    guess, logits = guess[1:], logits[1:]
                elif left := max_tokens - len(written):
                    self._cache.take_back(len(guess))
                    guess = self._lookup.guess(min(self.model.most_guessed, left - 1))
                    logits = self._forward([token, *guess], logits_of=range(1 + len(guess)), reads=False)
        finally:
            self._cache.take_back(self._cache.get_seq_length() - length)

    def _forward(
        self,
        ids: Sequence[int],
        meter: AttentionMeter | None = None,
        *,
        logits_of: Sequence[int] = (-1,),
        reads: bool = True,
    ) -> Tensor:
        """(n, V) logits after n of these tokens, the last by default; counts what it cost, and them if it ``reads``."""
        started = time.perf_counter()
        logits = self.model.read(Pass(ids, self._cache, meter, logits_of=logits_of))
        self.usage += Usage(len(ids) if reads else 0, 0, 1, time.perf_counter() - started)
        return logits

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        cache = self.__dict__.pop("_cache", None)  # none where nothing was read
        if cache is not None:
            self.model.give_back(cache)
