"""LongLLMLingua: the segments behind which the question is most likely, without their least informative tokens.

It knows search and session by their contracts only. Invariants: what is read are tokens of stored segments, in their
order; all of it together is within the target, but for whole tokens.

As the paper has it: contexts in the order of the question's mean negative log likelihood behind each, with the sentence
that ties it to them; the best first; a ratio that falls linearly with the rank; those tokens kept that the question
makes more to be expected. Otherwise than the paper: contexts are what a search finds, as a store holds more than a
prompt; tokens are compared within their segment, not behind the compressed ones before it; nothing is recovered
afterwards, for citations are cut from the segments.

Source: Jiang et al., "LongLLMLingua" (2310.06839), sections 4.1 and 4.2, as the released code has them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from memgraph_rag.contracts import AttentiveSession, ReadingContext
from memgraph_rag.strategies.attention import require_attention
from memgraph_rag.strategies.node_lines import NodeLines
from memgraph_rag.types import Segment, Step, StopReason, Vector

__all__ = ["LongLLMLingua", "kept_shares"]

_TIE = " We can get the answer to this question in the given documents."


class LongLLMLingua:
    """Reads compressed segments.

    Args:
        candidates: how many segments of the hybrid search are compared.
        target_tokens: of all that is read.
        coarse: the best segments of together so many times the target are compressed, the others left out.
        spread: by how much more (the best) and less (the last) than the mean share is kept.
    """

    name = "longllmlingua"

    def __init__(
        self, *, candidates: int = 16, target_tokens: int = 1024, coarse: float = 2.0, spread: float = 0.3
    ) -> None:
        self._candidates = candidates
        self._target = target_tokens
        self._coarse = coarse
        self._spread = spread

    def read(self, question: str, context: ReadingContext) -> Iterator[tuple[Step, ...]]:
        """One step a segment; see ``Strategy.read``. What is compared is paid for, but not read.

        Raises:
            StrategyError: the session tells no surprise.
        """
        session, most_tokens = require_attention(context.session, self.name), context.budget.max_tokens
        target = min(self._target, session.tokens_left)
        if most_tokens is not None:
            target = min(target, most_tokens)
        evidence = context.search.find(question, k=self._candidates, mode="hybrid", documents=context.documents)
        segments = [item.segment for item in evidence]
        asked = question + _TIE
        losses = [(_mean(session.surprise(asked, after=segment.text)[1]), segment) for segment in segments]
        chosen = _within(sorted(losses, key=lambda pair: (pair[0], pair[1].id)), int(self._coarse * target))
        shares = kept_shares([segment.tokens for _, segment in chosen], target, self._spread)
        waiting = [
            (loss, segment, text)
            for (loss, segment), share in zip(chosen, shares, strict=True)
            if (text := _compressed(segment.text, asked, share, session))
        ]
        lines, before = NodeLines(context), None
        for place, (loss, segment, text) in enumerate(waiting, 1):
            (attention,) = session.append(lines.of([segment], after=before, texts=[text])).tolist()
            before = segment
            stop = StopReason.EXHAUSTED if place == len(waiting) else None
            yield (Step(segment, -loss, attention, stop=stop),)


def kept_shares(tokens: Sequence[int], target: int, spread: float) -> list[float]:
    """What share of each context's tokens is kept: about ``target`` in all, more of the first than of the last.

    >>> kept_shares([100, 100, 100], 150, 0.3)
    [0.8, 0.5, 0.2]
    """
    if sum(tokens) <= target:
        return [1.0] * len(tokens)
    tilt = np.linspace(spread, -spread, len(tokens)) if len(tokens) > 1 else np.zeros(1)
    low, high = -1.0 - spread, 1.0 + spread
    for _ in range(50):  # shares are cut at 0 and 1, so the mean that gives the target is looked for
        base = (low + high) / 2
        kept = float(np.clip(base + tilt, 0, 1) @ np.array(tokens))
        low, high = (base, high) if kept < target else (low, base)
    return [round(float(share), 6) for share in np.clip(low + tilt, 0, 1)]


def _within(ordered: Sequence[tuple[float, Segment]], tokens: int) -> list[tuple[float, Segment]]:
    """The first ones that fit together, at least one."""
    kept, used = [], 0
    for loss, segment in ordered:
        if kept and used + segment.tokens > tokens:
            break
        kept.append((loss, segment))
        used += segment.tokens
    return kept


def _compressed(text: str, asked: str, share: float, session: AttentiveSession) -> str:
    """The share of the text's tokens that the question makes most expected, in order."""
    if share >= 1:
        return text
    offsets, alone = session.surprise(text)
    contrast = alone - session.surprise(text, after=asked)[1]
    count = int(share * len(offsets))
    most = np.sort(np.lexsort((np.arange(len(contrast)), -contrast))[:count])
    return _joined(text, offsets[most])


def _joined(text: str, spans: NDArray[np.int64]) -> str:
    """The spans' characters; where some between two were left out, a blank."""
    parts: list[str] = []
    end = 0
    for start, stop in spans.tolist():
        parts.append(text[start:stop] if start <= end or not parts else f" {text[start:stop]}")
        end = stop
    return " ".join("".join(parts).split())


def _mean(losses: Vector) -> float:
    return float(losses.mean()) if len(losses) else 0.0
