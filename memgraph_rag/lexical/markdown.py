"""The headings of Markdown.

It knows no file. Invariants: what stands in code, in HTML or in front matter is no heading; time grows with the length
of the text.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import NamedTuple

from markdown_it import MarkdownIt

from memgraph_rag.types import as_line

__all__ = ["FRONT_MATTER", "MarkdownHeading", "headings"]

FRONT_MATTER = re.compile(r"---[ \t]*\n(.*?\n)(?:---|\.\.\.)[ \t]*\n", re.S)
"""Fields before the text; the group holds them."""

_CANDIDATE = re.compile(r"^[ \t>*+\-\d.)]{0,40}#|^[ \t>]{0,40}(?:=+|-+)[ \t]*$", re.M)
_LINE_END = re.compile("\r\n|[\r\n]")


class MarkdownHeading(NamedTuple):
    """A heading: its first character in the text, level from 1 to 6, and words without marks.

    ``is_nested``: within a list or a quotation. ``lines`` of the text are its own, the underline included.
    """

    start: int
    level: int
    title: str
    is_nested: bool
    lines: int


def headings(text: str) -> list[MarkdownHeading]:
    r"""The headings of a text, in order.

    >>> [heading[:3] for heading in headings("# Fox *and* owl\n\n```\n# code\n```\n\nRain\n----\n")]
    [(0, 1, 'Fox and owl'), (33, 2, 'Rain')]
    """
    front = FRONT_MATTER.match(text)
    offset = front.end() if front else 0
    if not _CANDIDATE.search(text, offset):
        return []
    parser = MarkdownIt()
    parser.core.ruler.enableOnly(["normalize", "block"])  # the words of all other blocks are not looked at
    line_starts = [offset, *(match.end() for match in _LINE_END.finditer(text, offset))]
    tokens = parser.parse(text[offset:])
    return [
        MarkdownHeading(
            line_starts[token.map[0]], int(token.tag[1:]), _words(content.content), token.level > 0,
            token.map[1] - token.map[0],
        )
        for token, content in pairwise(tokens)
        if token.type == "heading_open" and token.map
    ]  # fmt: skip


def _words(source: str) -> str:
    """What a reader sees of a heading."""
    (inline,) = MarkdownIt().parseInline(source) or (None,)
    children = inline.children or () if inline else ()
    return as_line("".join(part.content or " " * (part.type == "softbreak") for part in children))
