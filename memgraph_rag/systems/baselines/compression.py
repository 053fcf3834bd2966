"""Compressing what is read: which segments take part, what share of their tokens stays, and which tokens that are.

It knows the session by its contract. Invariants: what is read are tokens of stored segments, in their order; all of it
together is within the target, but for whole tokens.

Source: the LLMLingua papers (2310.05736, 2310.06839): a budget for all contexts, contexts left out first, then tokens.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from memgraph_rag.contracts import ReadingContext
from memgraph_rag.strategies.node_lines import NodeLines
from memgraph_rag.types import Segment, Step, StopReason, Vector

__all__ = ["best_within", "kept_shares", "mean_loss", "most_telling", "read_compressed", "target_within"]


def target_within(target_tokens: int, context: ReadingContext) -> int:
    """How many tokens may be read: the target, or less where the window or the budget holds less."""
    target, most_tokens = min(target_tokens, context.session.tokens_left), context.limits.tokens
    return target if most_tokens is None else min(target, most_tokens)


def best_within(scored: Iterable[tuple[float, Segment]], tokens: int) -> list[tuple[float, Segment]]:
    """Those of the highest scores that fit together, best first; at least one."""
    kept: list[tuple[float, Segment]] = []
    used = 0
    for score, segment in sorted(scored, key=lambda pair: (-pair[0], pair[1].id)):
        if kept and used + segment.tokens > tokens:
            break
        kept.append((score, segment))
        used += segment.tokens
    return kept


def kept_shares(tokens: Sequence[int], target: int, spread: float = 0.0) -> list[float]:
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


def most_telling(text: str, offsets: NDArray[np.int64], values: Vector, share: float) -> str:
    """The share of a text's tokens with the highest values, in order; the first of equal ones.

    Args:
        offsets: (T, 2) the characters of each token.
        values: (T,) one for each.
    """
    count = int(share * len(offsets))
    most = np.sort(np.lexsort((np.arange(len(values)), -values))[:count])
    return _joined(text, offsets[most])


def read_compressed(texts: Iterable[tuple[float, Segment, str]], context: ReadingContext) -> Iterator[tuple[Step, ...]]:
    """One step a segment, with its score and what is left of its text; those of which nothing is left are not read."""
    lines, before = NodeLines(context), None
    waiting = [item for item in texts if item[2]]
    for place, (score, segment, text) in enumerate(waiting, 1):
        (attention,) = context.session.append(lines.of([segment], after=before, texts=[text])).tolist()
        before = segment
        yield (Step(segment, score, attention, stop=StopReason.EXHAUSTED if place == len(waiting) else None),)


def mean_loss(losses: Vector) -> float:
    """The mean negative log likelihood; 0 of nothing."""
    return float(losses.mean()) if len(losses) else 0.0


def _joined(text: str, spans: NDArray[np.int64]) -> str:
    """The spans' characters; where some between two were left out, a blank."""
    parts: list[str] = []
    end = 0
    for start, stop in spans.tolist():
        parts.append(text[start:stop] if start <= end or not parts else f" {text[start:stop]}")
        end = stop
    return " ".join("".join(parts).split())
