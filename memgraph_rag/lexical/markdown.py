"""Find the headings and code blocks of Markdown.

The module knows no file. Invariants: text in code, HTML or front matter is not a heading; time grows with the length of
the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from markdown_it import MarkdownIt

from memgraph_rag.types import as_line

__all__ = ["FRONT_MATTER", "MarkdownHeading", "code_blocks", "headings"]

FRONT_MATTER = re.compile(r"---[ \t]*\n(.*?\n)(?:---|\.\.\.)[ \t]*\n", re.S)
"""The fields before the text; the group holds them."""

_CANDIDATE = re.compile(r"^[ \t>*+\-\d.)]{0,40}#|^[ \t>]{0,40}(?:=+|-+)[ \t]*$", re.M)
_LINE_END = re.compile("\r\n|[\r\n]")
_MAY_BE_CODE = re.compile(r"^[ >*+\d.)-]{0,20}(?:```|~~~)|^(?: {4}| {0,3}\t)", re.MULTILINE)
_LINE = re.compile(r"[^\n]*\n?")


class MarkdownHeading(NamedTuple):
    """A heading of a Markdown text.

    Attributes:
        start: its first character in the text.
        level: 1 to 6.
        title: its words without marks.
        is_nested: whether it is in a list or a quotation.
        lines: how many lines of the text it takes, the underline included.
    """

    start: int
    level: int
    title: str
    is_nested: bool
    lines: int


def headings(text: str) -> list[MarkdownHeading]:
    r"""Return the headings of a Markdown text, in order, also those in lists and quotations.

    A line in code, HTML or front matter is not a heading.

    >>> [heading[:3] for heading in headings("# Fox *and* owl\n\n```\n# code\n```\n\nRain\n----\n")]
    [(0, 1, 'Fox and owl'), (33, 2, 'Rain')]
    """
    front = FRONT_MATTER.match(text)
    offset = front.end() if front else 0
    if not _CANDIDATE.search(text, offset):
        return []
    parser = MarkdownIt()
    parser.core.ruler.enableOnly(["normalize", "block"])  # the words of all other blocks are not parsed
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


def code_blocks(text: str) -> Iterator[tuple[int, int]]:
    """Yield (start, end) of each fenced and each indented code block, in order: whole lines, with the fences.

    Args:
        text: with line feeds as line ends.
    """
    if not _MAY_BE_CODE.search(text):
        return
    parser = MarkdownIt()
    parser.core.ruler.enableOnly(["normalize", "block"])
    starts = [line.start() for line in _LINE.finditer(text)]
    for token in parser.parse(text):
        if token.type in ("fence", "code_block") and token.map:
            first, last = token.map
            yield starts[first], starts[last] if last < len(starts) else len(text)


def _words(source: str) -> str:
    """Return the visible words of a heading."""
    (inline,) = MarkdownIt().parseInline(source) or (None,)
    children = inline.children or () if inline else ()
    return as_line("".join(part.content or " " * (part.type == "softbreak") for part in children))
