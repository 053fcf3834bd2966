"""A reading session: one question, then node after node, in one KV cache.

The module does not know the graph or why a node was chosen. Invariants: after every call the cache holds exactly the
question and the nodes that were read, in this order (the tokens of the probe and of the answer are removed again).
Reading nodes in several calls or in one call gives the same result as one new forward pass over all of them.

Source: PECAN, section 3.2 (search loop, steps 2, 5 to 7).
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
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
from memgraph_rag.models.engine.sampling import Sampler, share_of_yes
from memgraph_rag.models.engine.shared_batches import Pass
from memgraph_rag.models.engine.window import ANSWER_ROOM, check_nodes, check_question, check_request
from memgraph_rag.types import Usage, Vector, count_attended

if TYPE_CHECKING:
    from memgraph_rag.models.calibration.calibration import HeadCalibration
    from memgraph_rag.models.engine.language_model import TransformersModel


@dataclass(frozen=True, slots=True)
class _Reading:
    """The measured attention of the nodes of one pass.

    Attributes:
        spans: the half-open token range of each node, counted from the start of the pass.
        depths: for each node, the number of tokens from the end of the question to the middle of the node.
    """

    meter: AttentionMeter
    spans: list[tuple[int, int]]
    depths: list[float]

    def mean(self) -> Vector:
        """Return the (n,) attention of each node, as the mean over all layers and heads."""
        attended = self.meter.mean()[0, :, 0]
        return np.array([float(attended[first:last].mean()) for first, last in self.spans], np.float32)

    def by_head(self) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
        """Return the (n, L, H) attention of each node by layer and head, and the (n,) depths."""
        attended = self.meter.mean_by_head()[:, :, 0, :, 0].cpu()  # (L, H, T)
        by_node = [attended[..., first:last].mean(dim=2) for first, last in self.spans]
        return torch.stack(by_node).numpy(), np.array(self.depths)


class KVSession:
    """A ``ReadingSession`` on a transformers model. A context manager; leaving it frees the cache.

    Attributes:
        model: the model, for strategies that run passes of their own.
    """

    attends = True
    is_graded = True

    def __init__(self, model: TransformersModel, question: str) -> None:
        self.model = model
        self._tokens = model.tokens
        self._text = question
        self.calibration: HeadCalibration | None = model.calibration
        """The calibration of the model, with which ``append`` corrects for distance; None without one or if ignored."""
        self._room = ANSWER_ROOM + len(self._tokens.request_turn(prompts.answer_request(question), says_yes=False))
        self.usage = Usage()
        self._ids, self._question = self._tokens.question(question)
        self._lookup = PromptLookup(self._ids)
        """All tokens read and written so far, including removed ones: they let the model guess repeated phrases."""
        first, last = self._question
        check_question(last - first, len(self._ids) + self._room, model.window)
        self._stages: list[tuple[int, float | None]] = [(len(self._ids), None)]
        """The number of tokens in the cache and P(Yes): first for the question, then after each call of ``append``."""

    @cached_property
    def _cache(self) -> RowCache:
        """Borrow a cache and read the question into it, at the first use.

        The question is not read earlier, so that the weights can load while another thread searches.
        """
        started, first = time.perf_counter(), self._question[0]
        cache = self.model.borrow_cache()
        cache.add_row(self.model.read_prefix(self._ids[:first]))
        self.model.read(Pass(self._ids[first:], cache, None))
        self.usage += Usage(len(self._ids), 0, 1, time.perf_counter() - started, count_attended(len(self._ids)))
        return cache

    @property
    def tokens_left(self) -> int:
        """The number of node tokens that still fit; the session keeps room for the probe and the answer."""
        return self.model.window - self._stages[-1][0] - self._room

    def ignore_calibration(self) -> None:
        """Drop the calibration: ``append`` then returns the mean attention of all heads, as the papers do."""
        self.calibration = None

    def append(self, texts: Sequence[str]) -> Vector:
        """Read nodes; return the (n,) attention of each new node's tokens to the question's tokens.

        The attention is the mean over layers, heads, the node's tokens and the question's tokens. The tokens of the
        bullet mark are not counted. With a calibration, it is the mean over the calibrated heads of each head's
        attention divided by the usual attention at that distance. The same pass reads the probe, so that
        ``probability_of_yes`` costs nothing afterwards.

        Raises:
            WindowExceeded: the nodes do not fit; the session has read nothing.
        """
        if not texts:
            return np.zeros(0, np.float32)
        read = self._read(texts)
        return read.mean() if self.calibration is None else self.calibration.relative_attention(*read.by_head())

    def take_back(self, calls: int) -> None:
        """Remove the nodes of the last ``calls`` calls of ``append``, as if the session had never read them.

        A call of ``read_by_head`` counts too, a call of ``append`` without nodes does not. ``usage`` does not fall.
        """
        if calls:
            del self._stages[-calls:]
            self._cache.take_back(self._cache.get_seq_length() - self._stages[-1][0])

    def read_by_head(self, texts: Sequence[str]) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
        """Read nodes, at least one, as ``append`` does; return each node's attention by layer and head, and its depth.

        Returns:
            (n, L, H) attention, and the (n,) number of tokens from the end of the question to the middle of each node.

        Raises:
            WindowExceeded: the nodes do not fit; the session has read nothing.
        """
        return self._read(texts, by_head=True).by_head()

    def probability_of_yes(self) -> float:
        """Return the probability that the nodes read so far answer the question.

        It is P(Yes) / (P(Yes) + P(No)), each summed over all tokens that spell the word; 0 if both are 0.
        """
        length, p_yes = self._stages[-1]
        if p_yes is None:  # nothing was read yet
            probe = self._tokens.turns.reply
            p_yes = float(share_of_yes(self._forward(probe), self._tokens))
            self._cache.take_back(len(probe))
            self._stages[-1] = length, p_yes
        return p_yes

    def _read(self, texts: Sequence[str], *, by_head: bool = False) -> _Reading:
        """Read nodes and the probe in one pass, then remove the tokens of the probe from the cache."""
        question = Spans([[self._question]], length=self._question[1], device=self.model.device)
        meter = AttentionMeter(question, by_head=by_head or self.calibration is not None)
        ids, spans = self._tokens.nodes(texts)
        check_nodes(len(ids), self.tokens_left, self.model.window)
        before, probe = self._cache.get_seq_length() - self._question[1], self._tokens.turns.reply
        self._lookup.extend(ids)
        logits = self._forward([*ids, *probe], meter)
        self._cache.take_back(len(probe))
        self._stages.append((self._cache.get_seq_length(), float(share_of_yes(logits, self._tokens))))
        return _Reading(meter, spans, [before + (first + last) / 2 for first, last in spans])

    def answer(self, *, max_tokens: int, request: str = "") -> Iterator[str]:
        """Yield the answer in pieces, from the nodes read so far, up to ``max_tokens`` or the end of the window.

        Nothing is read before the first piece is asked for. When the generator ends or is closed, the cache is as it
        was before.

        The request follows the turn of the probe, in which the assistant answers Yes. The model's own verdict does not
        matter: a caller that asks for an answer has decided that there is one. This is the second turn of PECAN's
        prompt.
        """
        turn = self._encode_request(request or prompts.answer_request(self._text), says_yes=True)
        yield from self._write_reply(turn, max_tokens, Sampler())

    def reply(self, request: str, *, max_tokens: int, temperature: float = 0.0, seed: int = 0) -> str:
        """Return the model's reply to a request after the nodes read so far. Afterwards the cache is as it was.

        The request follows the turn of the probe, in which the assistant answers No.
        """
        return "".join(
            self._write_reply(self._encode_request(request, says_yes=False), max_tokens, Sampler(temperature, seed))
        )

    def judge(self, request: str) -> float:
        """Return P(Yes) for another question that the model answers with Yes or No.

        The question takes the same place in the prompt as the request of ``reply``. Afterwards the cache is as it was.
        """
        turn = self._encode_request(request, says_yes=False)
        p_yes = float(share_of_yes(self._forward(turn), self._tokens))
        self._cache.take_back(len(turn))
        return p_yes

    def _encode_request(self, request: str, *, says_yes: bool) -> list[int]:
        """Return the tokens of a request; raise WindowExceeded if they do not fit."""
        turn = self._tokens.request_turn(request, says_yes=says_yes)
        check_request(len(turn), self.model.window - self._cache.get_seq_length(), self.model.window)
        return turn

    def _write_reply(self, turn: Sequence[int], max_tokens: int, draw: Sampler) -> Iterator[str]:
        """Yield the model's reply to a turn in pieces. Afterwards the cache is as it was before the call.

        A pass over a few tokens takes no longer than a pass over one token, because both read all weights. So each pass
        also reads guesses of the next tokens. A guess counts only if the model would have written the same token.
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
                text = self._tokens.decode(written)
                if not text.endswith("\ufffd"):
                    yield text[len(shown) :]
                    shown = text
                if guess[:1] == [token]:
                    guess, logits = guess[1:], logits[1:]
                elif left := max_tokens - len(written):
                    self._cache.take_back(len(guess))
                    guess = self._lookup.guess(min(self.model.max_guesses, left - 1))
                    logits = self._forward([token, *guess], logits_of=range(1 + len(guess)), reads=False)
        finally:
            attended = count_attended(len(written), before=length + len(turn))
            self.usage += Usage(0, len(written), attended_tokens=attended)
            self._cache.take_back(self._cache.get_seq_length() - length)

    def _forward(
        self,
        ids: Sequence[int],
        meter: AttentionMeter | None = None,
        *,
        logits_of: Sequence[int] = (-1,),
        reads: bool = True,
    ) -> Tensor:
        """Read tokens into the cache; return the (n, V) logits after n of them and add the cost to ``usage``.

        Args:
            logits_of: the indices of the tokens whose logits are returned; by default the last token.
            reads: whether ``usage`` counts these tokens as read.
        """
        started, before = time.perf_counter(), self._cache.get_seq_length()
        logits = self.model.read(Pass(ids, self._cache, meter, logits_of=logits_of))
        counted = len(ids) if reads else 0
        self.usage += Usage(counted, 0, 1, time.perf_counter() - started, count_attended(counted, before=before))
        return logits

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        cache = self.__dict__.pop("_cache", None)  # None if the session has read nothing
        if cache is not None:
            self.model.give_back(cache)
