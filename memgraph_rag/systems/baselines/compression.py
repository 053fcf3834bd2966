"""Compression of documents: which segments take part, which share of their tokens is kept, and which tokens.

It knows graph and session by their contracts. Invariants: only tokens of stored segments are read, in their order;
together they stay within the target, up to rounding to whole tokens.

Source: the LLMLingua papers (2310.05736, 2310.06839): a budget for all contexts, contexts left out first, then tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from memgraph_rag.contracts import ReadingContext
from memgraph_rag.strategies.flat import Chosen
from memgraph_rag.strategies.scope import documents_to_walk
from memgraph_rag.types import Segment, Vector

Scored = tuple[float, Segment]


def segments_to_compress(question: str, context: ReadingContext) -> list[Segment]:
    """Return all segments of the documents in scope, in their order, without echoes and blank ones.

    Without given documents, at most eight take part.
    """
    segments = (
        segment
        for document_id in documents_to_walk(question, context)
        for segment in context.graph.list_segments(document_id)
    )
    return [segment for segment in segments if not segment.echo and segment.text.strip()]


def limit_target(target_tokens: int, context: ReadingContext) -> int:
    """Return the number of tokens that may be read: the smallest of target, window's rest and limit of tokens."""
    target, most_tokens = min(target_tokens, context.session.tokens_left), context.limits.tokens
    return target if most_tokens is None else min(target, most_tokens)


def select_best(scored: Iterable[Scored], tokens: int) -> list[Scored]:
    """Return the best segments, best first, up to the first that does not fit ``tokens``; the best one in any case."""
    kept: list[Scored] = []
    used = 0
    for score, segment in sorted(scored, key=lambda pair: (-pair[0], pair[1].id)):
        if kept and used + segment.tokens > tokens:
            break
        kept.append((score, segment))
        used += segment.tokens
    return kept


def divide_tokens(tokens: Sequence[int], target: int, spread: float = 0.0) -> list[float]:
    """Return for each context the share of its tokens to keep: about ``target`` tokens in all, more of the first ones.

    Args:
        tokens: the number of tokens of each context.
        target: the number of tokens to keep in all.
        spread: how much the share of the first context is above, and of the last below, the middle.

    All shares are 1 if the contexts together have at most ``target`` tokens.

    >>> divide_tokens([100, 100, 100], 150, 0.3)
    [0.8, 0.5, 0.2]
    """
    if sum(tokens) <= target:
        return [1.0] * len(tokens)
    tilt = np.linspace(spread, -spread, len(tokens)) if len(tokens) > 1 else np.zeros(1)
    low, high = -1.0 - spread, 1.0 + spread
    for _ in range(50):  # shares are cut at 0 and 1, so bisection finds the middle share that gives the target
        base = (low + high) / 2
        kept = float(np.clip(base + tilt, 0, 1) @ np.array(tokens))
        low, high = (base, high) if kept < target else (low, base)
    return [round(float(share), 6) for share in np.clip(low + tilt, 0, 1)]


def most_telling(text: str, offsets: NDArray[np.int64], values: Vector, share: float) -> str:
    """Return a text reduced to its tokens with the highest values, in order. Of equal values the first tokens win.

    Each gap becomes a blank. The number of tokens is rounded down, so the result may be empty.

    Args:
        offsets: (T, 2) the characters of each token.
        values: (T,) a value for each token.
        share: the share of tokens to keep, from 0 to 1.
    """
    count = int(share * len(offsets))
    most = np.sort(np.lexsort((np.arange(len(values)), -values))[:count])
    return join_spans(text, offsets[most])


def compress_in_order(
    chosen: Iterable[Scored], shares: Iterable[float], values_of: Callable[[str, str], tuple[NDArray[np.int64], Vector]]
) -> list[Chosen]:
    """Return each segment with its score and its text, compressed to its share of tokens, in order.

    A segment of which no token is left is left out.

    Args:
        values_of: returns, for a text and the compressed texts before it, the (T, 2) characters of each token and its
            (T,) value.
    """
    before, compressed = "", list[Chosen]()
    for (score, segment), share in zip(chosen, shares, strict=True):
        text = segment.text if share >= 1 else most_telling(segment.text, *values_of(segment.text, before), share)
        before = f"{before} {text}".strip()
        if text:
            compressed.append(Chosen(segment, score, "", text=text))
    return compressed


def mean_loss(losses: Vector) -> float:
    """Return the mean negative log likelihood, or 0 for no tokens."""
    return float(losses.mean()) if len(losses) else 0.0


def join_spans(text: str, spans: NDArray[np.int64]) -> str:
    """Return the text of the spans, with a blank at each gap."""
    parts: list[str] = []
    end = 0
    for start, stop in spans.tolist():
        parts.append(text[start:stop] if start <= end or not parts else f" {text[start:stop]}")
        end = stop
    return " ".join("".join(parts).split())
