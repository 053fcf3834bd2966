"""Reading: one question, then node after node, in one KV cache.

It knows neither the graph nor why a node was chosen. Invariants: after every call the cache holds the question
and the nodes read, in order, and nothing else (probe and answer turns are taken back); appending nodes one by
one or together gives what one fresh forward pass over all of them would give.

Source: PECAN, section 3.2 (search loop, steps 2, 5 to 7).
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import TYPE_CHECKING

import numpy as np
import torch
from typing_extensions import Self

from memgraph_rag.errors import QuestionError, WindowExceeded
from memgraph_rag.models import cache, prompts
from memgraph_rag.models.attention import AttentionMeter, span_indicators
from memgraph_rag.types import Usage, Vector

if TYPE_CHECKING:
    from memgraph_rag.models.language_model import TransformersModel

__all__ = ["KVSession"]

_ANSWER_ROOM = 256  # tokens kept free for the answer turn


class KVSession:
    """A reading session on a transformers model. A context manager; leaving it frees the cache."""

    def __init__(self, model: TransformersModel, question: str) -> None:
        self._model = model
        self._tokens = model.tokens
        self._cache = cache.new_cache()
        request = self._tokens.encode(prompts.answer_request(question)).ids
        self._answer_turn = [*self._tokens.turns.next_user, *request, *self._tokens.turns.reply]
        self._room = _ANSWER_ROOM + len(self._answer_turn) + len(self._tokens.turns.reply) + 1
        self.usage = Usage()
        self._last_p_yes = 0.0

        text, (start, end) = prompts.question_head(question)
        head = self._tokens.encode(text)
        before = len(self._tokens.turns.opening)
        ids = [*self._tokens.turns.opening, *head.ids]
        first, last = head.span(start, end)
        if len(ids) + self._room > model.window:
            raise QuestionError(
                f"Expected a question that fits the model's window of {model.window} tokens, got {last - first} "
                "tokens. Ask a shorter question, or use a model with a larger window.",
                tokens=last - first, window=model.window,
            )  # fmt: skip
        self._question = (before + first, before + last)
        self._forward(ids)

    @property
    def tokens_left(self) -> int:
        """How many tokens of nodes still fit, with room kept for the probe and the answer."""
        return self._model.window - self._cache.get_seq_length() - self._room

    def append(self, texts: Sequence[str]) -> Vector:
        """Read nodes; (n,) mean attention of each new node's tokens to the question's tokens.

        Mean over layers, heads, the node's tokens and the question's tokens; the bullet mark is not counted.

        Raises:
            WindowExceeded: they do not fit; nothing was read.
        """
        ids: list[int] = []
        spans: list[tuple[int, int]] = []
        for text in texts:
            line, characters = prompts.node_line(text)
            encoded = self._tokens.encode(line)
            first, last = encoded.span(*characters)
            spans.append((len(ids) + first, len(ids) + max(last, first + 1)))
            ids += encoded.ids
        if not ids:
            return np.zeros(0, np.float32)
        if len(ids) > self.tokens_left:
            raise WindowExceeded(
                f"Expected at most {self.tokens_left} more tokens in this session, got {len(ids)}.",
                tokens=len(ids), window=self._model.window,
            )  # fmt: skip
        indicators = span_indicators(
            [[self._question]], length=self._question[1], dtype=self._model.dtype, device=self._model.device
        )
        meter = AttentionMeter(indicators)
        self._forward(ids, meter)
        attended = meter.mean()[0, :, 0]
        return np.array([float(attended[first:last].mean()) for first, last in spans], np.float32)

    def probability_of_yes(self) -> float:
        """P(Yes) / (P(Yes) + P(No)) over all token spellings, that what was read answers the question."""
        logits = self._forward(self._tokens.turns.reply)
        cache.crop(self._cache, len(self._tokens.turns.reply))
        probabilities = torch.softmax(logits.float(), dim=-1)
        yes = float(probabilities[self._tokens.yes].sum())
        no = float(probabilities[self._tokens.no].sum())
        self._last_p_yes = yes / (yes + no) if yes + no > 0 else 0.0
        return self._last_p_yes

    def answer(self, *, max_tokens: int) -> Iterator[str]:
        """The answer in pieces, from what was read; leaves the cache as it was.

        The probe's own turn stands before it, answered as the model would: the second turn of PECAN's prompt.
        """
        held = self._cache.get_seq_length()
        verdict = prompts.PROBE_YES if self._last_p_yes > 0.5 else prompts.PROBE_NO
        turn = [*self._tokens.turns.reply, *self._tokens.encode(verdict).ids, *self._answer_turn]
        max_tokens = min(max_tokens, self._model.window - held - len(turn))
        written: list[int] = []
        shown = ""
        try:
            logits = self._forward(turn)
            while len(written) < max_tokens and (token := int(logits.argmax())) not in self._tokens.ends:
                written.append(token)
                text = self._tokens.decode(written)
                if not text.endswith("\ufffd"):
                    yield text[len(shown) :]
                    shown = text
                logits = self._forward([token], written=1)
        finally:
            cache.crop(self._cache, self._cache.get_seq_length() - held)

    def _forward(self, ids: Sequence[int], meter: AttentionMeter | None = None, *, written: int = 0) -> torch.Tensor:
        """(V,) logits after these tokens; counts what it cost."""
        started = time.perf_counter()
        logits = self._model.forward([ids], self._cache, meter=meter)[0]
        self.usage += Usage(len(ids) - written, written, 1, time.perf_counter() - started)
        return logits

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._cache = cache.new_cache()
