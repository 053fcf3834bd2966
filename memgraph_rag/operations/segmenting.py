"""Cuts a document into segments of bounded length; no segment spans two turns of a conversation.

It knows no store. Invariants: the segments tile the document's text; the same text, tokenizers and limits give the same
segments; the embedder can read each whole, under its title or day.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from memgraph_rag.contracts import Embedder, TokenCounter
from memgraph_rag.lexical import timestamps
from memgraph_rag.text.context import longest_head
from memgraph_rag.text.splitting import split
from memgraph_rag.types import Document, Segment, Turn, make_id

__all__ = ["cut_segments"]


def cut_segments(
    document: Document,
    document_id: str,
    *,
    namespace: str,
    count_tokens: TokenCounter,
    max_tokens: int,
    embedder: Embedder,
) -> tuple[Segment, ...]:
    """The segments of a document, each with its turn's speaker and time; without a turn's time, the document's.

    Args:
        max_tokens: of one segment, as ``count_tokens`` counts; fewer where the embedder takes no more.

    Raises:
        DocumentError: there is nothing to cut.
    """
    turns = document.turns or (Turn(0, len(document.text), speaker=""),)
    turn_starts = [turn.start for turn in turns]
    counter = _fitting(count_tokens, max_tokens, embedder, longest_head(document))
    spans = split(document.text, count_tokens=counter, max_tokens=max_tokens, cuts=turn_starts)
    texts = [document.text[span.start : span.end] for span in spans]
    tokens = [span.tokens for span in spans] if counter is count_tokens else count_tokens(texts)
    # No span reaches across the start of a turn, so the last turn that starts at or before a span holds all of it.
    span_turns = [turns[bisect_right(turn_starts, span.start) - 1] for span in spans]
    document_time = timestamps.named_in(document.metadata)
    return tuple(
        Segment(
            id=make_id(namespace, "segment", document_id, index),
            document_id=document_id,
            index=index,
            text=text,
            start=span.start,
            end=span.end,
            tokens=count,
            speaker=turn.speaker,
            time=turn.time or document_time,
        )
        for index, (span, turn, text, count) in enumerate(zip(spans, span_turns, texts, tokens, strict=True))
    )


def _fitting(count_tokens: TokenCounter, max_tokens: int, embedder: Embedder, head: str) -> TokenCounter:
    """A counter that finds at most ``max_tokens`` only in what the embedder, too, can read whole under the head.

    A head that leaves less than half of the embedder's tokens is not reckoned with in full.
    """
    most: int = getattr(embedder, "most_tokens", 0)
    if not most:
        return count_tokens
    room = max(most - sum(embedder.count_tokens([head])), most // 2)

    def count(texts: Sequence[str]) -> list[int]:
        scaled = (-(-tokens * max_tokens // room) for tokens in embedder.count_tokens(texts))
        return [max(pair) for pair in zip(count_tokens(texts), scaled, strict=True)]

    return count
