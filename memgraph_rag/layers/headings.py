"""Find the headings that a document's text marks.

The module knows segments and no layer. Invariant: a heading's position is its first character in the document.
"""

from __future__ import annotations

from collections.abc import Iterable

from memgraph_rag.contracts import SplitDocument
from memgraph_rag.lexical import markdown
from memgraph_rag.types import Heading, Segment


def find_marked_headings(document: SplitDocument) -> list[Heading]:
    """Return the marked headings of a document, in order; none for a conversation, whose turns only quote headings.

    Left out are headings without a title, headings inside lists or quotations, and headings of more than two lines. A
    document with a single speaker's segment counts as a conversation.
    """
    if any(segment.speaker for segment in document.segments):
        return []
    return [
        Heading(heading.start, heading.level, heading.title)
        for heading in markdown.headings(join_segments(document.segments))
        if heading.title and not heading.is_nested and heading.lines <= 2
    ]


def join_segments(segments: Iterable[Segment]) -> str:
    """Return the segments' text with each segment at its place in the document; gaps are filled with newlines.

    The text begins at the beginning of the document and ends with the last segment. The segments are in order and do
    not overlap.
    """
    pieces: list[str] = []
    at = 0
    for segment in segments:
        pieces += ["\n" * (segment.start - at), segment.text]
        at = segment.end
    return "".join(pieces)
