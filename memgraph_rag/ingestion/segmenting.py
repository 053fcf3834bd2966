"""Cuts a document into segments of bounded length; no segment spans two turns of a conversation.

It knows no store. Invariant: the segments tile the document's text, and the same text gives the same segments.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from memgraph_rag.contracts import TokenCounter
from memgraph_rag.lexical import timestamps
from memgraph_rag.lexical.code import find_program_language
from memgraph_rag.lexical.markdown import has_marks, headings, plain, solid_blocks
from memgraph_rag.text.programs import definitions
from memgraph_rag.text.splitting import Span, split
from memgraph_rag.types import Document, Segment, Turn, make_id

CutSegments = Callable[..., tuple[Segment, ...]]
"""``cut_segments`` with the namespace, the counter of tokens and the sizes of one memory."""


def cut_segments(
    document: Document,
    document_id: str,
    *,
    namespace: str,
    count_tokens: TokenCounter,
    max_tokens: int,
    longest: int = 0,
    language: str = "",
    first: int = 0,
) -> tuple[Segment, ...]:
    """Return the segments of a document in order, each with the speaker and the time of its turn.

    A turn without a time has the time of the document.

    Args:
        max_tokens: the most tokens of a segment.
        longest: the most tokens of a segment in a language whose tokens are short; ``max_tokens`` if it is larger.
        language: the language of the text (ISO 639-1), by which sentences are found; empty if it is unknown.
        first: the index of the first segment, if ``document`` is only the end of a document.

    Raises:
        DocumentError: the text is empty.
    """
    turns = document.turns or (Turn(0, len(document.text), speaker=""),)
    turn_starts = [turn.start for turn in turns]
    cut = partial(split, count_tokens=count_tokens, max_tokens=max_tokens, longest=longest, language=language)
    spans = _split(document, cut, count_tokens, turn_starts)
    # No span reaches across the start of a turn, so the last turn that starts at or before a span holds all of it.
    span_turns = [turns[bisect_right(turn_starts, span.start) - 1] for span in spans]
    document_time = timestamps.find_metadata_time(document.metadata)
    return tuple(
        Segment(
            id=make_id(namespace, "segment", document_id, index),
            document_id=document_id,
            index=index,
            text=document.text[span.start : span.end],
            start=span.start,
            end=span.end,
            tokens=span.tokens,
            speaker=turn.speaker,
            time=turn.time or document_time,
        )
        for index, (span, turn) in enumerate(zip(spans, span_turns, strict=True), first)
    )


def _split(
    document: Document, cut: Callable[..., list[Span]], count_tokens: TokenCounter, turn_starts: Sequence[int]
) -> list[Span]:
    """Return the spans of a document.

    Those of a program end with definitions, those of Markdown with sections, and they are as long as they read without
    marks. A span may have up to twice as many tokens with its marks.

    Args:
        cut: ``split`` with its limits and the language; it counts with ``count_tokens`` unless told otherwise.
    """
    text = document.text
    if document.turns:
        return cut(text, cuts=turn_starts)
    if find_program_language(document.title) is not None:
        return cut(text, sections=[item.start for item in definitions(text, document.title)])
    sections = [heading.start for heading in headings(text) if not heading.is_nested]
    if not sections and not has_marks(text):
        return cut(text)

    def count_read(texts: Sequence[str]) -> list[int]:
        read = [plain(part).text for part in texts]
        whole = count_tokens(texts)
        return [max(of_read, -(-of_whole // 2)) for of_read, of_whole in zip(count_tokens(read), whole, strict=True)]

    spans = cut(text, count_tokens=count_read, sections=sections, blocks=list(solid_blocks(text)))
    counts = count_tokens([text[span.start : span.end] for span in spans])
    return [replace(span, tokens=count) for span, count in zip(spans, counts, strict=True)]
