"""The headings that the text of a document marks.

It knows segments, and no layer. Invariant: a heading begins at its character in the document.
"""

from __future__ import annotations

from collections.abc import Iterable

from memgraph_rag.contracts import SplitDocument
from memgraph_rag.lexical import markdown
from memgraph_rag.types import Heading, Segment

__all__ = ["marked_headings", "text_of"]


def marked_headings(document: SplitDocument) -> list[Heading]:
    """All headings that a text marks; none in a conversation: what looks like a heading there stands in a turn."""
    if any(segment.speaker for segment in document.segments):
        return []
    return [
        Heading(heading.start, heading.level, heading.title)
        for heading in markdown.headings(text_of(document.segments))
        if heading.title and not heading.is_nested and heading.lines <= 2
    ]


def text_of(segments: Iterable[Segment]) -> str:
    """The text of these segments at its places in the document; what lies between them is blank."""
    pieces: list[str] = []
    at = 0
    for segment in segments:
        pieces += ["\n" * (segment.start - at), segment.text]
        at = segment.end
    return "".join(pieces)
